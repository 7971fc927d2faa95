package deduct_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	want := map[string]struct {
		form deduct.Form
		lock bool
	}{
		"read-write": {deduct.String, true}, "watch": {deduct.String, false}, "watch-recursive": {deduct.String, false},
		"lua": {deduct.String, false}, "hash-check-decr": {deduct.Hash, true}, "hincrby": {deduct.Hash, false},
		"local-var": {deduct.Memory, true}, "fenced": {deduct.String, true},
	}
	if got := len(deduct.All()); got != len(want) {
		t.Errorf("%d deductions, want %d", got, len(want))
	}
	for _, s := range deduct.All() {
		w, ok := want[s.Name]
		if !ok || s.Form != w.form || s.NeedsLock != w.lock || s.Summary == "" || s.Source == "" {
			t.Errorf("%+v: want %+v, a summary and a source", s, w)
		}
		seen := map[string]bool{}
		for _, w := range s.Expect {
			id := w.Fault + " " + w.Property
			if seen[id] || w.Why == "" {
				t.Errorf("%s: the expectation of %s is there twice, or has no reason", s.Name, id)
			}
			seen[id] = true
		}
		if s.Fenced != (s.Name == "fenced") {
			t.Errorf("%s: fenced %v", s.Name, s.Fenced)
		}
		if found, ok := deduct.Find(s.Name); !ok || found.Name != s.Name {
			t.Errorf("Find(%q) = %q, %v", s.Name, found.Name, ok)
		}
	}
	if _, ok := deduct.Find("decr"); ok {
		t.Error("Find gave a deduction that does not exist")
	}
}

// One worker alone: every deduction sells all units, once each, and writes each down.
func TestAloneEveryDeductionIsRight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, s := range deduct.All() {
		t.Run(s.Name, func(t *testing.T) {
			const units = 3
			c := stock(t, server, s.Name, units)
			relative := s.Name == "lua" || s.Form == deduct.Hash
			for left := int64(units - 1); left >= 0; left-- {
				r := c.sell()
				if !r.Sold || show(r.Left) != show(&left) || r.Tries != 1 {
					t.Errorf("sold %v, left %s, tries %d; want a sale that leaves %d", r.Sold, show(r.Left), r.Tries, left)
				}
				if got := r.Basis == nil; got != relative || (!relative && *r.Basis != left+1) {
					t.Errorf("basis %s of a write that is relative: %v", show(r.Basis), relative)
				}
			}
			wantLevel := int64(0)
			if r := c.sell(); r.Sold || (r.Left != nil) != (s.Name == "hincrby") {
				t.Errorf("from an empty stock: sold %v, left %s; want no sale, and a write by hincrby only", r.Sold, show(r.Left))
			} else if r.Left != nil {
				wantLevel = *r.Left
				if wantLevel != -1 {
					t.Errorf("hincrby left %d, want -1", wantLevel)
				}
			}
			if level, known := c.level(); known == (s.Form == deduct.Memory) || level != wantLevel {
				t.Errorf("level %d (known %v), want %d", level, known, wantLevel)
			}
			entries := c.ledger()
			if want := units - int(wantLevel); len(entries) != want {
				t.Fatalf("%d ledger entries, want %d: one for each write", len(entries), want)
			}
			for i, e := range entries {
				found := int64(units - i)
				want := deduct.Entry{SKU: c.sku, Seq: int64(i), Op: int64(i + 1), Found: found, Left: found - 1, Fence: 7}
				if !relative {
					want.Basis = &found
				}
				if show(e.Basis) != show(want.Basis) {
					t.Errorf("entry %d: basis %s, want %s", i, show(e.Basis), show(want.Basis))
				}
				e.Basis = want.Basis
				if e != want {
					t.Errorf("entry %d: %+v, want %+v", i, e, want)
				}
			}
		})
	}
}

