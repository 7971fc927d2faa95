package deduct

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// lua checks and decrements in one script, which nothing can come between.
func lua() Spec {
	return Spec{
		Name:    "lua",
		Summary: "think, then check and decrement in one script",
		Source:  "S0 (Lua makes several commands one step); S2 names it as the other way",
		Form:    String,
		Open: func() Maker {
			decr := script(checkDecrLua)
			return func(c Config) Deduction { return &luaDeduction{base{c}, decr} }
		},
	}
}

type luaDeduction struct {
	base
	decr *redis.Script
}

func (d *luaDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	left, err := d.write(ctx, d.decr, []string{stringKey(d.SKU), Ledger}, r).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return insufficient(1), nil
	case err != nil:
		return insufficient(1), unwritten(err)
	}
	return Result{Left: &left, Sold: true, Tries: 1}, nil
}
