package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"picklock/harness"
	"picklock/harness/store"
)

// latestIn is the folder of the latest test in dir.
func latestIn(dir string) store.Dir { return store.Dir(filepath.Join(dir, "store", "latest")) }

// scheduleIn reads the schedule that the latest test in dir has kept.
func scheduleIn(t *testing.T, dir string) []store.Planned {
	t.Helper()
	all, err := harness.ReadSchedule(latestIn(dir).Path(store.Schedule))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSchedule: a schedule is run as it is written, kept beside the test, and repeated
// from there.
func TestSchedule(t *testing.T) {
	t.Parallel()
	const text = `faults:
- {kind: kill-client, target: client-1, at: 700ms, for: 300ms, pick: 7}
- {kind: drop-reply, at: 1s, on: after stock-read, nth: 3}
- {kind: pause-node, target: lock, at: 500ms, for: 600ms, after: 1, recovered: true}
`
	want, err := harness.ParseSchedule([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := picklock(t, dir, nil, scheduled(t, dir, text, strings.Fields("--json --runtime process --lock uuid-lua --ttl 500ms --redis-timeout 200ms --grace 2s --clients 3 --time-limit 7s --seed 9")...)...)
	first := parse(t, r)
	ranAs(t, first, r, want)
	if got := scheduleIn(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("kept as %+v, want %+v", got, want)
	}
	stored, err := filepath.EvalSymlinks(string(latestIn(dir)))
	if err != nil {
		t.Fatal(err)
	}
	command := strings.Fields(first.Rerun)
	if len(command) != 3 || command[0] != "picklock" || command[1] != "rerun" || !strings.HasSuffix(stored, command[2]) {
		t.Fatalf("the command that repeats it is %q; want picklock rerun %s", first.Rerun, stored)
	}

	r = picklock(t, dir, nil, append(command[1:], "--json")...)
	again := parse(t, r)
	ranAs(t, again, r, want)
	repeats(t, again, first)
	if got := scheduleIn(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("repeated, it is kept as %+v, want %+v", got, want)
	}
}

// ranAs demands that the faults were those planned, each on its target, not before its
// time, and not shorter than it was to be.
func ranAs(t *testing.T, res *store.Result, r ran, want []store.Planned) {
	t.Helper()
	if len(res.Faults) != len(want) || res.Vacuous {
		t.Fatalf("%d faults, vacuous because of %q; want %d\n%s", len(res.Faults), res.VacuousWhy, len(want), summary(res, r))
	}
	names := map[string]string{"client-1": "client 1", "lock": "node lock"}
	for _, p := range want {
		f := faultOf(t, res, p.Kind)
		if !landedAndHealed(f) {
			t.Errorf("no proof: %+v", f)
		}
		if p.Target != "" && f.Target != names[p.Target] {
			t.Errorf("%s was done to %s, want %s", f.Kind, f.Target, names[p.Target])
		}
		if f.StartS < time.Duration(p.At).Seconds() || f.EndS-f.StartS < time.Duration(p.For).Seconds() {
			t.Errorf("%s from %.3f s to %.3f s; want not before %s, and %s long at least", f.Kind, f.StartS, f.EndS, p.At, p.For)
		}
		if p.Recovered {
			if other := faultOf(t, res, want[p.After-1].Kind); f.StartS < other.EndS {
				t.Errorf("%s began at %.3f s, but %s was over only at %.3f s", f.Kind, f.StartS, other.Kind, other.EndS)
			}
		}
	}
}

func faultOf(t *testing.T, res *store.Result, kind string) store.Fault {
	t.Helper()
	for _, f := range res.Faults {
		if f.Kind == kind {
			return f
		}
	}
	t.Fatalf("no %s among %+v", kind, res.Faults)
	return store.Fault{}
}

// repeats demands that a test is the other once more, in all but what makes it another run.
func repeats(t *testing.T, again, first *store.Result) {
	t.Helper()
	a, b := again.Test, first.Test
	if a.Run == b.Run || a.Started.Equal(b.Started) {
		t.Errorf("it is no run of its own: %s at %s", a.Run, a.Started)
	}
	for _, x := range []*store.Test{&a, &b} {
		x.Run, x.Started, x.About, x.Observed = "", time.Time{}, nil, nil
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("repeated as\n%+v\nwant\n%+v", a, b)
	}
}

// TestEveryTestKeepsItsSchedule: what the seed drew is kept too, can be given as it is,
// and is repeated; a test without faults has none.
func TestEveryTestKeepsItsSchedule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := strings.Fields("--runtime process --lock uuid-lua --ttl 500ms --redis-timeout 200ms --time-limit 6s --seed 5")
	drawn, r := judged(t, dir, append(args, "--nemesis", "pause-client,kill-client")...)
	kept := scheduleIn(t, dir)
	if len(kept) < 2 || !reflect.DeepEqual(kept, drawn.Test.Schedule) {
		t.Fatalf("kept %+v, ran %+v\n%s", kept, drawn.Test.Schedule, summary(drawn, r))
	}
	first, err := filepath.EvalSymlinks(string(latestIn(dir)))
	if err != nil {
		t.Fatal(err)
	}
	again := parse(t, picklock(t, dir, nil, "rerun", "--json", first))
	repeats(t, again, drawn)

	given := parse(t, picklock(t, dir, nil, append([]string{"run", "--json", "--schedule", filepath.Join(first, store.Schedule)}, args...)...))
	if !reflect.DeepEqual(given.Test.Schedule, kept) || !given.Test.Explicit {
		t.Errorf("given as it was kept, it is %+v, want %+v", given.Test.Schedule, kept)
	}

	if none, r := judged(t, dir, append(args, "--nemesis", "none", "--time-limit", "2s")...); len(none.Faults) > 0 {
		t.Errorf("faults without any planned: %s", summary(none, r))
	}
	if text := read(t, latestIn(dir).Path(store.Schedule)); !strings.Contains(text, "faults: []") {
		t.Errorf("the schedule of a test without faults reads %q", text)
	}
}

// storms are topologies with a lock each that a storm may break: it has to end with a
// verdict.
func storms() map[string]string {
	return map[string]string{
		"single":   "--lock uuid-lua",
		"failover": "--lock uuid-lua --replicas 2",
		"redlock":  "--lock redlock --nodes 5",
	}
}

// storm runs a storm and demands a verdict, and that faults overlapped and all were healed.
func storm(t *testing.T, runtime, topology string, seed int) {
	t.Helper()
	before := machineNow(t)
	tmp := t.TempDir()
	args := append(strings.Fields("run --json --nemesis storm --deduct lua --ttl 500ms --redis-timeout 100ms --grace 3s --clients 4 --workers 1 --time-limit 15s --min-sales 5"),
		strings.Fields(storms()[topology])...)
	r := picklock(t, t.TempDir(), []string{"TMPDIR=" + tmp}, append(args, "--runtime", runtime, "--topology", topology, "--seed", fmt.Sprint(seed))...)
	res := parse(t, r)
	landed, overlapped := 0, false
	for i, f := range res.Faults {
		if f.Healed == "" || f.EndS < f.StartS || strings.Contains(f.Error, "not healed") {
			t.Errorf("not healed: %+v", f)
		}
		if f.Landed {
			landed++
		}
		for _, g := range res.Faults[:i] {
			overlapped = overlapped || f.Landed && g.Landed && f.StartS < g.EndS && g.StartS < f.EndS
		}
	}
	if landed < 3 || !overlapped { // on a busy machine it may well be vacuous: that is a verdict, too
		t.Errorf("%d faults landed, overlapping: %v, vacuous because of %q\n%s", landed, overlapped, res.VacuousWhy, summary(res, r))
	}
	for id, p := range res.Properties {
		if p.Verdict == "" {
			t.Errorf("no verdict on %s", id)
		}
	}
	nothingLeftOf(t, res.Test.Run)
	nothingLeft(t, tmp)
	before.untouched(t)
}

// TestStorm: everything at once, on every topology.
func TestStorm(t *testing.T) {
	t.Parallel()
	for topology := range storms() {
		t.Run("process/"+topology, func(t *testing.T) {
			t.Parallel()
			storm(t, "process", topology, 1)
		})
	}
	t.Run("docker/failover", func(t *testing.T) {
		t.Parallel()
		storm(t, "docker", "failover", 2)
	})
}
