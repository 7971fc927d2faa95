package locks

import (
	"slices"
	"strings"
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
	plain, options, chosen := strings.Cut(name, ":")
	all := All()
	at := slices.IndexFunc(all, func(s Spec) bool { return s.Name == plain })
	if at < 0 {
		return Spec{}, false, nil
	}
	s = all[at]
	if !chosen {
		return s, true, nil
	}
	values, suffix, err := Choose("lock "+plain, s.Options, options)
	if err != nil || suffix == "" {
		return s, true, err
	}
	v := s.With(values)
	v.Name, v.Options, v.With = plain+suffix, s.Options, s.With
	return v, true, nil
}

// Find is Lookup without the reason.
func Find(name string) (Spec, bool) {
	s, ok, err := Lookup(name)
	return s, ok && err == nil
}
