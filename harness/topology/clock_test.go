package topology_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// startShimmed starts nodes whose clocks and syncs can be seen and touched.
func startShimmed(t *testing.T, k kind, server string, nodes ...topology.NodeSpec) *bench {
	t.Helper()
	b := &bench{kind: k}
	b.run, b.tmp, b.logs = place(t)
	c, err := k.make(t).Start(t.Context(), topology.Plan{
		Run: b.run, Dir: b.logs, Data: b.tmp, Nodes: nodes, Shim: true, Server: server, Report: func(s string) { t.Log(s) },
	})
	wantNoErr(t, "start", err)
	b.Cluster = c
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// wantAhead reads a clock. The reading is exact to half a round trip; a second is what the
// wall clock of a busy machine may be off by before a fault looks like none.
func wantAhead(t *testing.T, n topology.Node, when string, want time.Duration) {
	t.Helper()
	got, proof, err := n.Clock(t.Context())
	if err != nil || (got-want).Abs() > time.Second || !strings.Contains(proof, n.Name()) {
		t.Errorf("%s: the clock of %s is %v ahead (%s), error %v; want %v", when, n.Name(), got, proof, err, want)
	}
}

func TestClockOfOneNodeMovesAlone(t *testing.T) {
	for _, k := range kinds(t)[:2] { // how a node is reached is nothing to its clock
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			moveClock(t, k, "")
		})
	}
}

// moveClock moves clocks in a small topology that runs server.
func moveClock(t *testing.T, k kind, server string) {
	nodes := append(topology.Single("own", topology.PersistEverysec),
		topology.NodeSpec{Name: "watch", Kind: topology.SentinelNode, Persistence: topology.PersistNone, Watches: "lock"})
	b := startShimmed(t, k, server, nodes...)
	lock, watch := b.node(t, "lock"), b.node(t, "watch")
	c := dial(t, lock.Addr())
	lease := func(ttl time.Duration) {
		t.Helper()
		wantNoErr(t, "SET", c.Set(t.Context(), "lease", "mine", ttl).Err())
	}
	move := func(n topology.Node, offset time.Duration, rate float64) {
		t.Helper()
		wantNoErr(t, "set the clock", n.SetClock(t.Context(), offset, rate))
	}
	for _, n := range b.Nodes() {
		wantAhead(t, n, "at the start", 0)
	}

	lease(5 * time.Second)
	move(lock, 10*time.Second, 1)
	wantAhead(t, lock, "after +10 s", 10*time.Second)
	if n := c.Exists(t.Context(), "lease").Val(); n != 0 {
		t.Error("a lease of 5 s is still there after a step of +10 s: the step did not reach the server's expiry")
	}
	wantAhead(t, watch, "after +10 s on another", 0)
	wantAhead(t, b.node(t, "stock"), "after +10 s on another", 0)
	asked := time.Now()
	out, err := exec.CommandContext(t.Context(), "date", "+%s").Output()
	must(t, err)
	sec, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if date := time.Unix(sec, 0); err != nil || date.Before(asked.Truncate(time.Second)) || date.After(time.Now()) {
		t.Errorf("date on this machine says %s (error %v): only the server's clock may move", out, err)
	}

	lease(5 * time.Second)
	move(lock, -60*time.Second, 1)
	wantAhead(t, lock, "after -60 s", -60*time.Second)
	if left := c.PTTL(t.Context(), "lease").Val(); left < 60*time.Second {
		t.Errorf("a lease of 5 s has %v left after a step from +10 s to -60 s, want about 75 s", left)
	}
	ticks(t, c)

	move(lock, 0, 1)
	wantAhead(t, lock, "set right", 0)
	for range 5 { // a strobe is many steps
		move(lock, time.Minute, 1)
		move(lock, 0, 1)
	}
	wantAhead(t, lock, "after a strobe", 0)
	doubleSpeed(t, lock)

	move(watch, 10*time.Second, 1)
	wantAhead(t, watch, "Sentinel after +10 s", 10*time.Second)

	wantNoErr(t, "kill", lock.Kill(t.Context()))
	if err := lock.SetClock(t.Context(), time.Hour, 1); !errors.Is(err, topology.ErrDead) {
		t.Errorf("the clock of a dead node: got %v, want ErrDead", err)
	}
	if ahead, proof, err := lock.Clock(t.Context()); !errors.Is(err, topology.ErrDead) {
		t.Errorf("the clock of a dead node: got %v (%s), %v; want ErrDead", ahead, proof, err)
	}
	wantNoErr(t, "start", lock.Start(t.Context()))
	wantAhead(t, lock, "after a restart", 0)
}

// ticks waits until the server itself expires a key that nobody asks for: its timers, which
// go by the monotonic clock, still run, and what they look at is the wall clock.
func ticks(t *testing.T, c *redis.Client) {
	t.Helper()
	expired := func() string {
		_, after, _ := strings.Cut(c.Info(t.Context(), "stats").Val(), "expired_keys:")
		n, _, _ := strings.Cut(after, "\r")
		return n
	}
	before := expired()
	wantNoErr(t, "SET", c.Set(t.Context(), "unasked", "1", 50*time.Millisecond).Err())
	eventually(t, "the server expires a key by itself after a step back", func() bool { return expired() != before })
}

