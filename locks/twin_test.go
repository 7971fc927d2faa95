package locks_test

import (
	"context"
	"sync"
	"time"
)

// roomy is a TTL in which no node is ever too slow, however busy the machine is.
const roomy = 10 * time.Minute

// twin is a wall clock and a monotonic one, which a test moves by hand. Sleeping moves
// both, at once.
type twin struct {
	mu     sync.Mutex
	wall   time.Time
	mono   time.Duration
	sleeps []time.Duration
	asleep func() // called by each sleep; nil: nothing
}

func newTwin() *twin { return &twin{wall: time.Unix(1_000_000, 0)} }

func (c *twin) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

func (c *twin) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

func (c *twin) Sleep(ctx context.Context, d time.Duration) error {
	c.pass(d, 0)
	c.mu.Lock()
	c.sleeps = append(c.sleeps, d)
	asleep := c.asleep
	c.mu.Unlock()
	if asleep != nil {
		asleep()
	}
	return ctx.Err()
}

// pass lets time go by, in which the wall clock steps, too.
func (c *twin) pass(d, step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono += d
	c.wall = c.wall.Add(d + step)
}
