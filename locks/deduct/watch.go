package deduct

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// watch is S0's optimistic lock: WATCH, GET, check, MULTI, SET, EXEC, and after an EXEC
// that aborted a pause of 50 ms and all of it again, in a loop on the same connection. With
// retry=blind an EXEC without an answer is made up for by all of it on another connection.
func watch() Spec {
	return withOptions([]locks.Option{retryOption("begins anew with WATCH on another connection")}, watchWith)
}

func watchWith(v locks.Values) Spec {
	retries := v["retry"] == "blind"
	s := Spec{
		Name:       "watch",
		Summary:    "WATCH, GET, check, think, MULTI SET EXEC; after an abort again in 50 ms, in a loop",
		Source:     "S0 【1】 (as a loop)",
		Form:       String,
		Weaknesses: []string{"under contention a client may abort again and again and starve"},
		Steps:      steps(sends("GET"), sends("EXEC")),
		Open: func() Maker {
			return func(c Config) Deduction { return &watchDeduction{watched{base{c, retries}}} }
		},
	}
	if retries {
		s.Expect = twice()
	}
	return s
}

// watchPause is the seed's sleep after an abort.
const watchPause = 50 * time.Millisecond

type watchDeduction struct{ watched }

func (d *watchDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	return d.again(ctx, func(ctx context.Context) (Result, error) { return d.loop(ctx, r) })
}

func (d *watchDeduction) loop(ctx context.Context, r Request) (result Result, err error) {
	err = d.Stock.Watch(ctx, func(tx *redis.Tx) error {
		for tries := 1; ; tries++ {
			var aborted bool
			result, aborted, err = d.try(ctx, tx, r)
			result.Tries = tries
			if err != nil || !aborted {
				return err
			}
			if err := d.pause(ctx); err != nil {
				return err
			}
		}
	})
	return result, err
}

// watched is one optimistic try, which both ways to repeat it share.
type watched struct{ base }

// try makes one try on tx's connection. An aborted one changed nothing.
func (d *watched) try(ctx context.Context, tx *redis.Tx, r Request) (result Result, aborted bool, err error) {
	key := d.Keys.text(d.SKU)
	if err := tx.Watch(ctx, key).Err(); err != nil {
		return insufficient(1), false, notDone(err)
	}
	basis, ok, err := read(tx.Get(ctx, key).Result())
	if err != nil || !ok || basis <= 0 {
		return insufficient(1), false, err
	}
	if err := think(ctx, r); err != nil {
		return insufficient(1), false, err
	}
	if err := ctx.Err(); err != nil {
		return insufficient(1), false, notDone(err)
	}
	left := basis - 1
	ctx = context.WithoutCancel(ctx) // see base.write
	_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
		// EVAL and not EVALSHA: within MULTI there is no falling back on NOSCRIPT.
		p.Eval(ctx, source(setLua), []string{key, d.Keys.Ledger()}, d.args(r, basis, left)...)
		return nil
	})
	switch {
	case errors.Is(err, redis.TxFailedErr):
		return insufficient(1), true, nil
	case err != nil && locks.TransactionNotExecuted(err):
		return insufficient(1), false, notDone(err)
	case err != nil:
		return insufficient(1), false, err
	}
	return Result{Basis: &basis, Left: &left, Sold: true, Tries: 1}, false, nil
}

func (d *watched) pause(ctx context.Context) error {
	if err := d.Sleep(ctx, watchPause); err != nil {
		return notDone(err)
	}
	return nil
}
