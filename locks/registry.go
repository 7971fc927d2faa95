package locks

import "slices"

// All returns every lock, in the order in which the seeds develop them.
func All() []Spec {
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
	}
}

// Find returns the lock of that name.
func Find(name string) (Spec, bool) {
	all := All()
	at := slices.IndexFunc(all, func(s Spec) bool { return s.Name == name })
	if at < 0 {
		return Spec{}, false
	}
	return all[at], true
}
