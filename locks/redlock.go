package locks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// redlock is S1's five steps: the time before, SET NX PX with one token on all N
// independent nodes in turn, each with a timeout far below the TTL; granted if a majority
// said yes and the time that it took leaves some validity; and on a failure a release on
// all nodes, also on those that gave no answer, then a random delay (up to 200 ms, as in
// Redlock's first implementation) before the next try.
func redlock() Spec {
	options := []Option{
		{"quorum", []string{"majority", "2", "3"}, "how many nodes make a grant: more than half of them, or a number that somebody wrote into the configuration"},
		{"clock", []string{"monotonic", "wall"}, "what measures the time that acquiring took: a clock that no step moves, or the wall clock"},
		{"partial", []string{"release", "keep"}, "what becomes of the nodes that a failed attempt got: released, or left to expire"},
		{"timeout", []string{"short", "long"}, "how long one node's answer is waited for: TTL/20, or the TTL (never longer than the Redis timeout)"},
		{"delay", []string{"random", "fixed", "none"}, "before the next attempt: a random time up to 200 ms, always 100 ms, or nothing"},
		{"order", []string{"sequential", "parallel"}, "how the nodes are asked: in turn, or all at the same time"},
	}
	with := func(v Values) Spec {
		meta := Meta{
			Name:       "redlock",
			Summary:    "SET <uuid> NX PX on N independent nodes, a majority within the validity grants; compare-and-delete on all",
			Source:     "S1 4.2; redis.io, Distributed Locks with Redis",
			Topologies: []string{"redlock", "single"},
			TTL:        10 * time.Second, // S1's example
			Promises:   lockPromises(),
			Weaknesses: redlockWeaknesses(v),
			Steps:      steps(sends("SET"), runs(compareAndDelete), nil),
		}
		return Spec{Meta: meta, Open: func() Maker {
			release := redis.NewScript(compareAndDelete)
			return func(c Config) Lock { return newRedlock(c, meta, v, release) }
		}}
	}
	return withOptions(options, with)
}

func redlockWeaknesses(v Values) expectations {
	var known expectations
	known = known.outlived().heldTooLong().
		losesKeys("one of exactly as many nodes as it takes forgets the lock early, and is one of another majority").
		mayOverlapBy(misconfigureClient, "a client with a smaller quorum is granted what others hold")
	if v["quorum"] == "2" {
		const two = "two quorums of two exist among five nodes"
		known = known.mayOverlapBy(noFault, two)
	}
	if v["clock"] == "wall" {
		const back = "the wall clock steps back while replies are slow, and a lease that is over counts as valid"
		known = known.mayOverlapBy(clockClient, back)
	}
	return known.stormed()
}

type redlockLock struct {
	base
	parts
	patience time.Duration // for one node's answer
	keep     bool          // what a failed attempt got
	parallel bool
	watch    func(Clock) func() time.Duration
	delay    func() time.Duration
	token    string // of the last Acquire
}

func newRedlock(c Config, m Meta, v Values, release *redis.Script) *redlockLock {
	l := &redlockLock{base: newBase(c, m), keep: v["partial"] == "keep", parallel: v["order"] == "parallel"}
	l.parts = parts{quorum: len(c.Nodes)/2 + 1, release: release}
	for i := range c.Nodes {
		node := c
		node.Nodes = c.Nodes[i : i+1]
		l.list = append(l.list, &part{base: newBase(node, m)})
	}
	if n, err := strconv.Atoi(v["quorum"]); err == nil {
		l.quorum = n
	}
	l.patience = l.ttl / 20
	if v["timeout"] == "long" {
		l.patience = l.ttl
	}
	l.watch = stopwatch
	if v["clock"] == "wall" {
		l.watch = wallStopwatch
	}
	const longest = 200 * time.Millisecond
	switch v["delay"] {
	case "random":
		l.delay = func() time.Duration { return time.Duration(l.Rand.Int64N(int64(longest))) }
	case "fixed":
		l.delay = func() time.Duration { return longest / 2 }
	case "none":
		l.delay = func() time.Duration { return 0 }
	}
	return l
}

func (l *redlockLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	l.forget()
	g := Grant{Token: l.token}
	var last error // what nodes that did not say yes or no said last
	for ctx.Err() == nil {
		validity, err := l.attempt(ctx)
		if validity > 0 {
			g.Validity = validity
			return g, nil
		}
		if err != nil {
			last = err
		}
		if l.Clock.Sleep(ctx, l.delay()) != nil {
			break
		}
	}
	why := errors.Join(ctx.Err(), last)
	if l.taken() {
		return g, fmt.Errorf("it may be taken on %d of %d nodes: %w", l.count(), len(l.list), why)
	}
	return g, gaveUp(why)
}

// attempt is one round of the five steps. The validity that it returns counts from the
// attempt; 0: not granted. An attempt under way is not cut short when ctx ends (see base).
func (l *redlockLock) attempt(ctx context.Context) (time.Duration, error) {
	ctx = context.WithoutCancel(ctx)
	l.Trace.attempt()
	passed, measured := stopwatch(l.Clock), l.watch(l.Clock)
	answers := make([]bool, len(l.list))
	errs := make([]error, len(l.list))
	l.each(l.parallel, func(i int, p *part) {
		ctx, cancel := context.WithTimeout(ctx, l.patience)
		defer cancel()
		answers[i], errs[i] = p.take(ctx, l.token)
	})
	votes := 0
	for _, yes := range answers {
		if yes {
			votes++
		}
	}
	validity := l.ttl - measured() - drift(l.ttl)
	if votes >= l.quorum && validity > 0 {
		// The lock states it from now on. By a true clock the sum is TTL - drift.
		return passed() + validity, nil
	}
	if !l.keep {
		l.freeAll(ctx)
	}
	return 0, errors.Join(errs...)
}

func (l *redlockLock) freeAll(ctx context.Context) []freed {
	outcomes := make([]freed, len(l.list))
	l.each(l.parallel, func(i int, p *part) {
		ctx, cancel := context.WithTimeout(ctx, l.patience)
		defer cancel()
		outcomes[i] = l.giveBack(ctx, p, l.token)
	})
	return outcomes
}

// Release asks all nodes, also those that did not grant. Unlocking a node is a best
// effort: its error is not thrown.
func (l *redlockLock) Release(ctx context.Context) error {
	l.Trace.release()
	return l.released(l.freeAll(ctx))
}