// Many workers without a lock: these deductions lose nothing, sell nothing twice, and the
// ledger accounts for each operation exactly.
func TestDeductionsThatNeedNoLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const workers, each, units = 8, 10, 60 // more is wanted than there is
	for _, s := range deduct.All() {
		if s.NeedsLock {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			// watch-recursive nests connections, so the pool is made large enough here.
			c := stock(t, server, s.Name, units, func(o *redis.Options) { o.PoolSize = 500 })
			var mu sync.Mutex
			var lefts []int64
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					d := c.handle(nil)
					for range each {
						r, err := d.Deduct(t.Context(), c.request(nil))
						if err != nil {
							t.Errorf("%v", err)
						}
						mu.Lock()
						if r.Sold {
							lefts = append(lefts, *r.Left)
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(lefts)
			if len(lefts) != units || len(slices.Compact(lefts)) != units || lefts[0] != 0 {
				t.Errorf("%d sales of %d units, levels %v: each level must be sold once", len(lefts), units, lefts)
			}
			level, seen := int64(units), map[int64]bool{}
			for _, e := range c.ledger() {
				if seen[e.Op] || e.Found != level || e.Left != level-1 || (e.Basis != nil && *e.Basis != e.Found) {
					t.Errorf("entry %+v (basis %s) after level %d: a lost or doubled unit", e, show(e.Basis), level)
				}
				seen[e.Op], level = true, e.Left
			}
			if got, _ := c.level(); got != level {
				t.Errorf("level %d, the ledger ends at %d", got, level)
			}
			if want := units; s.Name != "hincrby" && len(seen) != want {
				t.Errorf("%d writes, want %d", len(seen), want)
			} else if s.Name == "hincrby" && len(seen) != workers*each {
				t.Errorf("%d writes, want %d: hincrby writes before it looks", len(seen), workers*each)
			}
		})
	}
}

// S0: two that read the same level both write it less one.
func TestReadWriteLosesAnUpdate(t *testing.T) {
	t.Parallel()
	c := stock(t, redistest.Start(t), "read-write", 10)
	wantLostUpdate(t, c, c.together(c.handle(nil), c.handle(nil)))
	if level, _ := c.level(); level != 9 {
		t.Errorf("level %d, want 9: two sales, one unit gone", level)
	}
}

// S3: the same in the memory of one process.
func TestLocalVarLosesAnUpdate(t *testing.T) {
	t.Parallel()
	c := stock(t, redistest.Start(t), "local-var", 10)
	wantLostUpdate(t, c, c.together(c.handle(nil), c.handle(nil)))
	if r := c.sell(); *r.Basis != 9 {
		t.Errorf("the memory is at %d, want 9", *r.Basis)
	}
}

func wantLostUpdate(t *testing.T, c *counter, results [2]deduct.Result) {
	t.Helper()
	for _, r := range results {
		if !r.Sold || *r.Basis != 10 || *r.Left != 9 {
			t.Errorf("sold %v from %s to %s, want both to sell from 10 to 9", r.Sold, show(r.Basis), show(r.Left))
		}
	}
	var found []int64
	for _, e := range c.ledger() {
		if *e.Basis != 10 || e.Left != 9 {
			t.Errorf("entry %+v, basis %d: want 10 to 9", e, *e.Basis)
		}
		found = append(found, e.Found)
	}
	slices.Sort(found)
	if !slices.Equal(found, []int64{9, 10}) {
		t.Errorf("the writes found %v, want [9 10]: one of them overwrote the other, and the ledger must show it", found)
	}
}

// S3: every process has a stock of its own.
func TestLocalVarIsPerProcess(t *testing.T) {
	t.Parallel()
	c := stock(t, redistest.Start(t), "local-var", 1)
	first, second := c.handle(nil), c.handle(c.spec.Open())
	for i, d := range []deduct.Deduction{first, second} {
		if r, err := d.Deduct(t.Context(), c.request(nil)); err != nil || !r.Sold || *r.Left != 0 {
			t.Errorf("process %d: %+v, %v; want the only unit sold by each", i, r, err)
		}
	}
	if r, err := first.Deduct(t.Context(), c.request(nil)); err != nil || r.Sold {
		t.Errorf("a second unit of the first process: %+v, %v", r, err)
	}
	if n := len(c.ledger()); n != 2 {
		t.Errorf("%d ledger entries, want 2", n)
	}
}

