package nemesis

import (
	"context"
	"errors"
	"fmt"

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

// close ends the listening: nobody wants to know more.
func (e *evictions) close() { _ = errors.Join(e.sub.Close(), e.client.Close()) }
