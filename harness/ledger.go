package harness

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/client"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks/deduct"
)

// stockKeeper is the harness's own hand on the stock node: it lays the stock in, carries
// the ledger over into the record while the test runs, and counts what is left.
type stockKeeper struct {
	node   topology.Node
	keys   deduct.Keys
	form   deduct.Form
	skus   []string
	units  int64
	record func(history.Event)
	log    *slog.Logger

	mu   sync.Mutex
	read int64 // ledger entries carried over since the node last had none
	lost int64 // entries carried over before that
	upTo int64 // ns: what was written before is carried over
}

const ledgerBatch = 10_000

func newStockKeeper(t store.Test, node topology.Node, record func(history.Event), log *slog.Logger) *stockKeeper {
	spec, _ := deduct.Find(t.Deduct) // Plan has looked
	k := &stockKeeper{node: node, keys: deduct.Keys(t.Prefix), form: spec.Form, units: t.Stock, record: record, log: log}
	for i := range t.SKUs {
		k.skus = append(k.skus, client.SKU(i))
	}
	return k
}

// with runs f with a connection made for it: the node's address may have changed, and
// this happens a few times a second at most.
func (k *stockKeeper) with(f func(c redis.UniversalClient) error) (err error) {
	c := redis.NewClient(&redis.Options{
		Addr: k.node.Addr(), MaxRetries: -1, DialerRetries: 1, DialTimeout: 2 * time.Second,
		ReadTimeout: 5 * time.Second, ContextTimeoutEnabled: true, DisableIdentity: true, PoolSize: 1,
	})
	defer func() { _ = c.Close() }() // nothing is in flight
	return f(c)
}

// prepare lays in the stock and records its level.
func (k *stockKeeper) prepare(ctx context.Context) error {
	err := k.with(func(c redis.UniversalClient) error {
		return k.keys.Prepare(ctx, c, k.form, k.skus, k.units)
	})
	if err != nil {
		return fmt.Errorf("lay in the stock: %w", err)
	}
	for _, sku := range k.skus {
		k.record(history.Event{Time: history.Now(), Type: history.StockLevel, Object: sku, Client: -1, Stock: &history.Stock{Level: k.units}})
	}
	return nil
}

// follow carries new ledger entries over until ctx ends. Errors are logged only: finish
// reads to the end.
func (k *stockKeeper) follow(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := k.carry(ctx); err != nil && ctx.Err() == nil {
				k.log.Info("the ledger could not be read just now", "error", err)
			}
		}
	}
}

// carried tells up to when (ns) everything that was written is carried over.
func (k *stockKeeper) carried() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.upTo
}

// carry records all ledger entries that are new.
func (k *stockKeeper) carry(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	began := history.Now()
	err := k.carryAll(ctx)
	if err == nil {
		k.upTo = began
	}
	return err
}

func (k *stockKeeper) carryAll(ctx context.Context) error {
	return k.with(func(c redis.UniversalClient) error {
		if n, err := c.LLen(ctx, k.keys.Ledger()).Result(); err != nil {
			return err
		} else if n < k.read {
			// Only --stock-on lock without persistence comes here. The entries that were
			// carried over stay; what was written in between and never read will be missed
			// by no-oversell, as it should be.
			k.log.Warn("the stock node lost its ledger", "entries", k.read, "left", n)
			k.lost, k.read = k.lost+k.read, 0
		}
		for {
			entries, err := k.keys.ReadLedger(ctx, c, k.read, ledgerBatch)
			if err != nil {
				return err
			}
			at := history.Now()
			for _, e := range entries {
				k.record(history.Event{Time: at, Type: history.LedgerEntry, Object: e.SKU, Client: -1, Ledger: &history.Ledger{
					Seq: k.lost + e.Seq, Op: e.Op, Basis: e.Basis, Found: e.Found, Left: e.Left, Fence: e.Fence,
				}})
			}
			k.read += int64(len(entries))
			if len(entries) < ledgerBatch {
				return nil
			}
		}
	})
}

// finish carries over the rest and records the final levels.
func (k *stockKeeper) finish(ctx context.Context) error {
	if err := k.carry(ctx); err != nil {
		return fmt.Errorf("read the ledger to its end: %w", err)
	}
	return k.with(func(c redis.UniversalClient) error {
		for _, sku := range k.skus {
			level, known, err := k.keys.Level(ctx, c, k.form, sku)
			if err != nil {
				return fmt.Errorf("read the final stock of %s: %w", sku, err)
			}
			if known {
				k.record(history.Event{Time: history.Now(), Type: history.StockLevel, Object: sku, Client: -1, Stock: &history.Stock{Final: true, Level: level}})
			}
		}
		return nil
	})
}
