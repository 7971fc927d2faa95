package locks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// pubsub waits as Redisson's lock does (which S1 3.7 and S4.5 name): a waiter subscribes
// to the lock's channel and sleeps until the release's message wakes it, or until the
// holder's TTL is over by the server's last word. Without that second reason to wake, one
// lost message lets it sleep beside a free lock.
func pubsub() Spec {
	options := []Option{{"poll", []string{"yes", "no"},
		"whether a waiter tries again when the holder's TTL is over, too; no: only a message wakes it"}}
	with := func(v Values) Spec {
		polls := v["poll"] == "yes"
		meta := Meta{
			Name:       "pubsub",
			Summary:    "uuid-lua whose release publishes, and whose waiters sleep until the message or the holder's TTL",
			Source:     "S4.5, S1 3.7 (Redisson)",
			Topologies: onePrimary(),
			TTL:        30 * time.Second, // Redisson's
			Promises:   lockPromises(),
			Weaknesses: pubsubWeaknesses(polls),
			Steps:      steps(runs(pubsubAcquire), runs(pubsubRelease), map[Step][]Command{StepWake: sends("MESSAGE")}),
		}
		return Spec{Meta: meta, Open: func() Maker {
			acquire, release := redis.NewScript(pubsubAcquire), redis.NewScript(pubsubRelease)
			return func(c Config) Lock {
				return &pubsubLock{base: newBase(c, meta), acquire: acquire, release: release, polls: polls, channel: c.Name + ":unlock"}
			}
		}}
	}
	return withOptions(options, with)
}

func pubsubWeaknesses(polls bool) expectations {
	var known expectations
	known = known.outlived().forgotten()
	if !polls {
		const why = "a lock that ends without a message, or whose message is lost, wakes nobody"
		for _, fault := range slices.Concat(unanswered(), operator(), []string{
			killClient, pauseClient, hangWorker, pauseNode, killNode, restartEmpty, clockNode, partitionReplica,
		}) {
			known = known.may(fault, why, liveness)
		}
	}
	return known.onOneServer(traits{expires: true})
}

type pubsubLock struct {
	base
	acquire, release *redis.Script
	polls            bool
	channel          string
	token            string // of the last Acquire
}

// Acquire tries, and if the lock is taken subscribes and tries again with each awakening.
// The first awakening is the subscription's confirmation: a message before it was missed.
func (l *pubsubLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	g := Grant{Token: l.token, Validity: l.ttl}
	if err := ctx.Err(); err != nil {
		return g, gaveUp(err)
	}
	rest, ok, err := l.try(ctx)
	if ok || err != nil {
		return g, err
	}
	s := l.subscribe(ctx)
	defer s.close()
	for {
		if !l.polls {
			rest = -1
		}
		if err := s.wait(ctx, l.Clock, rest); err != nil {
			return g, gaveUp(err)
		}
		if rest, ok, err = l.try(ctx); ok || err != nil {
			return g, err
		}
	}
}

// try makes one attempt. When it is refused, rest is how long the holder's TTL lasts yet;
// negative: without an end.
func (l *pubsubLock) try(ctx context.Context) (rest time.Duration, ok bool, err error) {
	ok, err = l.attempt(ctx, func(ctx context.Context) (bool, error) {
		cmd := l.acquire.Run(ctx, l.node, []string{l.Name}, l.token, milliseconds(l.ttl))
		answer, err := cmd.Int64Slice()
		switch {
		case err != nil:
			return false, unacquired(ScriptNotExecuted(err), err)
		case len(answer) != 2:
			return false, fmt.Errorf("answer %v of the script that takes the lock", answer)
		}
		rest = time.Duration(answer[1]) * time.Millisecond
		return answer[0] == 1, nil
	})
	return rest, ok, err
}

func (l *pubsubLock) Release(ctx context.Context) error {
	return uncaught(l.free(ctx, func(ctx context.Context) *redis.Cmd {
		return l.release.Run(ctx, l.node, []string{l.Name, l.channel}, l.token)
	}))
}

// subscription wakes one waiter. It has a connection and a goroutine of its own until it
// is closed.
type subscription struct {
	pubsub *redis.PubSub
	woken  chan struct{} // holds one awakening
	done   chan struct{} // closed when no more comes
	err    error         // why; read after done
}

func (l *pubsubLock) subscribe(ctx context.Context) *subscription {
	ctx = context.WithoutCancel(ctx) // close ends it
	s := &subscription{pubsub: l.node.Subscribe(ctx, l.channel), woken: make(chan struct{}, 1), done: make(chan struct{})}
	go s.listen(ctx)
	return s
}

// listen takes every word of the server for a reason to wake: a message, or the
// confirmation of the subscription. A broken connection ends it: go-redis would connect
// again and keep silent about what was missed.
func (s *subscription) listen(ctx context.Context) {
	defer close(s.done)
	for {
		if _, err := s.pubsub.Receive(ctx); err != nil {
			s.err = fmt.Errorf("listen for the unlock message: %w", err)
			return
		}
		select {
		case s.woken <- struct{}{}:
		default: // an awakening is due already
		}
	}
}

// wait sleeps until the server wakes it, or rest is over (negative: never). It returns an
// error when ctx ends or the subscription breaks.
func (s *subscription) wait(ctx context.Context, clock Clock, rest time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slept := make(chan error, 1)
	if rest >= 0 {
		go func() { slept <- clock.Sleep(ctx, rest) }()
	}
	select {
	case <-s.woken:
		return ctx.Err()
	case <-s.done:
		return s.err
	case err := <-slept:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *subscription) close() {
	_ = s.pubsub.Close() // it may be broken already
	<-s.done
}
