package deduct

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// The Lua sources, without the ledger's part that goes before each.
var (
	//go:embed ledger.lua
	ledgerLua string
	//go:embed set.lua
	setLua string
	//go:embed hincrby.lua
	hincrbyLua string
	//go:embed check_decr.lua
	checkDecrLua string
	//go:embed check_decr_once.lua
	checkDecrOnceLua string
	//go:embed fence.lua
	fenceLua string
	//go:embed get.lua
	getLua string
	//go:embed append.lua
	appendLua string
)

func script(body string) *redis.Script { return redis.NewScript(source(body)) }

func source(body string) string { return ledgerLua + body }
