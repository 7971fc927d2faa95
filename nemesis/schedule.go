package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Tail is the quiet time at the end of a test in which liveness is judged: TTL, grace,
// and a margin for the last heal.
func Tail(ttl, grace time.Duration) time.Duration {
	return ttl + grace + 500*time.Millisecond
}

// lead is the undisturbed time at the start: long enough for a number of sales, so that
// a lock which does not survive its first fault has shown before that it works.
func lead(limit time.Duration) time.Duration {
	return min(max(limit/8, 500*time.Millisecond), 2*time.Second)
}

// Draw makes a schedule for the kinds from the seed: one fault after the other, in
// random order but with each kind once before any twice, healed before the tail. Kinds
// that stay come last, each once: no other fault may undo their work. It is a pure
// function of its arguments. A limit that has no room for one fault of each kind is an
// error that says how much would do; so is a kind that cannot do without parameters.
func Draw(seed uint64, kinds []Kind, limit, ttl, grace time.Duration) ([]Planned, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	end := limit - Tail(ttl, grace)
	need := lead(limit)
	var names []string
	for _, k := range kinds {
		if why := k.undrawable(); why != "" {
			return nil, fmt.Errorf("%s cannot be drawn: %s", k.Name, why)
		}
		need += gap(ttl, 1) + k.lasts(ttl, 1)
		names = append(names, k.Name)
	}
	if end < need {
		return nil, fmt.Errorf("a time limit of %s has no room for %s and a quiet tail with a TTL of %s: it takes at least %s, or a shorter TTL",
			limit, strings.Join(names, ", "), ttl, (need + Tail(ttl, grace)).Round(100*time.Millisecond))
	}
	r := rand.New(rand.NewPCG(seed, 0x6e656d65736973))
	staying, passing := parted(kinds)
	at := lead(limit)
	plan, at := drawInTurn(r, passing, at, end-time.Duration(len(staying))*gap(ttl, 1), ttl)
	for _, k := range shuffled(r, staying) {
		at += gap(ttl, r.Float64())
		plan = append(plan, drawOne(r, k, at, ttl))
	}
	return plan, nil
}

// drawInTurn draws faults from at on that are over by end, and tells when the last is.
func drawInTurn(r *rand.Rand, kinds []Kind, at, end, ttl time.Duration) ([]Planned, time.Duration) {
	var plan []Planned
	var turn []Kind
	for len(kinds) > 0 {
		if len(turn) == 0 {
			turn = shuffled(r, kinds)
		}
		p := drawOne(r, turn[0], at+gap(ttl, r.Float64()), ttl)
		if p.At+p.For > end {
			break
		}
		plan, turn = append(plan, p), turn[1:]
		at = p.At + p.For
	}
	return plan, at
}

func drawOne(r *rand.Rand, k Kind, at, ttl time.Duration) Planned {
	return Planned{
		Kind: k.Name, At: at.Round(time.Millisecond), For: k.lasts(ttl, r.Float64()).Round(time.Millisecond), Pick: r.Uint64(),
	}
}

// parted separates the kinds that stay, as they are drawn, from those that pass.
func parted(kinds []Kind) (staying, passing []Kind) {
	for _, k := range kinds {
		if k.stays(k.complete(Planned{})) {
			staying = append(staying, k)
		} else {
			passing = append(passing, k)
		}
	}
	return staying, passing
}

// lasts is Lasts for the plans that are drawn: a fault that stays has no duration.
func (k Kind) lasts(ttl time.Duration, draw float64) time.Duration {
	if k.Lasts == nil || k.stays(k.complete(Planned{})) {
		return 0
	}
	return k.Lasts(ttl, draw)
}

// undrawable says why the kind needs a plan that somebody wrote; empty: it needs none.
func (k Kind) undrawable() string {
	for _, p := range k.Params {
		if p.Check != nil && p.Check(p.Default) != nil {
			return fmt.Sprintf("its parameter %s (%s) has to be given in a schedule", p.Name, p.Summary)
		}
	}
	return ""
}

func shuffled(r *rand.Rand, kinds []Kind) []Kind {
	all := slices.Clone(kinds)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// gap is the undisturbed time between two faults.
func gap(ttl time.Duration, draw float64) time.Duration {
	return span(max(ttl/4, 200*time.Millisecond), max(ttl/2, 400*time.Millisecond), draw)
}
