package locks

import (
	"context"
	"sync"
)

// localMutex is a mutex in the memory of the client process (S0's "JVM local lock", S1 V1's
// lock.lock()): one per lock name and process. It needs no Redis.
func localMutex() Spec {
	const why = "each client has a mutex of its own, which does not keep the others' workers out"
	var known expectations
	known = known.overlap(noFault, why).will(noFault, why, leaseExclusion)
	for i := range known {
		known[i].MinClients = 2
	}
	known = known.may(hangWorker, "a worker that hangs keeps its mutex", liveness)
	meta := Meta{
		Name:       "local-mutex",
		Summary:    "a mutex in the memory of each client process",
		Source:     "S0 (JVM local lock), S1 V1",
		Topologies: single(),
		NoTTL:      true,
		// Not ownership: an unlock of one process' mutex cannot touch another's.
		Promises:   []string{mutualExclusion, leaseExclusion, linearizableLock, liveness},
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		var mu sync.Mutex
		slots := map[string]chan struct{}{}
		return func(c Config) Lock {
			mu.Lock()
			defer mu.Unlock()
			if slots[c.Name] == nil {
				// A channel with one place, because a sync.Mutex cannot be waited for until ctx ends.
				slots[c.Name] = make(chan struct{}, 1)
			}
			return &localMutexLock{slot: slots[c.Name], trace: c.Trace}
		}
	}}
}

type localMutexLock struct {
	slot  chan struct{} // full: held
	held  bool          // by this worker
	trace Trace
}

func (l *localMutexLock) Acquire(ctx context.Context) (Grant, error) {
	if err := ctx.Err(); err != nil {
		return Grant{}, gaveUp(err)
	}
	l.trace.attempt()
	select {
	case l.slot <- struct{}{}:
		l.held = true
		return Grant{}, nil
	case <-ctx.Done():
		return Grant{}, gaveUp(ctx.Err())
	}
}

// Release by somebody who does not hold the lock throws, as Java's ReentrantLock does.
func (l *localMutexLock) Release(context.Context) error {
	if !l.held {
		return thrown(ErrNotHeld)
	}
	l.held = false
	<-l.slot
	return nil
}
