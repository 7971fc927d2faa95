package locks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/locks"
)

// onNodes is what one of the locks that are not the seeds' own does on the wire: K is the
// lock's name, T its token, N a number that differs from run to run.
type onNodes struct {
	name             string
	nodes            int           // on so many
	ttl              time.Duration // 0: the source's
	replicas         int           // the first node's
	acquire, release []string
	refused          []string // what an attempt sends that finds the lock taken
	validity         time.Duration
	keeps            bool   // it goes on after an attempt that the servers refused or did not answer
	first            string // the command that takes the lock, by the name that is sent
	swallows         bool   // errors of its release do not reach the caller
}

func nodesConformance() []onNodes {
	del := []string{"evalsha compare_and_delete.lua 1 K T"}
	times := func(n int, lines ...string) []string { return slices.Repeat(lines, n) }
	const redlockLease, multiLease = roomy - 6*time.Second - 2*time.Millisecond, 30*time.Second - 302*time.Millisecond
	five := onNodes{name: "redlock", nodes: 5, ttl: roomy, acquire: times(5, "set K T nx px 600000"), release: times(5, del...),
		refused: slices.Concat(times(5, "set K T nx px 600000"), times(5, del...)), validity: redlockLease, keeps: true, first: "set", swallows: true}
	three, one, keep := five, five, five
	three.nodes, three.acquire, three.release, three.refused = 3, five.acquire[:3], five.release[:3], slices.Concat(five.acquire[:3], five.release[:3])
	one.nodes, one.acquire, one.release, one.refused = 1, five.acquire[:1], five.release[:1], slices.Concat(five.acquire[:1], five.release[:1])
	keep.name, keep.refused = "redlock:partial=keep", five.acquire
	return []onNodes{
		five, three, one, keep,
		{name: "multilock", nodes: 1, acquire: []string{"set K:a T nx px 30000", "set K:b T nx px 30000"}, first: "set", validity: multiLease,
			release: []string{"evalsha compare_and_delete.lua 1 K:b T", "evalsha compare_and_delete.lua 1 K:a T"}, refused: []string{"set K:a T nx px 30000"}},
		{name: "multilock", nodes: 3, acquire: []string{"set K:a T nx px 30000", "set K:b T nx px 30000", "set K:c T nx px 30000"}, first: "set",
			release:  []string{"evalsha compare_and_delete.lua 1 K:c T", "evalsha compare_and_delete.lua 1 K:b T", "evalsha compare_and_delete.lua 1 K:a T"},
			validity: multiLease, refused: []string{"set K:a T nx px 30000"}},
		{name: "multilock:ttl=none", nodes: 1, acquire: []string{"setnx K:a T", "setnx K:b T"}, refused: []string{"setnx K:a T"}, first: "setnx",
			release: []string{"evalsha compare_and_delete.lua 1 K:b T", "evalsha compare_and_delete.lua 1 K:a T"}},
		{name: "fenced", nodes: 1, acquire: []string{"set K T nx px 3000", "incr K:fence"}, release: del, refused: []string{"set K T nx px 3000"},
			validity: 3 * time.Second, first: "set"},
		{name: "fenced:counter=lock", nodes: 1, acquire: []string{"evalsha fenced_acquire.lua 2 K K:fence T 3000"}, release: del,
			refused: []string{"evalsha fenced_acquire.lua 2 K K:fence T 3000"}, validity: 3 * time.Second, first: "evalsha"},
		{name: "pxat", nodes: 1, acquire: []string{"set K T nx pxat N"}, release: del, refused: []string{"set K T nx pxat N"}, validity: 3 * time.Second, first: "set"},
		{name: "uuid-deadline", nodes: 1, acquire: []string{"set K T nx px 3000"}, release: del, refused: []string{"set K T nx px 3000"},
			validity: 2700 * time.Millisecond, first: "set"},
		{name: "pubsub", nodes: 1, acquire: []string{"evalsha pubsub_acquire.lua 1 K T 30000"}, release: []string{"evalsha pubsub_release.lua 2 K K:unlock T"},
			refused: []string{"evalsha pubsub_acquire.lua 1 K T 30000"}, validity: 30 * time.Second, first: "evalsha"},
		{name: "wait-acked", nodes: 2, replicas: 1, ttl: roomy, acquire: []string{"set K T nx px 600000", "wait 1 60000"}, release: del,
			refused: []string{"set K T nx px 600000"}, validity: roomy, first: "set"},
		{name: "wait-acked:acks=2", nodes: 3, replicas: 2, ttl: roomy, acquire: []string{"set K T nx px 600000", "wait 2 60000"}, release: del,
			refused: []string{"set K T nx px 600000"}, validity: roomy, first: "set"},
		{name: "reentrant-watchdog", nodes: 1, acquire: []string{"evalsha reentrant_acquire.lua 1 K T 30000"}, release: []string{"evalsha reentrant_release.lua 1 K T"},
			refused: []string{"evalsha reentrant_acquire.lua 1 K T 30000"}, validity: 30 * time.Second, first: "evalsha"},
	}
}