// doubleSpeed checks a clock that runs twice as fast against the time that passed: it has
// gained as much as lies between the order and the reading, each of which takes some time.
func doubleSpeed(t *testing.T, n topology.Node) {
	t.Helper()
	ordered := time.Now()
	wantNoErr(t, "set the clock", n.SetClock(t.Context(), 0, 2))
	obeyed := time.Now()
	eventually(t, "a clock of double speed gains a second", func() bool {
		asked := time.Now()
		ahead, proof, err := n.Clock(t.Context())
		wantNoErr(t, "read the clock", err)
		answered := time.Now()
		slack := answered.Sub(asked) // the reading is exact to less than its own duration
		if least, most := asked.Sub(obeyed)-slack, answered.Sub(ordered)+slack; ahead < least || ahead > most {
			t.Fatalf("double speed: got %v ahead (%s), want %v to %v", ahead, proof, least, most)
		}
		return ahead > time.Second
	})
}

func TestClocksThatCannotBe(t *testing.T) {
	b := startShimmed(t, kinds(t)[0], "", topology.Single("lock", topology.PersistNone)...)
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := b.Nodes()[0].SetClock(t.Context(), 0, rate); err == nil {
			t.Errorf("rate %v was taken", rate)
		}
	}
	wantAhead(t, b.Nodes()[0], "after refusals", 0)
}

func TestWithoutShimNothingIsTouched(t *testing.T) {
	wantNoShim(t, start(t, kinds(t)[0], topology.Single("lock", topology.PersistAlways)...).Nodes()[0])
}

// A server that the shim cannot be loaded into, as one that is linked statically, starts
// all the same.
func TestShimThatIsNotLoaded(t *testing.T) {
	server, err := exec.LookPath("redis-server")
	must(t, err)
	bin := t.TempDir()
	script := "#!/bin/sh\nunset LD_PRELOAD\nexec " + server + ` "$@"` + "\n"
	must(t, os.WriteFile(filepath.Join(bin, "redis-server"), []byte(script), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	wantNoShim(t, startShimmed(t, kinds(t)[0], "", topology.Single("lock", topology.PersistAlways)...).Nodes()[0])
}

// wantNoShim checks that a node refuses what takes the shim, and lives on.
func wantNoShim(t *testing.T, n topology.Node) {
	t.Helper()
	if err := n.SetClock(t.Context(), time.Hour, 1); !errors.Is(err, topology.ErrNoShim) {
		t.Errorf("set the clock: got %v, want ErrNoShim: a fault that cannot land must not pass for injected", err)
	}
	if proof, err := n.LosePower(t.Context()); !errors.Is(err, topology.ErrNoShim) {
		t.Errorf("lose power: got %q, %v; want ErrNoShim: what was synced is not known", proof, err)
	}
	wantState(t, n, topology.Running, "")
}

func TestShimNeedsACompilerOnce(t *testing.T) {
	k := kinds(t)[0]
	bin, cache := t.TempDir(), t.TempDir()
	server, err := exec.LookPath("redis-server")
	must(t, err)
	must(t, os.Symlink(server, filepath.Join(bin, "redis-server")))
	path := os.Getenv("PATH")
	t.Setenv("XDG_CACHE_HOME", cache)
	run, tmp, logs := place(t)
	plan := topology.Plan{Run: run, Dir: logs, Data: tmp, Shim: true, Nodes: topology.Single("lock", topology.PersistNone)}
	begin := func(when, path string) error {
		t.Setenv("PATH", path)
		c, err := k.make(t).Start(t.Context(), plan)
		if err != nil {
			return err
		}
		wantNoErr(t, "move a clock "+when, c.Nodes()[0].SetClock(t.Context(), time.Hour, 1))
		wantAhead(t, c.Nodes()[0], when, time.Hour)
		return c.Close(t.Context())
	}
	err = begin("without a compiler", bin)
	if !errors.Is(err, topology.ErrNoCompiler) || !strings.Contains(err.Error(), "apt-get install gcc") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without a compiler: got %v, want ErrNoCompiler with the cure in one line", err)
	}
	must(t, os.WriteFile(filepath.Join(bin, "cc"), []byte("#!/bin/sh\necho 'clock.c:1: fatal error: time.h: No such file'; echo more; exit 1\n"), 0o755))
	err = begin("with a broken compiler", bin+":"+path)
	if !errors.Is(err, topology.ErrNoCompiler) || !strings.Contains(err.Error(), "time.h") || strings.Contains(err.Error(), "\n") {
		t.Errorf("with a broken compiler: got %v, want ErrNoCompiler with its words in one line", err)
	}
	wantNothingLeft(t, run, tmp, nil)
	if left, err := os.ReadDir(filepath.Join(cache, "picklock")); err != nil || len(left) != 0 {
		t.Errorf("left in the cache after failures: %v, %v; want nothing", left, err)
	}
	wantNoErr(t, "with a compiler", begin("compiled", path))
	wantNoErr(t, "the second time, without", begin("from the cache", bin))
	if left, err := os.ReadDir(filepath.Join(cache, "picklock")); err != nil || len(left) != 1 {
		t.Errorf("the cache holds %v, %v; want one folder", left, err)
	}
}
