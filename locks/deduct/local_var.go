package deduct

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// localVar is S3's stock: a variable in the memory of the client process, checked and
// later set to one less. Each process counts for itself from the initial level, so two of
// them sell every unit twice, and a restarted one begins anew. Load and store are atomic,
// so that the race is the seed's and not Go's. (S3 reads the variable once more when it
// subtracts; here the level that was checked is used, as in read-write: the same race,
// wide enough to be forced.)
//
// The memory is the stock; the ledger on the stock node is only told of each write. What
// the memory did is certain however that telling ends, so an error of the append does not
// make the deduction fail or unknown: the sale stands, and an entry may be missing. Entries
// are in the order of the appends, not of the writes.
func localVar() Spec {
	return Spec{
		Name:      "local-var",
		Summary:   "the stock is a variable in each client's memory: load, check, think, store",
		Source:    "S3",
		Form:      Memory,
		NeedsLock: true,
		Blind:     true,
		Weaknesses: []string{
			"every client process counts from the initial stock: two clients sell each unit twice, even under a correct lock",
			"a restarted client forgets what it sold",
		},
		Expect: []locks.Weakness{
			{Fault: "none", Property: "linearizable-stock", MinClients: 2, Why: "each client counts down from the initial stock on its own: they sell the same units"},
			{Fault: "none", Property: "no-oversell", MinClients: 2, May: true, Why: "the clients together sell the stock several times over, once it runs out in each"},
			{Fault: "kill-client", Property: "linearizable-stock", Why: "a restarted client counts from the initial stock again"},
			{Fault: "kill-client", Property: "no-oversell", May: true, Why: "a restarted client sells what it had sold before"},
		},
		Open: func() Maker {
			var mu sync.Mutex
			levels := map[string]*atomic.Int64{}
			tell := script(appendLua)
			return func(c Config) Deduction {
				mu.Lock()
				defer mu.Unlock()
				if levels[c.SKU] == nil {
					levels[c.SKU] = new(atomic.Int64)
					levels[c.SKU].Store(c.Initial)
				}
				return &localVarDeduction{base{Config: c}, levels[c.SKU], tell}
			}
		},
	}
}

type localVarDeduction struct {
	base
	level *atomic.Int64 // shared by the process's workers
	tell  *redis.Script
}

func (d *localVarDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	basis := d.level.Load()
	if basis <= 0 {
		return insufficient(1), nil
	}
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	left := basis - 1
	found := d.level.Swap(left)
	// From here on the unit is sold, whatever ctx or the ledger say.
	_ = d.write(context.WithoutCancel(ctx), d.tell, []string{d.Keys.Ledger()}, r, basis, found, left).Err()
	return Result{Basis: &basis, Left: &left, Sold: true, Tries: 1}, nil
}
