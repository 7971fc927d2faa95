package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"picklock/harness/store"
)

// background is a picklock that runs while the test goes on.
type background struct {
	t    *testing.T
	cmd  *exec.Cmd
	errs bytes.Buffer
	dir  string
}

func begin(t *testing.T, dir string, args ...string) *background {
	t.Helper()
	b := &background{t: t, dir: dir, cmd: exec.Command(binary, args...)}
	b.cmd.Dir, b.cmd.Stderr = dir, &b.errs
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() }) // it has ended, if all went well
	return b
}

func (b *background) latest() store.Dir { return store.Dir(filepath.Join(b.dir, "store", "latest")) }

// awaitRecord waits until the history on disk has a line that contains each of the words.
func (b *background) awaitRecord(words ...string) {
	b.t.Helper()
	await(b.t, fmt.Sprintf("a record with %q", words), func() bool {
		h, err := os.ReadFile(b.latest().Path(store.HistoryFile))
		if err != nil {
			return false
		}
		for line := range bytes.Lines(h) {
			all := true
			for _, w := range words {
				all = all && bytes.Contains(line, []byte(w))
			}
			if all {
				return true
			}
		}
		return false
	})
}

// runID is the run's id from test.json.
func (b *background) runID() string {
	b.t.Helper()
	test, err := b.latest().ReadTest()
	if err != nil {
		b.t.Fatal(err)
	}
	return test.Run
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("30 s went by without %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// processesOf lists the processes that carry the run's id in their environment, by their
// process ids with their command lines.
func processesOf(run string) map[int]string {
	found := map[int]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte("PICKLOCK_RUN="+run)) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may just have ended
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))               // the pattern has digits only
			found[pid] = strings.ReplaceAll(string(cmdline), "\x00", " ")
		}
	}
	return found
}

// containersOf lists the containers and networks that carry the run's id as a label.
func containersOf(t *testing.T, run string) string {
	t.Helper()
	var all string
	for _, args := range [][]string{{"ps", "-aq"}, {"network", "ls", "-q"}} {
		out, err := exec.Command("docker", append(args, "--filter", "label=picklock.run="+run)...).Output()
		if err != nil {
			t.Fatalf("docker %v: %v", args, err)
		}
		all += string(out)
	}
	return all
}

// TestHarnessKilled: after a SIGKILL of the harness in the middle of a fault, its clients
// and processes end by themselves, the history so far can be judged, and the next run
// sweeps what is left.
func TestHarnessKilled(t *testing.T) {
	for _, runtime := range []string{"process", "docker"} {
		for _, nemesis := range []string{"pause-client", "pause-node"} {
			t.Run(runtime+"/"+nemesis, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				b := begin(t, dir, "run", "--runtime", runtime, "--lock", "uuid-lua", "--nemesis", nemesis, "--ttl", "500ms", "--time-limit", "20s", "--seed", "3")
				b.awaitRecord(`"fault-start"`)
				run := b.runID()
				if err := b.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = b.cmd.Wait() // it says "killed"
				await(t, "the end of all clients, stopped ones too", func() bool { return len(processesOf(run)) == 0 })
				if runtime == "docker" && containersOf(t, run) == "" {
					t.Fatal("the containers ended by themselves: there is nothing to be swept, and the test is void")
				}

				r := picklock(t, dir, nil, "check", "--json", "store/latest")
				res := parse(t, r)
				if res.Broken == "" {
					t.Errorf("the result does not say that the history breaks off: %s", r)
				}
				if res.Measures.Sales < 1 {
					t.Errorf("nothing of what was done before the kill was judged: %+v", res.Measures)
				}
				if p := res.Properties["ownership"]; p == nil || p.Verdict == "violated" {
					t.Errorf("ownership reads %+v: the break in the record was taken for a violation", p)
				}

				next := picklock(t, dir, nil, "run", "--runtime", runtime, "--nemesis", "none", "--lock", "uuid-lua", "--time-limit", "2s", "--ttl", "500ms")
				if next.status != 0 {
					t.Errorf("the next run: %s", next)
				}
				if runtime == "docker" {
					if left := containersOf(t, run); left != "" {
						t.Errorf("the next run left containers or networks of the dead one: %s", left)
					}
				}
			})
		}
	}
}

