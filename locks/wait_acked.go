package locks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// waitAcked is uuid-lua that counts as granted only when enough replicas have
// acknowledged it (WAIT, on the connection of the SET). With fewer it gives the lock back
// and tries again. It narrows the gap of asynchronous replication (S0, S1 4.2) and does
// not close it: WAIT does not bind the election.
func waitAcked() Spec {
	options := []Option{
		{"acks", []string{"1", "2"}, "how many replicas must acknowledge the lock"},
		{"checked", []string{"yes", "no"}, "whether WAIT's answer is looked at; no: the lock counts as granted whatever it is"},
	}
	with := func(v Values) Spec {
		acks, _ := strconv.Atoi(v["acks"]) // one of the values above
		meta := Meta{
			Name:       "wait-acked",
			Summary:    "SET <uuid> NX PX every 100 ms, then WAIT up to TTL/10 for replicas; given back if too few answered",
			Source:     "S1 4.2 (the failure that it is to mend); redis.io, WAIT",
			Topologies: []string{"failover"},
			TTL:        3 * time.Second,
			Promises:   lockPromises(),
			Weaknesses: waitWeaknesses(),
			Steps:      steps(sends("SET"), runs(compareAndDelete), map[Step][]Command{StepAck: sends("WAIT")}),
		}
		return Spec{Meta: meta, Open: func() Maker {
			release := redis.NewScript(compareAndDelete)
			return func(c Config) Lock {
				return &waitLock{base: newBase(c, meta), release: release, acks: acks, unchecked: v["checked"] == "no"}
			}
		}}
	}
	return withOptions(options, with)
}

// waitWeaknesses are the same for all variants: what differs between them is which
// replica is promoted, which a random fault leaves to luck.
func waitWeaknesses() expectations {
	var known expectations
	return known.outlived().forgotten().
		may(partitionReplica, "too few replicas can acknowledge, and the lock is refused until they are back", liveness).
		onOneServer(traits{expires: true})
}

type waitLock struct {
	base
	release   *redis.Script
	acks      int
	unchecked bool
	token     string // of the last Acquire
}

// pinner is a client that can keep to one connection.
type pinner interface{ Conn() *redis.Conn }

// errNoPin: WAIT counts what its own connection wrote, so it needs one to itself.
var errNoPin = errors.New("the client cannot keep to one connection")

func (l *waitLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	g := Grant{Token: l.token, Validity: l.ttl}
	client, ok := l.node.(pinner)
	if !ok {
		return g, unacquired(true, errNoPin)
	}
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		conn := client.Conn()
		defer conn.Close() // which only gives the connection back
		return l.try(ctx, conn)
	})
	return g, err
}

// try takes the lock and waits for the replicas, or gives it back.
func (l *waitLock) try(ctx context.Context, conn *redis.Conn) (bool, error) {
	set := redis.NewBoolCmd(ctx, "set", l.Name, l.token, "nx", "px", milliseconds(l.ttl))
	_ = conn.Process(ctx, set) // the error stays in the command
	if ok, err := set.Result(); err != nil {
		return false, unacquired(NotExecuted(err), err)
	} else if !ok {
		return false, nil
	}
	acked, err := l.wait(ctx, conn)
	switch {
	case err != nil:
		return false, l.giveUp(ctx, err)
	case acked >= int64(l.acks) || l.unchecked:
		return true, nil
	}
	// On the same connection, the server that took it answers.
	if err := l.release.Run(ctx, conn, []string{l.Name}, l.token).Err(); err != nil {
		return false, fmt.Errorf("give the lock back after %d of %d acknowledgements: %w", acked, l.acks, err)
	}
	return false, nil
}

// giveUp gives the lock back after a WAIT that failed, and its connection with it. On
// another one another server may answer, so only a key that was there and was deleted
// proves something.
func (l *waitLock) giveUp(ctx context.Context, err error) error {
	err = fmt.Errorf("wait for replicas: %w", err)
	n, freeing := l.release.Run(ctx, l.node, []string{l.Name}, l.token).Int64()
	if freeing != nil {
		return errors.Join(err, fmt.Errorf("give the lock back: %w", freeing))
	}
	return unacquired(n == 1, err)
}

// wait asks the server to block for up to TTL/10, and waits twice as long for its answer.
func (l *waitLock) wait(ctx context.Context, conn *redis.Conn) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/5)
	defer cancel()
	return conn.Wait(ctx, l.acks, l.ttl/10).Result()
}

func (l *waitLock) Release(ctx context.Context) error {
	return l.compareAndFree(ctx, l.release, l.token)
}
