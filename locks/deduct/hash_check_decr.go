package deduct

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// hashCheckDecr is S2's stock check "before": HGET, check, HINCRBY -1. The write is
// relative, so nothing is lost, but the check is stale by then and the source never looks at
// what HINCRBY answers: whoever passed the check has sold, even below zero.
func hashCheckDecr() Spec {
	decr := script(hincrbyLua)
	return Spec{
		Name:       "hash-check-decr",
		Summary:    "HGET, check, think, HINCRBY -1, result not looked at",
		Source:     "S2, before",
		Form:       Hash,
		NeedsLock:  true,
		Weaknesses: []string{"two clients that pass the check on the last unit both sell it: the level goes below zero"},
		Expect:     late("no-oversell"),
		Steps:      steps(sends("HGET"), calls(decr)),
		Open: func() Maker {
			return func(c Config) Deduction { return &hashCheckDecrDeduction{base{Config: c}, decr} }
		},
	}
}

type hashCheckDecrDeduction struct {
	base
	decr *redis.Script
}

// errNoStock is the null pointer exception of S2's code on a hash without stock.
var errNoStock = errors.New("there is no such stock")

func (d *hashCheckDecrDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	key := d.Keys.hash(d.SKU)
	level, ok, err := read(d.Stock.HGet(ctx, key, stockField).Result())
	if err == nil && !ok {
		err = notDone(errNoStock)
	}
	if err != nil || level <= 0 {
		return insufficient(1), err
	}
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	left, err := d.write(ctx, d.decr, []string{key, d.Keys.Ledger()}, r).Int64()
	if err != nil {
		return insufficient(1), unwritten(err)
	}
	return Result{Left: &left, Sold: true, Tries: 1}, nil
}
