package locks

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// jedisConcat is S3 as printed: like jedis-spin, but the release pastes key and value into
// the Lua source. A quote in either breaks the script or changes what it does.
func jedisConcat() Spec {
	meta := jedisSpin().Meta
	meta.Name = "jedis-concat"
	meta.Summary = "jedis-spin with S3's own release: key and user id pasted into the Lua source (a quote breaks it)"
	meta.Steps = steps(sends("SET"), sends("EVAL"), nil) // key and user are in the script, and so in its hash
	meta.Source = "S3 (as printed)"
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &jedisConcatLock{jedis{newBase(c, meta)}} }
	}}
}

type jedisConcatLock struct{ jedis }

func (l *jedisConcatLock) Release(ctx context.Context) error {
	source := strings.NewReplacer("{key}", l.Name, "{val}", l.User).Replace(jedisConcatTemplate)
	return l.free(ctx, func(ctx context.Context) *redis.Cmd { return l.node.Eval(ctx, source, nil) })
}
