package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the locks with a retry option share: a command without an answer is sent again,
// without a thought of whether the server executed it, as client libraries do.

// Resends is how often a command without an answer is sent again: go-redis' MaxRetries.
const Resends = 3

// resendPause is what go-redis waits before it sends a command again for the first time
// (MinRetryBackoff, which doubles from time to time).
const resendPause = 8 * time.Millisecond

// Resend calls send until it gets an answer, once more Resends times at most. unknown is
// the first error of a call before the last that proves nothing (by the proof that
// certain knows of): that call may have taken effect. err is the last call's.
func Resend(ctx context.Context, sleep func(context.Context, time.Duration) error, certain func(error) bool, send func(context.Context) error) (unknown, err error) {
	err = send(ctx)
	for n, pause := 0, resendPause; n < Resends && !Answered(err); n, pause = n+1, 2*pause {
		if sleep(ctx, pause) != nil {
			break
		}
		if unknown == nil && !certain(err) {
			unknown = err
		}
		err = send(ctx)
	}
	return unknown, err
}

// resend sends a command: once, or for a lock that retries until it is answered. doubtful
// says that a try before the last may have taken effect; the first such error of a call
// is kept in b.doubt.
func (b *base) resend(ctx context.Context, certain func(error) bool, send func(context.Context) error) (doubtful bool, err error) {
	if !b.retries {
		return false, send(ctx)
	}
	unknown, err := Resend(ctx, b.Clock.Sleep, certain, send)
	if b.doubt == nil {
		b.doubt = unknown
	}
	return unknown != nil, err
}

// settled is the truth of a call that ended with err: where an earlier try may have taken
// effect, no answer to a later one proves that the call did nothing. The source's code
// follows the last answer; what it is told of a release is ErrToldNotHeld.
func (b *base) settled(err error) error {
	if err == nil || b.doubt == nil {
		return err
	}
	if errors.Is(err, ErrNotHeld) {
		return fmt.Errorf("%w, but a try without an answer may have freed it: %w", ErrToldNotHeld, b.doubt)
	}
	return fmt.Errorf("a try without an answer may have taken effect: %w (then: %v)", b.doubt, err)
}

// errNotLoaded: a script that is called by its hash alone could not be loaded, so it was
// not called.
var errNotLoaded = errors.New("script not loaded")

// runner runs a script; *redis.Script falls back to EVAL where EVALSHA finds none.
type runner interface {
	Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd
}

// loadedOnce is a script that a client process loads at its first use and from then on
// calls by EVALSHA alone, as if no server ever forgot one.
type loadedOnce struct {
	*redis.Script
	mu     sync.Mutex
	loaded bool
}

func (s *loadedOnce) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	if err := s.load(ctx, c); err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(fmt.Errorf("%w: %w", errNotLoaded, err))
		return cmd
	}
	return s.EvalSha(ctx, c, keys, args...)
}

func (s *loadedOnce) load(ctx context.Context, c redis.Scripter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded {
		return nil
	}
	err := s.Load(ctx, c).Err()
	s.loaded = err == nil
	return err
}
