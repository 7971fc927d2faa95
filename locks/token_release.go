package locks

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// compareAndFree is the release of uuid-lua and of what is built on it: the script frees
// the lock if it carries the token.
func (b *base) compareAndFree(ctx context.Context, s *redis.Script, token string) error {
	return uncaught(b.free(ctx, func(ctx context.Context) *redis.Cmd { return b.script(ctx, s, token) }))
}

// runs is the step that runs a script.
func runs(source string) []Command {
	return []Command{{Name: "EVALSHA", Script: redis.NewScript(source).Hash()}}
}
