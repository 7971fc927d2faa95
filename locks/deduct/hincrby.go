package deduct

import (
	"context"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// hincrby is S2's stock check "after": HINCRBY -1 first, then a look at what it answers.
// Below zero the unit is refused; the level stays below zero, as in the source. With
// retry=blind an HINCRBY without an answer is sent again.
func hincrby() Spec {
	return withOptions([]locks.Option{retryOption("sends it again")}, hincrbyWith)
}

func hincrbyWith(v locks.Values) Spec {
	decr, retries := script(hincrbyLua), v["retry"] == "blind"
	s := Spec{
		Name:    "hincrby",
		Summary: "think, HINCRBY -1, sold unless less than zero is left",
		Source:  "S2, after",
		Form:    Hash,
		Steps:   steps(nil, calls(decr)),
		Open: func() Maker {
			return func(c Config) Deduction { return &hincrbyDeduction{base{c, retries}, decr} }
		},
	}
	if retries {
		s.Expect = twice()
	}
	return s
}

type hincrbyDeduction struct {
	base
	decr *redis.Script
}

func (d *hincrbyDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	return d.again(ctx, func(ctx context.Context) (Result, error) {
		left, err := d.write(ctx, d.decr, []string{d.Keys.hash(d.SKU), d.Keys.Ledger()}, r).Int64()
		if err != nil {
			return insufficient(1), unwritten(err)
		}
		return Result{Left: &left, Sold: left >= 0, Tries: 1}, nil
	})
}
