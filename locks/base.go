package locks

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// base is what the locks on one key of one Redis have in common.
type base struct {
	Config
	node redis.Cmdable
	ttl  time.Duration // 0: none
}

func newBase(c Config, m Meta) base {
	b := base{Config: c, node: c.Nodes[0], ttl: m.TTL}
	if c.TTL > 0 && !m.NoTTL {
		b.ttl = c.TTL
	}
	return b
}

// attempt makes one attempt to take the lock. An attempt under way is not cut short when
// ctx ends, since that would turn an answer that is about to come into an unknown one; the
// client's own timeouts bound it.
func (b *base) attempt(ctx context.Context, try func(context.Context) (bool, error)) (bool, error) {
	b.Trace.attempt()
	return try(context.WithoutCancel(ctx))
}

// poll makes attempts until one takes the lock, one fails (Spring's exception leaves the
// source's loop), or ctx ends. wait is what the source sleeps in between.
func (b *base) poll(ctx context.Context, wait time.Duration, try func(context.Context) (bool, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return gaveUp(err)
		}
		if ok, err := b.attempt(ctx, try); ok || err != nil {
			return err
		}
		if err := b.Clock.Sleep(ctx, wait); err != nil {
			return gaveUp(err)
		}
	}
}

// setNX takes the key with value if nobody has it: SETNX, or for a lock with a TTL one SET
// with NX and PX.
func (b *base) setNX(ctx context.Context, value string) (bool, error) {
	ok, err := b.send(ctx, value, b.ttl)
	if err != nil {
		return false, unacquired(NotExecuted(err), err)
	}
	return ok, nil
}

// send sends SETNX (ttl 0) or SET NX PX. The seeds give their TTLs in seconds (EX); PX
// means the same and allows the sub-second TTLs of quick tests. go-redis' own SetNX never
// sends SETNX, and redis.Cmdable hides the way to send it, so it is asked for.
func (b *base) send(ctx context.Context, value string, ttl time.Duration) (bool, error) {
	p, ok := b.node.(interface {
		Process(context.Context, redis.Cmder) error
	})
	if !ok {
		return b.node.SetNX(ctx, b.Name, value, ttl).Result()
	}
	cmd := redis.NewBoolCmd(ctx, "setnx", b.Name, value)
	if ttl > 0 {
		cmd = redis.NewBoolCmd(ctx, "set", b.Name, value, "nx", "px", milliseconds(ttl))
	}
	_ = p.Process(ctx, cmd) // the error stays in cmd
	return cmd.Result()
}

// del is the release of the sources that delete the key, whoever's it is.
func (b *base) del(ctx context.Context) error {
	n, err := b.node.Del(ctx, b.Name).Result()
	switch {
	case err != nil:
		return thrown(unchanged(NotExecuted(err), err))
	case n == 0:
		return ErrNotHeld
	}
	return nil
}

// script runs one that answers 1 when it did what it is for, and 0 when the lock is not
// the token's.
func (b *base) script(ctx context.Context, s *redis.Script, args ...any) error {
	return evaluated(s.Run(ctx, b.node, []string{b.Name}, args...))
}

// evaluated is the truth of such a script's reply.
func evaluated(cmd *redis.Cmd) error {
	n, err := cmd.Int64()
	switch {
	case err != nil:
		return unchanged(ScriptNotExecuted(err), err)
	case n == 0:
		return ErrNotHeld
	}
	return nil
}

func milliseconds(d time.Duration) int64 {
	return max(1, d.Milliseconds())
}

func newToken() string { return uuid.NewString() }
