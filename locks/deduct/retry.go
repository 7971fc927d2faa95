package deduct

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// retryOption is the decision of what becomes of a write without an answer.
func retryOption(how string) locks.Option {
	return locks.Option{
		Name:    "retry",
		Values:  []string{"none", "blind"},
		Summary: "a write without an answer: none fails with it; blind " + how + ", up to three times, whether it was done or not",
	}
}

// withOptions is the spec of a deduction with options, which build makes from their values.
func withOptions(options []locks.Option, build func(locks.Values) Spec) Spec {
	s := build(locks.Defaults(options))
	s.Options, s.With = options, build
	return s
}

// again makes tries while they get no answer, where the deduction retries, and settles
// what came of them: where an earlier try may have been done, only what the last one wrote
// is certain, and nothing is certainly not done.
func (b base) again(ctx context.Context, try func(context.Context) (Result, error)) (result Result, err error) {
	if !b.retries {
		return try(ctx)
	}
	tries, brokenOff := 0, error(nil)
	certain := func(err error) bool { return errors.Is(err, ErrNotDone) }
	unknown, err := locks.Resend(ctx, b.Sleep, certain, func(ctx context.Context) error {
		result, err = try(ctx)
		tries += result.Tries
		if errors.Is(err, errBrokenOff) {
			brokenOff = err
			return nil // no matter of the server's: that is not tried again
		}
		return err
	})
	result.Tries = tries
	if brokenOff != nil {
		err = brokenOff
	}
	switch {
	case unknown == nil || (err == nil && result.Left != nil):
		return result, err
	case err == nil:
		err = errors.New("insufficient")
	}
	return insufficient(tries), fmt.Errorf("a try without an answer may have been done: %w (then: %v)", unknown, err)
}

// calls is the step that runs a script.
func calls(s *redis.Script) []locks.Command {
	return []locks.Command{{Name: "EVALSHA", Script: s.Hash()}}
}

// sends is the step that is one plain command.
func sends(command string) []locks.Command { return []locks.Command{{Name: command}} }

// steps is a deduction's map of its steps; nil: it has no such step on the wire.
func steps(read, write []locks.Command) map[locks.Step][]locks.Command {
	all := map[locks.Step][]locks.Command{locks.StepStockWrite: write}
	if read != nil {
		all[locks.StepStockRead] = read
	}
	return all
}
