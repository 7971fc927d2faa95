package locks

import _ "embed"

// The Lua sources. Each script's file says what it takes and answers.
var (
	//go:embed compare_and_delete.lua
	compareAndDelete string
	//go:embed compare_and_pexpire.lua
	compareAndPExpire string
	//go:embed seckill_release.lua
	seckillRelease string
	//go:embed seckill_release_fixed.lua
	seckillReleaseFixed string
	//go:embed jedis_concat.lua
	jedisConcatTemplate string
	//go:embed reentrant_acquire.lua
	reentrantAcquire string
	//go:embed reentrant_release.lua
	reentrantRelease string
	//go:embed reentrant_renew.lua
	reentrantRenew string
	//go:embed fenced_acquire.lua
	fencedAcquire string
	//go:embed pubsub_acquire.lua
	pubsubAcquire string
	//go:embed pubsub_release.lua
	pubsubRelease string
	//go:embed compare_and_delete_once.lua
	compareAndDeleteOnce string
	//go:embed reentrant_acquire_once.lua
	reentrantAcquireOnce string
	//go:embed reentrant_release_once.lua
	reentrantReleaseOnce string
	//go:embed set_xx.lua
	setXX string
)
