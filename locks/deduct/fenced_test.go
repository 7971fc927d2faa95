package deduct_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

// A token lower than the highest seen is refused, at the read and at the write.
func TestFencedRefusesStaleTokens(t *testing.T) {
	t.Parallel()
	c := stock(t, redistest.Start(t), "fenced", 10)
	sell := func(fence int64, think func(context.Context) error) (deduct.Result, error) {
		r := c.request(think)
		r.Fence = fence
		return c.handle(nil).Deduct(t.Context(), r)
	}
	wantSold := func(what string, r deduct.Result, err error, left int64) {
		t.Helper()
		if err != nil || !r.Sold || *r.Left != left || *r.Basis != left+1 {
			t.Errorf("%s: %+v, %v; want a sale that leaves %d", what, r, err, left)
		}
	}
	wantRefused := func(what string, r deduct.Result, err error) {
		t.Helper()
		if !errors.Is(err, deduct.ErrNotDone) || r.Sold {
			t.Errorf("%s: %+v, %v; want ErrNotDone", what, r, err)
		}
	}
	r, err := sell(5, nil)
	wantSold("the first token", r, err, 9)
	r, err = sell(5, nil)
	wantSold("the same holder again", r, err, 8)
	r, err = sell(4, nil)
	wantRefused("an older holder", r, err)
	r, err = sell(0, nil)
	wantRefused("no token", r, err)

	// Numbers are compared as numbers: 10 is more than 9.
	r, err = sell(9, func(context.Context) error {
		r, err := sell(10, nil)
		wantSold("a newer holder in between", r, err, 7)
		return nil
	})
	wantRefused("the older holder's write after it", r, err)

	// The newer holder has only read yet: the older one's write must be refused all the
	// same, or the newer one's write would undo it.
	r, err = sell(12, func(context.Context) error {
		newer := 0
		r, err := sell(13, func(ctx context.Context) error {
			newer++
			older := c.request(nil)
			older.Fence = 12
			r, err := c.handle(nil).Deduct(ctx, older)
			wantRefused("the older holder between the newer one's read and write", r, err)
			return nil
		})
		if newer != 1 {
			t.Errorf("the newer holder thought %d times", newer)
		}
		wantSold("the newer holder", r, err, 6)
		return nil
	})
	wantRefused("the older holder's own write", r, err)
	if level, _ := c.level(); level != 6 || len(c.ledger()) != 4 {
		t.Errorf("level %d with %d entries, want 6 and 4", level, len(c.ledger()))
	}
}

// Whoever overlaps, as long as tokens are not shared nothing is lost.
func TestFencedLosesNothingWhenHoldersOverlap(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const workers, each, units = 8, 40, 1000
	c := stock(t, server, "fenced", units)
	var token, sold, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range workers {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		wg.Go(func() {
			d := c.handle(nil)
			for range each {
				pause := time.Duration(random.IntN(3)) * time.Millisecond
				r := c.request(func(context.Context) error { time.Sleep(pause); return nil })
				r.Fence = token.Add(1)
				got, err := d.Deduct(t.Context(), r)
				switch {
				case err == nil && got.Sold:
					sold.Add(1)
				case errors.Is(err, deduct.ErrNotDone):
					refused.Add(1)
				default:
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	highest := int64(0)
	for _, e := range c.ledger() {
		if e.Basis == nil || *e.Basis != e.Found || e.Fence < highest {
			t.Errorf("entry %+v (basis %s) after token %d: an update was lost, or a stale token accepted", e, show(e.Basis), highest)
		}
		highest = e.Fence
	}
	if level, _ := c.level(); level != units-sold.Load() || sold.Load() == 0 || refused.Load() == 0 {
		t.Errorf("level %d after %d sales of %d (%d refused); want each sale to take one, and some refused", level, sold.Load(), units, refused.Load())
	}
}
