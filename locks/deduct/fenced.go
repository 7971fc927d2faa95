package deduct

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// fenced is read-write whose stock knows fencing tokens (Kleppmann, How to do distributed
// locking, 2016). Both the read and the write send the grant's token: each raises the
// highest one that the stock has seen, and a lower one is refused. A token that is checked
// at the write alone still loses updates: an older holder may write between a newer one's
// read and write.
//
// What it needs of the lock is that no two grants share a token and that later ones are
// higher; that the holders do not overlap it does not need.
func fenced() Spec {
	get, set := redis.NewScript(fenceLua+getLua), redis.NewScript(ledgerLua+fenceLua+setLua)
	return Spec{
		Name:       "fenced",
		Summary:    "GET, check, think, SET the level less one; both with the fencing token, a lower one than was seen is refused",
		Source:     "Kleppmann 2016; S0 (its listing, fenced)",
		Form:       String,
		NeedsLock:  true,
		Blind:      true,
		Fenced:     true,
		Weaknesses: []string{"two grants with the same token, of a lock that lost its counter, can lose an update"},
		Steps:      steps(calls(get), calls(set)),
		Open: func() Maker {
			return func(c Config) Deduction { return &fencedDeduction{base{Config: c}, get, set} }
		},
	}
}

type fencedDeduction struct {
	base
	get, set *redis.Script
}

// errNoFence: the lock gave no fencing token.
var errNoFence = errors.New("the grant has no fencing token")

func (d *fencedDeduction) Deduct(ctx context.Context, r Request) (Result, error) {
	if r.Fence <= 0 {
		return insufficient(1), notDone(errNoFence)
	}
	key, highest := d.Keys.text(d.SKU), d.Keys.fence(d.SKU)
	cmd := d.get.Run(ctx, d.Stock, []string{key, highest}, d.args(r)...)
	basis, ok, err := read(cmd.Text())
	if err != nil || !ok || basis <= 0 {
		return insufficient(1), err
	}
	if err := think(ctx, r); err != nil {
		return insufficient(1), err
	}
	left := basis - 1
	if err := d.write(ctx, d.set, []string{key, d.Keys.Ledger(), highest}, r, basis, left).Err(); err != nil {
		return insufficient(1), unwritten(stale(err))
	}
	return Result{Basis: &basis, Left: &left, Sold: true, Tries: 1}, nil
}

// stale tells the refusal of a token, which comes before the script writes anything, from
// the other errors of the fenced write.
func stale(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "STALE ") {
		return fmt.Errorf("%w: %w", ErrNotDone, err)
	}
	return err
}
