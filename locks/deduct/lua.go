package deduct

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// lua checks and decrements in one script, which nothing can come between. With
// retry=blind a script without an answer is sent again; with id=yes it remembers the
// operations that it did, and answers one that comes again as it did before.
func lua() Spec {
	return withOptions([]locks.Option{
		retryOption("sends it again"),
		{Name: "id", Values: []string{"no", "yes"}, Summary: "whether the stock remembers the ids of the operations that were done"},
	}, luaWith)
}

func luaWith(v locks.Values) Spec {
	once, retries := v["id"] == "yes", v["retry"] == "blind"
	decr := script(checkDecrLua)
	if once {
		decr = script(checkDecrOnceLua)
	}
	s := Spec{
		Name:    "lua",
		Summary: "think, then check and decrement in one script",
		Source:  "S0 (Lua makes several commands one step); S2 names it as the other way",
		Form:    String,
		Steps:   steps(nil, calls(decr)),
		Open: func() Maker {
			return func(c Config) Deduction {
				keys := []string{c.Keys.text(c.SKU), c.Keys.Ledger()}
				if once {
					keys = append(keys, c.Keys.done(c.SKU))
				}
				return &luaDeduction{base{c, retries}, decr, keys}
			}
		},
	}
	if retries && !once {
		s.Expect = twice()
	}
	return s
}

type luaDeduction struct {
	base
	decr *redis.Script
	keys []string
}

func (d *luaDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	return d.again(ctx, func(ctx context.Context) (Result, error) {
		left, err := d.write(ctx, d.decr, d.keys, r).Int64()
		switch {
		case errors.Is(err, redis.Nil):
			return insufficient(1), nil
		case err != nil:
			return insufficient(1), unwritten(err)
		}
		return Result{Left: &left, Sold: true, Tries: 1}, nil
	})
}
