package deduct

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// base is what the deductions have in common.
type base struct {
	Config
	retries bool // writes without an answer are sent again. See again.
}

// read understands the reply of a read: a level; ok is false where there is none. A failed
// read wrote nothing.
func read(text string, err error) (level int64, ok bool, _ error) {
	if errors.Is(err, redis.Nil) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, notDone(err)
	}
	level, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false, notDone(err)
	}
	return level, true, nil
}

// think lets the business take its time. Nothing is written when it is broken off.
func think(ctx context.Context, r Request) error {
	if r.Think == nil {
		return nil
	}
	if err := r.Think(ctx); err != nil {
		return notDone(fmt.Errorf("%w: %w", errBrokenOff, err))
	}
	return nil
}

// errBrokenOff: the business did not want to go on.
var errBrokenOff = errors.New("broken off")

// write runs a script that writes to the stock. A write under way is not cut short when
// ctx ends, since that would turn an answer that is about to come into an unknown one; the
// client's own timeouts bound it. args follow sku, operation and fence.
func (b base) write(ctx context.Context, s *redis.Script, keys []string, r Request, args ...any) *redis.Cmd {
	if err := ctx.Err(); err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(notDone(err))
		return cmd
	}
	return s.Run(context.WithoutCancel(ctx), b.Stock, keys, b.args(r, args...)...)
}

func (b base) args(r Request, more ...any) []any {
	return append([]any{b.SKU, r.ID, r.Fence}, more...)
}

// unwritten says what an error of write proves.
func unwritten(err error) error {
	if err == nil || errors.Is(err, ErrNotDone) || !locks.ScriptNotExecuted(err) {
		return err
	}
	return notDone(err)
}

func notDone(err error) error {
	return fmt.Errorf("%w: %w", ErrNotDone, err)
}

// insufficient is the answer of a deduction that found no unit and wrote nothing.
func insufficient(tries int) Result { return Result{Tries: tries} }
