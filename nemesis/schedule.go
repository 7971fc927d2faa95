package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Planned is one fault of a schedule, as drawn before the load begins.
type Planned struct {
	Kind string
	At   time.Duration // after the load began
	For  time.Duration // how long it lasts
	Pick uint64        // draws the target among the candidates of that moment
}

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
// random order but with each kind once before any twice, healed before the tail. It is
// a pure function of its arguments. A limit that has no room for one fault of each kind
// is an error that says how much would do.
func Draw(seed uint64, kinds []Kind, limit, ttl, grace time.Duration) ([]Planned, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	end := limit - Tail(ttl, grace)
	need := lead(limit)
	var names []string
	for _, k := range kinds {
		need += gap(ttl, 1) + k.Lasts(ttl, 1)
		names = append(names, k.Name)
	}
	if end < need {
		return nil, fmt.Errorf("a time limit of %s has no room for %s and a quiet tail with a TTL of %s: it takes at least %s, or a shorter TTL",
			limit, strings.Join(names, ", "), ttl, (need + Tail(ttl, grace)).Round(100*time.Millisecond))
	}
	r := rand.New(rand.NewPCG(seed, 0x6e656d65736973))
	var plan []Planned
	var turn []Kind
	for at := lead(limit); ; {
		if len(turn) == 0 {
			turn = slices.Clone(kinds)
			r.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		k := turn[0]
		turn = turn[1:]
		at += gap(ttl, r.Float64())
		p := Planned{Kind: k.Name, At: at.Round(time.Millisecond), For: k.Lasts(ttl, r.Float64()).Round(time.Millisecond), Pick: r.Uint64()}
		if p.At+p.For > end {
			return plan, nil
		}
		plan = append(plan, p)
		at = p.At + p.For
	}
}

// gap is the undisturbed time between two faults.
func gap(ttl time.Duration, draw float64) time.Duration {
	return span(max(ttl/4, 200*time.Millisecond), max(ttl/2, 400*time.Millisecond), draw)
}
