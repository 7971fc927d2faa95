package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// flush empties nodes while somebody holds a lock: FLUSHALL by an operator who took them
// for a cache.
func flush() Kind {
	return Kind{
		Name:     "flush",
		Summary:  "FLUSHALL while a client holds a lock",
		Needs:    Needs{Servers: true},
		Targets:  []string{Primaries, One, RandomSubset, Minority, Majority},
		Triggers: true,
		Lasts:    momentary,
		New: func(w World, p Planned) Fault {
			return &keyLoss{world: w, plan: p, lose: flushAll}
		},
	}
}

// flushAll empties the node if one of the keys is there, in one step: when they change
// between the look and the flush, nothing is flushed.
func flushAll(ctx context.Context, n topology.Node, keys []string) (seen string, lost bool, err error) {
	c := dial(n)
	defer func() { _ = c.Close() }() // the answers are there
	err = c.Watch(ctx, func(tx *redis.Tx) error {
		there, err := tx.Exists(ctx, keys...).Result()
		if err != nil || there == 0 {
			return err
		}
		var before, after, left *redis.IntCmd
		_, err = tx.TxPipelined(ctx, func(all redis.Pipeliner) error {
			before = all.DBSize(ctx)
			all.FlushAll(ctx)
			after, left = all.DBSize(ctx), all.Exists(ctx, keys...)
			return nil
		})
		if err != nil {
			return err
		}
		lost = left.Val() == 0
		seen = fmt.Sprintf("FLUSHALL at %s left %d of %d keys; EXISTS %s answered %d before it and %d after",
			n.Name(), after.Val(), before.Val(), strings.Join(keys, " "), there, left.Val())
		return nil
	}, keys...)
	if errors.Is(err, redis.TxFailedErr) {
		return "", false, nil
	}
	return seen, lost, err
}