// TestInterrupted: Ctrl-C and SIGTERM in the middle of a fault heal it, end everything,
// and say so.
func TestInterrupted(t *testing.T) {
	for _, runtime := range []string{"process", "docker"} {
		for i, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			nemesis := []string{"pause-client", "pause-node"}[i]
			t.Run(fmt.Sprintf("%s/%s/%s", runtime, sig, nemesis), func(t *testing.T) {
				t.Parallel()
				b := begin(t, t.TempDir(), "run", "--runtime", runtime, "--nemesis", nemesis, "--ttl", "500ms", "--time-limit", "30s", "--seed", "3")
				b.awaitRecord(`"fault-start"`)
				run := b.runID()
				if err := b.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				_ = b.cmd.Wait()
				if status := b.cmd.ProcessState.ExitCode(); status != 130 || !strings.Contains(b.errs.String(), "interrupted") {
					t.Errorf("status %d and %q; want 130 and a word on the interruption", status, b.errs.String())
				}
				if left := processesOf(run); len(left) > 0 {
					t.Errorf("left running: %v", left)
				}
				if runtime == "docker" {
					if left := containersOf(t, run); left != "" {
						t.Errorf("containers or networks left: %s", left)
					}
				}
				h, err := os.ReadFile(b.latest().Path(store.HistoryFile))
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{`"fault-end"`, `"type":"end"`} {
					if !bytes.Contains(h, []byte(want)) {
						t.Errorf("the history has no %s: the fault was not healed, or the record not closed", want)
					}
				}
				if r := parse(t, picklock(t, b.dir, nil, "check", "--json", "store/latest")); !strings.Contains(r.Broken, "interrupted") {
					t.Errorf("the result of what was recorded says %q, not that the test was interrupted", r.Broken)
				}
			})
		}
	}
}

// TestCheckAgain: judging a stored history again gives the verdict of the run; a torn
// one is judged up to the tear and says so; a damaged one is refused.
func TestCheckAgain(t *testing.T) {
	dir := t.TempDir()
	res, _ := judged(t, dir, "--runtime", "process", "--lock", "setex-del", "--ttl", "500ms", "--time-limit", "5s", "--seed", "2")
	latest := store.Dir(filepath.Join(dir, "store", "latest"))
	again := parse(t, picklock(t, dir, nil, "check", "--json", "store/latest"))
	if a, b := asJSON(t, res), asJSON(t, again); a != b {
		t.Errorf("judged again, the result differs:\n%s\n%s", a, b)
	}
	path := latest.Path(store.HistoryFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	rewrite(whole[:len(whole)*2/3])
	torn := picklock(t, dir, nil, "check", "--json", "store/latest")
	if r := parse(t, torn); !strings.Contains(r.Broken, "judged up to") {
		t.Errorf("a torn history: broken is %q; want how far it was judged", r.Broken)
	}
	if r := picklock(t, dir, nil, "check", "store/latest"); !strings.Contains(r.stdout, "judged up to") {
		t.Errorf("a person is not told that the history is torn: %s", r)
	}

	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	rewrite(damaged)
	r := picklock(t, dir, nil, "check", "store/latest")
	if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "line") || !strings.Contains(r.stderr, "damaged") {
		t.Errorf("a damaged history must be refused with its line: %s", r)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestClientThatDiesUnordered: a client that ends without an order is no fault of the
// test, so the run has failed and says so, rather than giving a verdict on fewer clients.
func TestClientThatDiesUnordered(t *testing.T) {
	b := begin(t, t.TempDir(), "run", "--runtime", "process", "--lock", "uuid-lua", "--nemesis", "none", "--time-limit", "4s")
	b.awaitRecord(`"op":"acquire"`)
	killed := false
	for pid, cmdline := range processesOf(b.runID()) {
		if strings.Contains(cmdline, "client-process") && !killed {
			killed = true
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !killed {
		t.Fatal("no client was found to be killed")
	}
	_ = b.cmd.Wait() // its status is looked at below
	if status := b.cmd.ProcessState.ExitCode(); status != 255 || !strings.Contains(b.errs.String(), "ended by itself") {
		t.Errorf("status %d and %q; want 255 and a word on the client", status, b.errs.String())
	}
}
