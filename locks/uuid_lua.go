package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// uuidLua is the form that the seeds arrive at: a uuid as value, compared and deleted by
// the server in one script. S1 V5 is the same with 30 s and 20 ms. Each option mends, or
// spoils, one thing that the form leaves open.
func uuidLua() Spec {
	options := []Option{
		retryOption("; own-token is blind, but takes a SET that is refused after that for its own if the key has its token", "own-token"),
		{"release", []string{"plain", "idempotent"}, "plain answers 0 to a release that is sent again after it was done; " +
			"idempotent leaves a note of the token that was freed, and answers 1"},
		{"elapsed", []string{"unchecked", "checked"}, "checked gives a lock back whose grant took the whole TTL to arrive; unchecked enters all the same"},
		{"scripts", []string{"fallback", "evalsha-only"}, "a script that the server does not know: fallback sends its source, evalsha-only fails"},
	}
	return withOptions(options, uuidLuaWith)
}

func uuidLuaWith(v Values) Spec {
	var known expectations
	release := compareAndDelete
	if v["release"] == "idempotent" {
		release = compareAndDeleteOnce
	}
	meta := Meta{
		Name:       "uuid-lua",
		Summary:    "SET <uuid> NX with a TTL every 100 ms; release by compare-and-delete in Lua",
		Source:     "S0 ④; S1 V5; S4.4",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), runs(release), nil),
		Weaknesses: known.outlived().forgotten().onOneServer(traits{expires: true}),
	}
	return Spec{Meta: meta, Open: func() Maker {
		var script runner = redis.NewScript(release)
		if v["scripts"] == "evalsha-only" {
			script = &loadedOnce{Script: redis.NewScript(release)}
		}
		return func(c Config) Lock {
			l := &uuidLuaLock{
				base: newBase(c, meta), release: script, idempotent: v["release"] == "idempotent",
				ownToken: v["retry"] == "own-token", checked: v["elapsed"] == "checked",
			}
			l.retries = v["retry"] != "none"
			return l
		}
	}}
}

type uuidLuaLock struct {
	base
	release                       runner
	idempotent, ownToken, checked bool
	token                         string // of the last Acquire
}

func (l *uuidLuaLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	g := Grant{Token: l.token, Validity: l.ttl}
	var start time.Time
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		start = l.Clock.Now()
		ok, doubtful, err := l.setNXAgain(ctx, l.token)
		if err == nil && !ok && doubtful && l.ownToken {
			return l.own(ctx)
		}
		return ok, err
	})
	if err == nil && l.checked && l.Clock.Now().Sub(start) >= l.ttl {
		return g, l.late(context.WithoutCancel(ctx))
	}
	return g, err
}

// own reports whether the key has the lock's own token: then a try without an answer took
// the lock, no earlier than the attempt began.
func (l *uuidLuaLock) own(ctx context.Context) (bool, error) {
	var value string
	_, err := l.resend(ctx, NotExecuted, func(ctx context.Context) (err error) {
		value, err = l.node.Get(ctx, l.Name).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err // whatever it proves of GET: the SET before it is in doubt
	}
	return err == nil && value == l.token, nil
}

// errLate is why a grant that took its whole TTL to arrive is given back.
var errLate = errors.New("the grant came after its TTL had passed")

// late gives back a lock whose lease is over, and answers that it was not acquired, where
// that is certain.
func (l *uuidLuaLock) late(ctx context.Context) error {
	doubt := l.doubt
	err := l.Release(ctx)
	l.doubt = doubt
	if err == nil || errors.Is(err, ErrNotHeld) {
		return l.settled(gaveUp(errLate))
	}
	return fmt.Errorf("%w, and giving it back failed: %v", errLate, err)
}

// noted is how long the note of a released token stays: longer than the tries of one
// release take.
const noted = time.Minute

func (l *uuidLuaLock) Release(ctx context.Context) error {
	if !l.idempotent {
		return uncaught(l.free(ctx, func(ctx context.Context) *redis.Cmd { return l.script(ctx, l.release, l.token) }))
	}
	keys := []string{l.Name, l.Name + ":released:" + l.token}
	return uncaught(l.freeOnce(ctx, func(ctx context.Context) *redis.Cmd {
		return l.release.Run(ctx, l.node, keys, l.token, milliseconds(noted))
	}))
}
