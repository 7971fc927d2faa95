package deduct

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// watchRecursive is S0's optimistic lock as printed: after an abort the method calls itself
// from within its own callback, which still holds its connection. Each nesting takes one
// more from the pool, until the pool is empty and the innermost call throws.
func watchRecursive() Spec {
	return Spec{
		Name:    "watch-recursive",
		Summary: "watch, but repeated by recursion: each retry nests and takes one more connection",
		Source:  "S0 【1】 (as printed)",
		Form:    String,
		Weaknesses: []string{
			"under contention a client may abort again and again and starve",
			"retries nest: they use up stack and the connection pool",
		},
		Steps: steps(sends("GET"), sends("EXEC")),
		Open: func() Maker {
			return func(c Config) Deduction { return &watchRecursiveDeduction{watched{base{Config: c}}} }
		},
	}
}

type watchRecursiveDeduction struct{ watched }

func (d *watchRecursiveDeduction) Deduct(ctx context.Context, r Request) (result Result, err error) {
	// Where the pool has no connection left, this fails before its WATCH was sent.
	err = d.Stock.Watch(ctx, func(tx *redis.Tx) error {
		var aborted bool
		result, aborted, err = d.try(ctx, tx, r)
		if err != nil || !aborted {
			return err
		}
		if err := d.pause(ctx); err != nil {
			return err
		}
		result, err = d.Deduct(ctx, r)
		result.Tries++
		return err
	})
	return result, err
}