// Every lock of the registry that is not the seeds' own, on the servers that it needs.
func TestLocksOnNodes(t *testing.T) {
	t.Parallel()
	type shape struct{ nodes, replicas int }
	clusters := map[shape]*cluster{}
	var tested []string
	for _, f := range nodesConformance() {
		at := shape{f.nodes, f.replicas}
		c := clusters[at]
		if c == nil {
			c = newCluster(t, f.nodes)
			if f.replicas > 0 {
				c.replicate()
			}
			clusters[at] = c
		}
		plain, _, _ := strings.Cut(f.name, ":")
		tested = append(tested, plain)
		name := fmt.Sprintf("%s on %d", f.name, f.nodes)
		t.Run(name+", one life", func(t *testing.T) { liveOnNodes(t, c, f) })
		t.Run(name+", truth", func(t *testing.T) { tellTruthOnNodes(t, c, f) })
		t.Run(name+", context that is over", func(t *testing.T) { beOverOnNodes(t, c, f) })
	}
	for _, s := range locks.All() {
		if !isOfTheSeeds(s.Name) && !slices.Contains(tested, s.Name) {
			t.Errorf("%s is in the registry, but nothing says what it must do", s.Name)
		}
	}
}

var millis = regexp.MustCompile(`pxat \d{13}`)

func (c *cluster) sent(g locks.Grant, name string) []string {
	lines := c.wire.take(g.Token, "T", name, "K")
	for i := range lines {
		lines[i] = millis.ReplaceAllString(lines[i], "pxat N")
	}
	return lines
}

// One life of a lock: taken, refused to another, whose attempts leave everything as it
// was, released, taken by the other.
func liveOnNodes(t *testing.T, c *cluster, f onNodes) {
	t.Helper()
	cfg := c.config()
	cfg.TTL = f.ttl
	c.wire.take()
	first := open(t, f.name, cfg)
	g, err := first.Acquire(patient(t))
	if err != nil || g.Token == "" || g.Belief != locks.FollowsReply {
		t.Fatalf("acquire: %+v, %v", g, err)
	}
	if sent := c.sent(g, cfg.Name); !slices.Equal(sent, f.acquire) {
		t.Errorf("acquire sent %q, want %q", sent, f.acquire)
	}
	if d := g.Validity - f.validity; d < -time.Microsecond*100 || d > time.Microsecond*100 {
		t.Errorf("validity %v, want %v from the attempt", g.Validity, f.validity)
	}
	held := c.everything()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other := cfg
	other.Trace.Attempt = cancel // while the first attempt is under way: it must still be answered
	h, err := open(t, f.name, other).Acquire(ctx)
	if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("a second handle: %v, want ErrNotAcquired when its context ends", err)
	}
	if sent := c.sent(h, cfg.Name); !slices.Equal(sent, f.refused) {
		t.Errorf("a refused attempt sent %q, want %q", sent, f.refused)
	}
	if now := c.everything(); now != held {
		t.Errorf("the refused attempt changed what the servers hold:\n%s\nwas\n%s", now, held)
	}

	releases := 0
	next := cfg
	next.Trace.Release = func() { releases++ }
	if err := first.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	if sent := c.sent(g, cfg.Name); !slices.Equal(sent, f.release) {
		t.Errorf("release sent %q, want %q", sent, f.release)
	}
	second := open(t, f.name, next)
	if _, err := second.Acquire(patient(t)); err != nil {
		t.Errorf("the next handle: %v", err)
	}
	if err := first.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("releasing again what is another's: %v, want ErrNotHeld", err)
	}
	if err := second.Release(t.Context()); err != nil || releases != 1 {
		t.Errorf("the other's release: %v, traced %d times; want it to find its lock, traced once", err, releases)
	}
}

