package locks

import (
	"slices"
	"sync"
)

// All returns every lock, in the order in which the seeds develop them. What the specs
// have inside is shared, and is not to be changed.
func All() []Spec { return slices.Clone(all()) }

// all makes the registry once: a matrix looks thousands of locks up.
var all = sync.OnceValue(func() []Spec {
	return []Spec{
		none(),
		localMutex(),
		setnx(),
		setnxRecursive(),
		setnxExpire(),
		setnxExpireAll(),
		setnxOnce(),
		setexDel(),
		seckillBefore(),
		seckillWrongKey(),
		seckillAfter(),
		seckillAfterFixed(),
		uuidGetDel(),
		uuidGetDelNull(),
		uuidLua(),
		jedisSpin(),
		jedisConcat(),
		reentrant(),
		watchdog(),
		reentrantWatchdog(),
		uuidDeadline(),
		pubsub(),
		pxat(),
		fenced(),
		waitAcked(),
		redlock(),
		multilock(),
	}
})

// Lookup returns the lock of that name, which may choose options: "redlock" or
// "redlock:quorum=2,clock=wall". ok is false if there is no such lock; err says in one
// line what is wrong with the options.
func Lookup(name string) (s Spec, ok bool, err error) {
	return Pick("lock", name, All(), func(s *Spec) Optional[Spec] { return Optional[Spec]{Name: &s.Name, Options: &s.Options, With: &s.With} })
}

// Find is Lookup without the reason.
func Find(name string) (Spec, bool) {
	s, ok, err := Lookup(name)
	return s, ok && err == nil
}
