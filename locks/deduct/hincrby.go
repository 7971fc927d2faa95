package deduct

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// hincrby is S2's stock check "after": HINCRBY -1 first, then a look at what it answers.
// Below zero the unit is refused; the level stays below zero, as in the source.
func hincrby() Spec {
	return Spec{
		Name:    "hincrby",
		Summary: "think, HINCRBY -1, sold unless less than zero is left",
		Source:  "S2, after",
		Form:    Hash,
		Open: func() Maker {
			decr := script(hincrbyLua)
			return func(c Config) Deduction { return &hincrbyDeduction{base{c}, decr} }
		},
	}
}

type hincrbyDeduction struct {
	base
	decr *redis.Script
}

func (d *hincrbyDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	left, err := d.write(ctx, d.decr, []string{hashKey(d.SKU), Ledger}, r).Int64()
	if err != nil {
		return insufficient(1), unwritten(err)
	}
	return Result{Left: &left, Sold: left >= 0, Tries: 1}, nil
}
