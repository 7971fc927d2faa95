package topology

import (
	"context"
	"fmt"
	"time"
)

// closeTimeout bounds the end of a cluster, per step that waits for an engine or a process.
const closeTimeout = 30 * time.Second

// turn lets one operation at a time work on a node, and ends the one that works when the
// cluster is closed: Close must not wait for a start that waits for a server.
type turn struct {
	slot chan struct{}   // holds one token while an operation works
	life context.Context // ends when the cluster is closed
}

func newTurn(life context.Context) turn { return turn{make(chan struct{}, 1), life} }

// take waits for the turn. The context that it returns ends with ctx or with the cluster.
func (t turn) take(ctx context.Context) (context.Context, func(), error) {
	if t.life.Err() != nil {
		return nil, nil, ErrClosed
	}
	select {
	case t.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("wait for another operation on the node: %w", ctx.Err())
	case <-t.life.Done():
		return nil, nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil); <-t.slot }, nil
}

// hold does something in a turn of its own; an error begins with what was to be done.
func (t turn) hold(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, release, err := t.take(ctx)
	if err == nil {
		defer release()
		err = do(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// last takes the turn for the end of the node, after life has ended.
func (t turn) last(ctx context.Context) (release func(), err error) {
	select {
	case t.slot <- struct{}{}:
		return func() { <-t.slot }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for an operation on the node to end: %w", ctx.Err())
	}
}

// toEnd is the context of a clean-up: it survives the caller's, but not for ever.
func toEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
}

// poll asks until done is true or an error, every few milliseconds, until ctx ends.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