// What the servers did not answer stays unknown, unless it certainly was not executed or
// was undone.
func tellTruthOnNodes(t *testing.T, c *cluster, f onNodes) {
	t.Helper()
	for _, x := range []struct {
		loss     loss
		definite bool
		cause    error
	}{{replyLost, false, io.EOF}, {requestLost, false, io.EOF}, {requestRefused, true, loading{}}, {notSent, true, nil}} {
		cfg, attempts := c.config(), 0
		cfg.TTL = f.ttl
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Trace.Attempt = func() {
			if attempts++; attempts == 2 {
				cancel()
			}
		}
		c.losing(commands(x.loss, f.first))
		_, err := open(t, f.name, cfg).Acquire(ctx)
		c.losing(nil)
		cancel()
		if err == nil || definite(err) != x.definite {
			t.Errorf("acquire, loss %d: %v, want definite: %v", x.loss, err, x.definite)
		}
		if x.cause != nil && !errors.Is(err, x.cause) {
			t.Errorf("acquire, loss %d: %v does not carry its cause", x.loss, err)
		}
		if got := attempts > 1; got != f.keeps {
			t.Errorf("acquire, loss %d: %d attempts; it goes on after an error: want %v", x.loss, attempts, f.keeps)
		}

		cfg = c.config()
		cfg.TTL = f.ttl
		l := open(t, f.name, cfg)
		if _, err := l.Acquire(patient(t)); err != nil {
			t.Fatal(err)
		}
		c.losing(commands(x.loss, evals()...))
		err = l.Release(t.Context())
		c.losing(nil)
		if err == nil || definite(err) != x.definite || errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("release, loss %d: %v, want definite: %v", x.loss, err, x.definite)
		}
		if got := errors.Is(err, locks.ErrThrown); got == f.swallows {
			t.Errorf("release, loss %d: %v, thrown to the caller: want %v", x.loss, err, !f.swallows)
		}
	}
}

// A context that is over makes no attempt.
func beOverOnNodes(t *testing.T, c *cluster, f onNodes) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.wire.take()
	_, err := open(t, f.name, c.config()).Acquire(ctx)
	if sent := c.wire.take(); !errors.Is(err, locks.ErrNotAcquired) || len(sent) > 0 {
		t.Errorf("%v after sending %q, want ErrNotAcquired and nothing sent", err, sent)
	}
}

// The steps of the metadata are the commands that are sent: a trigger that names a step
// must find it on the wire.
func TestStepsAreOnTheWire(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{}
	for _, file := range []string{
		"compare_and_delete.lua", "fenced_acquire.lua", "pubsub_acquire.lua", "pubsub_release.lua", "reentrant_acquire.lua", "reentrant_release.lua",
	} {
		scripts[hash(t, file)] = file
	}
	for _, f := range nodesConformance() {
		s, ok := locks.Find(f.name)
		if !ok {
			t.Errorf("there is no lock %s", f.name)
			continue
		}
		for step, lines := range map[locks.Step][]string{locks.StepAcquire: f.acquire, locks.StepRelease: f.release, locks.StepAck: f.acquire} {
			commands := s.Steps[step]
			if step == locks.StepAck && f.replicas == 0 {
				if commands != nil {
					t.Errorf("%s: it has a step %s, but no replicas", f.name, step)
				}
				continue
			}
			found := len(commands) == 1 && slices.ContainsFunc(lines, func(line string) bool {
				words := strings.Fields(line)
				return strings.EqualFold(words[0], commands[0].Name) && (commands[0].Script == "" || scripts[commands[0].Script] == words[1])
			})
			if !found {
				t.Errorf("%s: step %s is %+v, which is not in %q", f.name, step, commands, lines)
			}
		}
	}
}
