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
	node redis.UniversalClient
	ttl  time.Duration // 0: none
	// retries: commands without an answer are sent again. See resend.
	retries bool
	doubt   error // of the call under way: the first try that may have taken effect, unknown to the lock
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
	b.doubt = nil
	for {
		if err := ctx.Err(); err != nil {
			return b.settled(gaveUp(err))
		}
		if ok, err := b.attempt(ctx, try); ok || err != nil {
			return b.settled(err)
		}
		if err := b.Clock.Sleep(ctx, wait); err != nil {
			return b.settled(gaveUp(err))
		}
	}
}

// setNX takes the key with value if nobody has it: SETNX, or for a lock with a TTL one SET
// with NX and PX.
func (b *base) setNX(ctx context.Context, value string) (bool, error) {
	ok, _, err := b.setNXAgain(ctx, value)
	return ok, err
}

// setNXAgain also tells whether a try before the last may have taken the key.
func (b *base) setNXAgain(ctx context.Context, value string) (ok, doubtful bool, err error) {
	doubtful, err = b.resend(ctx, NotExecuted, func(ctx context.Context) error {
		ok, err = b.send(ctx, value, b.ttl)
		return err
	})
	if err != nil {
		return false, doubtful, unacquired(NotExecuted(err), err)
	}
	return ok, doubtful, nil
}

// send sends SETNX (ttl 0) or SET NX PX. The seeds give their TTLs in seconds (EX); PX
// means the same and allows the sub-second TTLs of quick tests. go-redis' own SetNX never
// sends SETNX.
func (b *base) send(ctx context.Context, value string, ttl time.Duration) (bool, error) {
	cmd := redis.NewBoolCmd(ctx, "setnx", b.Name, value)
	if ttl > 0 {
		cmd = redis.NewBoolCmd(ctx, "set", b.Name, value, "nx", "px", milliseconds(ttl))
	}
	_ = b.node.Process(ctx, cmd) // the error stays in cmd
	return cmd.Result()
}

// del is the release of the sources that delete the key, whoever's it is.
func (b *base) del(ctx context.Context) error {
	b.doubt = nil
	var n int64
	_, err := b.resend(ctx, NotExecuted, func(ctx context.Context) (err error) {
		b.Trace.release()
		n, err = b.node.Del(ctx, b.Name).Result()
		return err
	})
	switch {
	case err != nil:
		return thrown(b.settled(unchanged(NotExecuted(err), err)))
	case n == 0:
		return b.settled(ErrNotHeld)
	}
	return nil
}

// free frees the lock by a script that answers 1 when it did, and 0 when the lock is not
// the caller's; run sends it.
func (b *base) free(ctx context.Context, run func(context.Context) *redis.Cmd) error {
	b.doubt = nil
	var cmd *redis.Cmd
	_, _ = b.resend(ctx, ScriptNotExecuted, func(ctx context.Context) error {
		b.Trace.release()
		cmd = run(ctx)
		return cmd.Err()
	})
	return b.settled(evaluated(cmd))
}

// freeOnce is free for a script that answers a second try as it did the first: it took
// effect with any of them.
func (b *base) freeOnce(ctx context.Context, run func(context.Context) *redis.Cmd) error {
	b.doubt = nil
	b.Trace.release()
	var cmd *redis.Cmd
	_, _ = b.resend(ctx, ScriptNotExecuted, func(ctx context.Context) error {
		cmd = run(ctx)
		return cmd.Err()
	})
	return b.settled(evaluated(cmd))
}

// script sends one on the lock's key.
func (b *base) script(ctx context.Context, s runner, args ...any) *redis.Cmd {
	return s.Run(ctx, b.node, []string{b.Name}, args...)
}

// evaluated is the truth of the reply of a script that answers 1 when it did what it is
// for, and 0 when the lock is not the caller's.
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
