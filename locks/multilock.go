package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// multilock is one lock made of several, all of which must be taken (Redisson's
// MultiLock, S1 4.2): one on each node, or two on a single one. It takes one after the
// other and keeps what it has while it waits for the next, so the order matters: in the
// same order for everybody it is safe, in any other two clients can wait for each other
// for ever, or until the first TTL ends. Then all that was taken is given back, and it
// begins again.
func multilock() Spec {
	options := []Option{
		{"order", []string{"sorted", "unsorted"}, "in which order the locks are taken: always the same, or a random one each time"},
		{"ttl", []string{"yes", "none"}, "whether the locks expire"},
	}
	with := func(v Values) Spec {
		meta := Meta{
			Name:       "multilock",
			Summary:    "SET <uuid> NX PX every 20 ms on each of several keys, one after the other; compare-and-delete on all",
			Source:     "S1 4.2 (Redisson's MultiLock)",
			Topologies: []string{"single", "redlock"},
			TTL:        30 * time.Second, // S1's other locks'
			Promises:   lockPromises(),
			Weaknesses: multilockWeaknesses(v),
			Steps:      steps(sends("SET"), runs(compareAndDelete), nil),
			Keys:       multilockKeys,
		}
		if v["ttl"] == "none" {
			meta.NoTTL, meta.TTL = true, 0
			meta.Steps[StepAcquire] = sends("SETNX")
		}
		return Spec{Meta: meta, Open: func() Maker {
			release := redis.NewScript(compareAndDelete)
			return func(c Config) Lock { return newMultilock(c, meta, v["order"] == "sorted", release) }
		}}
	}
	return withOptions(options, with)
}

func multilockWeaknesses(v Values) expectations {
	var known expectations
	unsorted := v["order"] == "unsorted"
	if v["ttl"] == "none" {
		known = known.will(killClient, "the dead holder's locks have no TTL and stay for ever", liveness).orphaned()
		for _, fault := range unanswered() {
			known = known.may(fault, "a lock whose reply or release was lost has no TTL and stays for ever", liveness)
		}
		for _, fault := range append(operator(), restartEmpty) {
			known = known.mayOverlapBy(fault, "the server loses the locks while the holder is in the section")
		}
		if unsorted {
			known = known.will(noFault, "two clients each hold the lock that the other one waits for", liveness)
		}
		return known.stormed()
	}
	if unsorted {
		known = known.may(noFault, "two clients each hold the lock that the other one waits for, until the first TTL ends", liveness)
	}
	return known.outlived().heldTooLong().
		losesKeys("the servers lose the locks, or end their TTLs early, while the holder is in the section").stormed()
}

type multiLock struct {
	base
	parts
	sorted bool
	token  string // of the last Acquire
}

func newMultilock(c Config, m Meta, sorted bool, release *redis.Script) *multiLock {
	l := &multiLock{base: newBase(c, m), sorted: sorted}
	n := multilockParts(len(c.Nodes))
	l.parts = parts{quorum: n, release: release}
	for i := range n {
		one := c
		at := i % len(c.Nodes)
		one.Nodes = c.Nodes[at : at+1]
		one.Name = multilockKey(c.Name, i)
		l.list = append(l.list, &part{base: newBase(one, m)})
	}
	return l
}

// multilockParts is of how many locks a multilock on so many nodes is made.
func multilockParts(nodes int) int { return max(2, nodes) }

// multilockKey is the key of the i-th of them: "name:a", "name:b", ...
func multilockKey(name string, i int) string { return fmt.Sprintf("%s:%c", name, 'a'+i) }

// multilockKeys are those on one of the nodes, in turn.
func multilockKeys(name string, node, nodes int) []string {
	var keys []string
	for i := node; i < multilockParts(nodes); i += nodes {
		keys = append(keys, multilockKey(name, i))
	}
	return keys
}

func (l *multiLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	l.forget()
	g := Grant{Token: l.token, Validity: l.lease()}
	for {
		ok, err := l.round(ctx)
		if ok {
			return g, nil
		}
		err = errors.Join(err, l.undo(ctx))
		switch {
		case err == nil: // its time was over, and all is given back
		case l.taken():
			return g, fmt.Errorf("it may hold %d of %d locks: %w", l.count(), len(l.list), err)
		default:
			return g, gaveUp(err)
		}
	}
}

// lease counts from the attempt that took the first lock; 0: it has no end.
func (l *multiLock) lease() time.Duration {
	if l.ttl == 0 {
		return 0
	}
	return l.ttl - drift(l.ttl)
}

// round takes all locks. It is false without an error when the first TTL ended before the
// last lock was taken.
func (l *multiLock) round(ctx context.Context) (bool, error) {
	order := slices.Clone(l.list)
	if !l.sorted {
		l.Rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	var elapsed func() time.Duration // since the attempt that took the first lock
	inTime := func() bool { return l.ttl == 0 || elapsed() < l.lease() }
	for i, p := range order {
		for {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if i == 0 {
				l.Trace.attempt()
				elapsed = stopwatch(l.Clock)
			}
			ok, err := p.take(context.WithoutCancel(ctx), l.token) // see base.attempt
			if err != nil {
				return false, err
			}
			if ok {
				break
			}
			if i > 0 && !inTime() {
				return false, nil
			}
			if err := l.Clock.Sleep(ctx, 20*time.Millisecond); err != nil {
				return false, err
			}
		}
	}
	return inTime(), nil
}

// undo gives back what a failed round took.
func (l *multiLock) undo(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(l.list) {
		if p.ours {
			errs = append(errs, l.giveBack(context.WithoutCancel(ctx), p, l.token).err)
		}
	}
	return errors.Join(errs...)
}

// Release gives back all locks, the last one first.
func (l *multiLock) Release(ctx context.Context) error {
	l.Trace.release()
	outcomes := make([]freed, len(l.list))
	for i, p := range slices.Backward(l.list) {
		outcomes[i] = l.giveBack(ctx, p, l.token)
	}
	return uncaught(l.released(outcomes))
}