// S2: both pass the check on the last unit, and the source looks no more.
func TestHashCheckDecrOversells(t *testing.T) {
	t.Parallel()
	c := stock(t, redistest.Start(t), "hash-check-decr", 1)
	lefts := []int64{}
	for _, r := range c.together(c.handle(nil), c.handle(nil)) {
		if !r.Sold || r.Basis != nil {
			t.Errorf("%+v: want both to report a sale of a relative write", r)
		}
		lefts = append(lefts, *r.Left)
	}
	slices.Sort(lefts)
	if level, _ := c.level(); !slices.Equal(lefts, []int64{-1, 0}) || level != -1 {
		t.Errorf("left %v, level %d; want -1 and 0, level -1", lefts, level)
	}
}

// S0: an EXEC that aborts is tried again after 50 ms, from a fresh read.
func TestWatchRetriesAfterAnAbort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, name := range []string{"watch", "watch-recursive"} {
		c := stock(t, server, name, 10)
		results := c.together(c.handle(nil), c.handle(nil))
		slices.SortFunc(results[:], func(a, b deduct.Result) int { return a.Tries - b.Tries })
		first, second := results[0], results[1]
		if first.Tries != 1 || second.Tries != 2 || *first.Left != 9 || *second.Basis != 9 || *second.Left != 8 {
			t.Errorf("%s: tries %d and %d, levels %s and %s; want the second to abort once and go on from 9",
				name, first.Tries, second.Tries, show(first.Left), show(second.Left))
		}
		if !slices.Equal(c.sleeps, []time.Duration{50 * time.Millisecond}) {
			t.Errorf("%s: slept %v, want the seed's 50 ms once", name, c.sleeps)
		}
		if n := len(c.ledger()); n != 2 {
			t.Errorf("%s: %d ledger entries, want 2: an abort writes nothing", name, n)
		}
	}
}

// The loop keeps its one connection. The recursion takes another for each nesting, until
// the pool has none left.
func TestWatchRecursiveNestsConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const pool = 3
	for _, name := range []string{"watch", "watch-recursive"} {
		c := stock(t, server, name, 100, func(o *redis.Options) { o.PoolSize = pool; o.PoolTimeout = 50 * time.Millisecond })
		disturb, aborts := server.Client(), 0
		var connections []uint32
		r, err := c.handle(nil).Deduct(t.Context(), c.request(func(ctx context.Context) error {
			s := c.client.PoolStats()
			connections = append(connections, s.TotalConns-s.IdleConns)
			if aborts++; aborts > 2*pool {
				return nil
			}
			return disturb.Decr(ctx, "stock:"+c.sku).Err()
		}))
		if name == "watch" {
			if err != nil || !r.Sold || r.Tries != 2*pool+1 || slices.Max(connections) != 1 {
				t.Errorf("watch: %+v, %v on %v connections; want a sale after %d tries on one", r, err, connections, 2*pool+1)
			}
			continue
		}
		if !errors.Is(err, deduct.ErrNotDone) || !errors.Is(err, redis.ErrPoolTimeout) || !slices.Equal(connections, []uint32{1, 2, 3}) {
			t.Errorf("watch-recursive: %v on %v connections; want ErrNotDone for want of a %dth", err, connections, pool+1)
		}
		if r.Sold || r.Tries != pool+1 || len(c.ledger()) != 0 {
			t.Errorf("watch-recursive: %+v with %d ledger entries, want nothing sold in %d tries", r, len(c.ledger()), pool+1)
		}
	}
}
