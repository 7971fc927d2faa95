package fast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picklock/models/spec"
)

// sortKeys are keys as they come, by what is hard about them.
var sortKeys = map[string]func(r *rand.Rand, i, n int) int64{
	"in order":            func(_ *rand.Rand, i, _ int) int64 { return int64(i) },
	"nearly in order":     func(r *rand.Rand, i, _ int) int64 { return int64(i) + r.Int64N(20) },
	"in no order":         func(r *rand.Rand, _, n int) int64 { return r.Int64N(int64(n)) },
	"backwards":           func(_ *rand.Rand, i, n int) int64 { return int64(n - i) },
	"owner by owner":      func(_ *rand.Rand, i, n int) int64 { return int64(i%(n/7+1))*50 + int64(i/(n/7+1)) },
	"few":                 func(r *rand.Rand, _, _ int) int64 { return r.Int64N(3) },
	"in two places":       func(r *rand.Rand, _, n int) int64 { return r.Int64N(int64(n)) + r.Int64N(2)<<60 },
	"from end to end":     func(r *rand.Rand, _, _ int) int64 { return int64(r.Uint64()) },
	"the ends themselves": func(r *rand.Rand, _, _ int) int64 { return []int64{math.MinInt64, 0, math.MaxInt64}[r.IntN(3)] },
}

// sortNearly gives what the library gives, whatever the keys are like.
func TestSortNearly(t *testing.T) {
	type thing struct{ key, second, at int64 }
	key := func(x *thing) int64 { return x.key }
	second := func(a, b *thing) int { return cmp.Compare(a.second, b.second) }
	r := rand.New(rand.NewPCG(1, 1))
	for name, next := range sortKeys {
		for _, n := range []int{0, 1, 2, 50, 5000, 30_000} {
			all := make([]thing, n)
			for i := range all {
				all[i] = thing{next(r, i, n), r.Int64N(2), int64(i)}
			}
			want := slices.Clone(all)
			slices.SortStableFunc(want, func(a, b thing) int { return cmp.Compare(a.key, b.key) })
			if got := sortNearly(slices.Clone(all), key, nil); !slices.Equal(got, want) {
				t.Errorf("%d keys, %s: not in order", n, name)
			}
			slices.SortStableFunc(want, func(a, b thing) int {
				return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.second, b.second))
			})
			if got := sortNearly(all, key, second); !slices.Equal(got, want) {
				t.Errorf("%d keys, %s, and second ones: not in order", n, name)
			}
		}
	}
}

// Each owner has a number of its own, whatever the owners' own numbers are like; and the ways
// to find it are all gone.
func TestNumberOwners(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ways := map[string]int{}
	for name, next := range sortKeys {
		for _, n := range []int{1, 2, 50, 5000, 30_000} {
			for _, factor := range []int64{1, 1_000_003} {
				ops := make([]spec.LockOp, n)
				for i := range ops {
					ops[i].Owner = next(r, i, n) * factor
				}
				numbers := numberOwners(ops)
				owner := map[int32]int64{}
				for i := range ops {
					s := numbers.of(ops[i].Owner)
					if o, taken := owner[s]; s < 0 || int(s) >= numbers.n || taken && o != ops[i].Owner {
						t.Fatalf("%d owners, %s, times %d: %d has the number %d of %d, as %d has", n, name, factor, ops[i].Owner, s, numbers.n, o)
					}
					owner[s] = ops[i].Owner
				}
				switch {
				case numbers.close:
					ways["close"]++
				case numbers.many != nil:
					ways["many"]++
				default:
					ways["table"]++
				}
			}
		}
	}
	t.Log(ways)
	if len(ways) < 3 {
		t.Errorf("only %v were tried", ways)
	}
}
