package deduct_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

// counter is one SKU on a server, ready to be sold by several handles.
type counter struct {
	t      *testing.T
	spec   deduct.Spec
	server *redistest.Server
	client *redis.Client
	sku    string
	units  int64
	maker  deduct.Maker // of the one client process that shop's handles belong to

	mu     sync.Mutex
	sleeps []time.Duration
	ops    int64
}

// stock lays out units of a fresh SKU for the deduction of that name.
func stock(t *testing.T, server *redistest.Server, name string, units int64, options ...func(*redis.Options)) *counter {
	t.Helper()
	spec, ok := deduct.Find(name)
	if !ok {
		t.Fatalf("no deduction %q in the registry", name)
	}
	c := &counter{t: t, spec: spec, server: server, client: server.Client(options...), sku: "sku of " + name, units: units, maker: spec.Open()}
	if err := deduct.Keys("").Prepare(t.Context(), c.client, spec.Form, []string{c.sku}, units); err != nil {
		t.Fatal(err)
	}
	return c
}

// handle is one worker's; maker nil: a worker of the one process.
func (c *counter) handle(maker deduct.Maker) deduct.Deduction {
	if maker == nil {
		maker = c.maker
	}
	return maker(deduct.Config{Stock: c.client, SKU: c.sku, Initial: c.units, Sleep: c.sleep})
}

func (c *counter) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps = append(c.sleeps, d)
	return ctx.Err()
}

// request numbers the operations from 1.
func (c *counter) request(think func(context.Context) error) deduct.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops++
	return deduct.Request{ID: c.ops, Fence: 7, Think: think}
}

func (c *counter) sell() deduct.Result {
	c.t.Helper()
	r, err := c.handle(nil).Deduct(c.t.Context(), c.request(nil))
	if err != nil {
		c.t.Fatalf("%s: %v", c.spec.Name, err)
	}
	return r
}

func (c *counter) ledger() []deduct.Entry {
	c.t.Helper()
	entries, err := deduct.Keys("").ReadLedger(c.t.Context(), c.client, 0, 1_000_000)
	if err != nil {
		c.t.Fatal(err)
	}
	return entries
}

func (c *counter) level() (int64, bool) {
	c.t.Helper()
	level, known, err := deduct.Keys("").Level(c.t.Context(), c.client, c.spec.Form, c.sku)
	if err != nil {
		c.t.Fatal(err)
	}
	return level, known
}

// together runs two deductions of which neither goes on from its think before the other
// is there too, and returns their results.
func (c *counter) together(first, second deduct.Deduction) [2]deduct.Result {
	c.t.Helper()
	var results [2]deduct.Result
	var met, done sync.WaitGroup
	met.Add(2)
	for i, d := range []deduct.Deduction{first, second} {
		var once sync.Once
		r := c.request(func(context.Context) error {
			once.Do(func() { // a retry thinks again, alone
				met.Done()
				met.Wait()
			})
			return nil
		})
		done.Go(func() {
			var err error
			if results[i], err = d.Deduct(context.Background(), r); err != nil {
				c.t.Errorf("%s: %v", c.spec.Name, err)
			}
		})
	}
	done.Wait()
	return results
}

func show(p *int64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}
