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
)
