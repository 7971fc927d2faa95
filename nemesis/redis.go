package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"picklock/harness/topology"
)

const (
	// answerTimeout bounds one command of the nemesis's own.
	answerTimeout = time.Second
	// watchEvery is how often a condition is looked at that a fault waits for.
	watchEvery = 5 * time.Millisecond
)

// dial opens a client of the nemesis's own to a node: one connection, nothing hidden.
func dial(n topology.Node) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: n.Addr(), PoolSize: 1, MaxRetries: -1, DialerRetries: 1, Protocol: 2, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: answerTimeout, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// ask sends one command to a node, over a connection of its own.
func ask(ctx context.Context, n topology.Node, args ...any) *redis.Cmd {
	c := dial(n)
	defer func() { _ = c.Close() }() // the answer is there
	cmd := c.Do(ctx, args...)
	if err := cmd.Err(); err != nil {
		cmd.SetErr(fmt.Errorf("%v at node %s: %w", args[0], n.Name(), err))
	}
	return cmd
}

// answers waits until the node runs and answers a PING.
func answers(ctx context.Context, n topology.Node) (proof string, err error) {
	err = watch(ctx, func() error {
		s, seen, err := n.State(ctx)
		if err == nil && s != topology.Running {
			err = fmt.Errorf("node %s is %s: %s", n.Name(), s, seen)
		}
		if err == nil {
			err = ask(ctx, n, "PING").Err()
		}
		proof = fmt.Sprintf("node %s: %s; it answers", n.Name(), seen)
		return err
	})
	return proof, err
}

// watch looks until nothing is wrong any more. When ctx ends before, the error is that
// which the last look found.
func watch(ctx context.Context, wrong func() error) error {
	var last error
	for {
		err := wrong()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			// What a look finds after the end is the end itself.
			return errors.Join(last, context.Cause(ctx))
		}
		last = err
		wait(ctx, watchEvery)
	}
}

// together does the same to all things of a list side by side, and joins what they prove
// and what goes wrong, in their order.
func together[T any](list []T, do func(T) (proof string, err error)) (string, error) {
	proofs, errs := make([]string, len(list)), make([]error, len(list))
	var all sync.WaitGroup
	for i, x := range list {
		all.Go(func() { proofs[i], errs[i] = do(x) })
	}
	all.Wait()
	return inWords(proofs), errors.Join(errs...)
}

// inWords joins proofs; empty ones say nothing.
func inWords(proofs []string) string {
	var said []string
	for _, p := range proofs {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "; ")
}
