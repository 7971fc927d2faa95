package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/store"
)

// machine is what no run may touch, as it is now.
type machine struct {
	at    time.Time
	files map[string]string
}

func machineNow(t *testing.T) machine {
	t.Helper()
	m := machine{time.Now(), map[string]string{}}
	for _, path := range []string{"/etc/hosts", "/etc/resolv.conf"} {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		m.files[path] = string(text)
	}
	return m
}

// untouched demands that this machine's clock was not stepped since, and that its files
// of addresses are what they were.
func (m machine) untouched(t *testing.T) {
	t.Helper()
	now := machineNow(t)
	passed, shown := now.at.Sub(m.at), now.at.Round(0).Sub(m.at.Round(0)) // monotonic, wall
	if off := shown - passed; off.Abs() > time.Second {
		t.Errorf("this machine's clock was moved by %s", off)
	}
	for path, was := range m.files {
		if is := now.files[path]; is != was {
			t.Errorf("%s was changed from\n%s\nto\n%s", path, was, is)
		}
	}
}

// entries are the names in the folders that match; a folder that is not there has none.
func entries(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// nothingLeft demands that of runs whose folder for temporary files was tmp no process and
// no file is left.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	if left := processesWith("TMPDIR=" + tmp); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if left := entries(t, tmp); len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v", left)
	}
}

// nothingLeftOf demands that of a run no rule, container, network or volume is left.
func nothingLeftOf(t *testing.T, run string, volumes ...string) {
	t.Helper()
	if left := processesWith("PICKLOCK_RUN=" + run); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if left := rulesOf(t, run); len(left) > 0 {
		t.Errorf("left in the firewall: %v", left)
	}
	if left := containersOf(t, run); left != "" {
		t.Errorf("left in Docker: %s", left)
	}
	for _, v := range volumes {
		if slices.Contains(strings.Fields(dockerSays(t, "volume", "ls", "-q")), v) {
			t.Errorf("volume %s is left", v)
		}
	}
}

// runsIn are the ids of the runs whose tests are kept in dir/store.
func runsIn(t *testing.T, dir string) []string {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "store", "*", "*", store.TestFile))
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for _, path := range tests {
		if strings.HasPrefix(path, filepath.Join(dir, "store", "latest")) {
			continue
		}
		test, err := store.Dir(filepath.Dir(path)).ReadTest()
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, test.Run)
	}
	return runs
}

// processesWith are the processes that have the setting in their environment, by pid.
func processesWith(setting string) map[string]string {
	found := map[string]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool { return string(kv) == setting }) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may just have ended
			found[filepath.Base(filepath.Dir(path))] = strings.ReplaceAll(string(cmdline), "\x00", " ")
		}
	}
	return found
}

// rulesOf are the lines of this machine's firewall that a run has made.
func rulesOf(t *testing.T, run string) []string {
	t.Helper()
	out, err := exec.Command("iptables-save").Output()
	if err != nil {
		t.Fatalf("iptables-save: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "picklock/") && strings.Contains(line, run) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func dockerSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		t.Fatalf("docker %v: %v", args, err)
	}
	return string(out)
}

// containersOf lists containers, networks and labelled volumes of a run.
func containersOf(t *testing.T, run string) string {
	t.Helper()
	var all string
	for _, args := range [][]string{{"ps", "-aq"}, {"network", "ls", "-q"}, {"volume", "ls", "-q"}} {
		all += dockerSays(t, append(args, "--filter", "label=picklock.run="+run)...)
	}
	return all
}

// volumesOf lists the volumes that the containers of a run have now.
func volumesOf(t *testing.T, run string) []string {
	t.Helper()
	containers := strings.Fields(dockerSays(t, "ps", "-aq", "--filter", "label=picklock.run="+run))
	if len(containers) == 0 {
		return nil
	}
	return strings.Fields(dockerSays(t, append([]string{"inspect", "-f", "{{range .Mounts}}{{.Name}} {{end}}"}, containers...)...))
}
