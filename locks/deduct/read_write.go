package deduct

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// readWrite is S0's deduct(): GET, check, SET of the level less one. What another client
// wrote in between is overwritten.
func readWrite() Spec {
	set := script(setLua)
	return Spec{
		Name:      "read-write",
		Summary:   "GET, check, think, SET the level less one",
		Source:    "S0; S1",
		Form:      String,
		NeedsLock: true,
		Blind:     true,
		Expect:    late("no-lost-update", "linearizable-stock", "no-oversell"),
		Steps:     steps(sends("GET"), calls(set)),
		Open: func() Maker {
			return func(c Config) Deduction { return &readWriteDeduction{base{Config: c}, set} }
		},
	}
}

type readWriteDeduction struct {
	base
	set *redis.Script
}

func (d *readWriteDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	key := d.Keys.text(d.SKU)
	basis, ok, err := read(d.Stock.Get(ctx, key).Result())
	if err != nil || !ok || basis <= 0 {
		return insufficient(1), err
	}
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	left := basis - 1
	if err := d.write(ctx, d.set, []string{key, d.Keys.Ledger()}, r, basis, left).Err(); err != nil {
		return insufficient(1), unwritten(err)
	}
	return Result{Basis: &basis, Left: &left, Sold: true, Tries: 1}, nil
}
