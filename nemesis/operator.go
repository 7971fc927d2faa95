package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// sentinelTerms is how a Sentinel watches its primary: what it must be told again with a
// new one. The rest are its defaults.
type sentinelTerms struct {
	quorum string
	terms  []any // name, value, name, value ...
}

// readSentinels reads the terms of the first Sentinel that answers; all have the same.
func (w World) readSentinels(ctx context.Context) (sentinelTerms, error) {
	errs := []error{errors.New("no Sentinel tells how it watches")}
	for _, s := range w.candidates(ctx, Sentinels) {
		answer := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", topology.SentinelMaster)
		c := dial(s)
		err := errors.Join(c.Process(ctx, answer), c.Close())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name(), err))
			continue
		}
		seen := answer.Val()
		t := sentinelTerms{quorum: seen["quorum"]}
		for _, name := range []string{"down-after-milliseconds", "failover-timeout", "parallel-syncs"} {
			t.terms = append(t.terms, name, seen[name])
		}
		return t, nil
	}
	return sentinelTerms{}, errors.Join(errs...)
}

// promote does what an operator does who does not wait for the Sentinels: it makes one
// replica the primary, has the others follow it, and tells every Sentinel to watch it
// instead of the dead one. Sentinels forget the dead primary by this, so it must be told
// to follow when it comes back.
func (w World) promote(ctx context.Context, chosen topology.Node, replicas []topology.Node, t sentinelTerms) error {
	if err := ask(ctx, chosen, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return err
	}
	host, port, err := hostPort(chosen)
	if err != nil {
		return err
	}
	_, err = together(w.candidates(ctx, Sentinels), func(s topology.Node) (string, error) {
		c := dial(s)
		defer func() { _ = c.Close() }() // the answers are there
		_, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Do(ctx, "SENTINEL", "REMOVE", topology.SentinelMaster)
			pipe.Do(ctx, "SENTINEL", "MONITOR", topology.SentinelMaster, host, port, t.quorum)
			pipe.Do(ctx, append([]any{"SENTINEL", "SET", topology.SentinelMaster}, t.terms...)...)
			return nil
		})
		if err != nil {
			err = fmt.Errorf("tell %s to watch %s: %w", s.Name(), chosen.Name(), err)
		}
		return "", err
	})
	if err != nil {
		return err
	}
	_, err = together(replicas, func(n topology.Node) (string, error) {
		if n == chosen {
			return "", ask(ctx, n, "CONFIG", "REWRITE").Err()
		}
		return "", follow(ctx, n, chosen)
	})
	return err
}

// follow makes a node a replica of the primary, for its next life too, as Sentinel does.
func follow(ctx context.Context, n, primary topology.Node) error {
	host, port, err := hostPort(primary)
	if err != nil {
		return err
	}
	if err := ask(ctx, n, "REPLICAOF", host, port).Err(); err != nil {
		return err
	}
	return ask(ctx, n, "CONFIG", "REWRITE").Err()
}
