package nemesis

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// stormAtOnce bounds how many faults of a storm are planned to work at the same time.
const stormAtOnce = 3

// DrawStorm mixes the kinds: up to three faults at once, each kind once before any twice
// as far as the time reaches, healed before the tail. Kinds that stay come last, each
// once; kinds that cannot do without parameters are left out. A majority of the nodes may
// well be dead at some time: a lock must survive that. Like Draw it is a pure function of
// its arguments. The schedule is for a Runner that lets faults overlap; those that would
// contradict each other on one target wait for each other there.
func DrawStorm(seed uint64, kinds []Kind, limit, ttl, grace time.Duration) ([]Planned, error) {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return k.undrawable() != "" })
	staying, passing := parted(kinds)
	reserve := time.Duration(len(staying)) * gap(ttl, 1)
	end := limit - Tail(ttl, grace) - reserve
	var longest time.Duration
	for _, k := range passing {
		longest = max(longest, k.lasts(ttl, 1))
	}
	if need := lead(limit) + gap(ttl, 1) + longest; end < need {
		return nil, fmt.Errorf("a time limit of %s has no room for a storm and a quiet tail with a TTL of %s: it takes at least %s, or a shorter TTL",
			limit, ttl, (limit - end + need).Round(100*time.Millisecond))
	}
	r := rand.New(rand.NewPCG(seed, 0x73746f726d))
	var plan []Planned
	var turn []Kind
	free := slices.Repeat([]time.Duration{lead(limit)}, stormAtOnce) // when each place is free again
	for len(passing) > 0 && len(free) > 0 {
		if len(turn) == 0 {
			turn = shuffled(r, passing)
		}
		place := earliest(free)
		p := drawOne(r, turn[0], free[place]+gap(ttl, r.Float64()), ttl)
		if p.At+p.For > end {
			free = slices.Delete(free, place, place+1)
			continue
		}
		plan, turn = append(plan, p), turn[1:]
		free[place] = p.At + p.For
	}
	slices.SortStableFunc(plan, func(a, b Planned) int { return cmp.Compare(a.At, b.At) })
	at := end
	for _, k := range shuffled(r, staying) {
		at += gap(ttl, r.Float64())
		plan = append(plan, drawOne(r, k, at, ttl))
	}
	return plan, nil
}

// earliest is the index of the least time.
func earliest(times []time.Duration) int {
	least := 0
	for i, t := range times {
		if t < times[least] {
			least = i
		}
	}
	return least
}
