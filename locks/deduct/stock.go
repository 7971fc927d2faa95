package deduct

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Keys are the keys of the stock and of its ledger: all begin with this prefix, which may
// be empty.
type Keys string

// Ledger is the key of the one list that every write to the stock appends to. An entry is
// the text "sku|operation|basis|found|left|fence": numbers in decimal, the basis "-" for a
// relative write. ledger.lua writes it, ParseEntry reads it.
func (k Keys) Ledger() string { return string(k) + "picklock:ledger" }

// stockField is the field of a hash that holds the level (S2).
const stockField = "stock"

func (k Keys) text(sku string) string { return string(k) + "stock:" + sku }

func (k Keys) hash(sku string) string { return string(k) + "key:" + sku + ":info" }

// fence is the key of the highest fencing token that a SKU's stock has seen; done that of
// the operations that were done to it, where the deduction remembers them.
func (k Keys) fence(sku string) string { return k.text(sku) + ":fence" }

func (k Keys) done(sku string) string { return k.text(sku) + ":done" }

// Entry is one write to the stock, as the stock node wrote it down.
type Entry struct {
	SKU   string
	Seq   int64  // position in the ledger, from 0
	Op    int64  // Request.ID
	Basis *int64 // the level that the client computed from; nil: a relative write
	Found int64  // the level that was there before the write
	Left  int64  // the level after it
	Fence int64  // fencing token; 0: none
}

// Prepare lays out the stock: every SKU at the given level, in its form, of which no fencing
// token was seen and no operation done yet, and an empty ledger. It touches no other keys.
func (k Keys) Prepare(ctx context.Context, c redis.UniversalClient, f Form, skus []string, units int64) error {
	if units < 0 {
		return fmt.Errorf("prepare the stock: %d units are less than none", units)
	}
	for _, sku := range skus {
		if sku == "" || strings.Contains(sku, "|") {
			return fmt.Errorf("prepare the stock: the ledger cannot hold the SKU name %q", sku)
		}
	}
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, k.Ledger())
		for _, sku := range skus {
			switch f {
			case String:
				p.Set(ctx, k.text(sku), units, 0)
				p.Del(ctx, k.fence(sku), k.done(sku))
			case Hash:
				p.HSet(ctx, k.hash(sku), stockField, units)
			case Memory:
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("prepare the stock: %w", err)
	}
	return nil
}

// Level reads the level of one SKU. known is false where the node does not have it: for
// Memory, and for a key that is gone.
func (k Keys) Level(ctx context.Context, c redis.UniversalClient, f Form, sku string) (level int64, known bool, err error) {
	switch f {
	case String:
		level, err = c.Get(ctx, k.text(sku)).Int64()
	case Hash:
		level, err = c.HGet(ctx, k.hash(sku), stockField).Int64()
	case Memory:
		return 0, false, nil
	}
	switch {
	case errors.Is(err, redis.Nil):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("level of %s: %w", sku, err)
	}
	return level, true, nil
}

// ReadLedger reads at most limit entries from position from on; fewer mean that the ledger
// ends there.
func (k Keys) ReadLedger(ctx context.Context, c redis.UniversalClient, from int64, limit int) ([]Entry, error) {
	if from < 0 || limit < 1 {
		return nil, fmt.Errorf("read the ledger: no range of %d entries from %d", limit, from)
	}
	texts, err := c.LRange(ctx, k.Ledger(), from, from+int64(limit)-1).Result()
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	entries := make([]Entry, len(texts))
	for i, text := range texts {
		if entries[i], err = ParseEntry(text); err != nil {
			return nil, fmt.Errorf("read the ledger: entry %d: %w", from+int64(i), err)
		}
		entries[i].Seq = from + int64(i)
	}
	return entries, nil
}

// ParseEntry reads an entry's text, all but Seq. It takes exactly what ledger.lua writes.
func ParseEntry(text string) (Entry, error) {
	f := strings.Split(text, "|")
	if len(f) != 6 {
		return Entry{}, fmt.Errorf("ledger entry %q has %d fields, not 6", text, len(f))
	}
	if f[0] == "" {
		return Entry{}, fmt.Errorf("ledger entry %q names no SKU", text)
	}
	var n [5]int64 // op, basis, found, left, fence
	for i, s := range f[1:] {
		if i == 1 && s == "-" {
			continue
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != s {
			return Entry{}, fmt.Errorf("ledger entry %q: %q is no plain number", text, s)
		}
		n[i] = v
	}
	e := Entry{SKU: f[0], Op: n[0], Found: n[2], Left: n[3], Fence: n[4]}
	if f[2] != "-" {
		e.Basis = &n[1]
	}
	return e, nil
}
