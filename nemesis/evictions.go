package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// evictions listens to a node that announces which keys it evicts.
type evictions struct {
	client *redis.Client
	sub    *redis.PubSub
	since  int64 // ns: before the last look was begun
}

// listen begins to listen; when it returns nothing more is missed.
func listen(ctx context.Context, n topology.Node) (*evictions, error) {
	e := &evictions{client: dial(n), since: now()}
	e.sub = e.client.Subscribe(ctx, "__keyevent@0__:evicted")
	if _, err := e.sub.Receive(ctx); err != nil {
		e.close()
		return nil, fmt.Errorf("listen to evictions at %s: %w", n.Name(), err)
	}
	return e, nil
}

// look tells which keys were evicted between since (ns) and now, and leaves none out: the
// answer to a PING comes after all that was announced before it.
func (e *evictions) look(ctx context.Context) (keys []string, since int64, err error) {
	since, e.since = e.since, now()
	if err := e.sub.Ping(ctx); err != nil {
		return nil, since, err
	}
	for {
		m, err := e.sub.ReceiveTimeout(ctx, answerTimeout)
		if err != nil {
			return keys, since, fmt.Errorf("listen to evictions: %w", err)
		}
		switch m := m.(type) {
		case *redis.Pong:
			return keys, since, nil
		case *redis.Message:
			keys = append(keys, m.Payload)
		}
	}
}

// evictedKeys remembers which keys of which hold were evicted while it lasted.
type evictedKeys struct {
	of   func(Holding) []string // the keys of a hold
	gone map[Holding][]string
}

// add takes what was evicted since then (ns), and who holds afterwards: who was granted the
// lock before and has not given it back. It finds a hold all of whose keys were evicted.
func (e *evictedKeys) add(holders []Holding, keys []string, since int64) (h Holding, all []string, found bool) {
	before := e.gone
	e.gone = map[Holding][]string{}
	for _, h := range holders {
		all := e.of(h)
		gone := before[h]
		for _, key := range all {
			if h.Since <= since && slices.Contains(keys, key) && !slices.Contains(gone, key) {
				gone = append(gone, key)
			}
		}
		if len(all) > 0 && len(gone) == len(all) {
			return h, all, true
		}
		e.gone[h] = gone
	}
	return Holding{}, nil, false
}

// close ends the listening: nobody wants to know more.
func (e *evictions) close() { _ = errors.Join(e.sub.Close(), e.client.Close()) }
