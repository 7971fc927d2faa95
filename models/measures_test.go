package models_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"picklock/harness/history"
	"picklock/models"
)

// unit is a tick of the random histories: long enough that a few of them fill a window of
// availability.
const unit = 37 * ms

// randomService is a history of one lock in ticks, with one fault.
func randomService(rng *rand.Rand) *history.History {
	h := randomLock(rng, false)
	for i := range h.Operations {
		o := &h.Operations[i]
		o.Invoke *= unit
		o.From *= unit
		if o.Return != history.Never {
			o.Return *= unit
		}
	}
	for i := range h.Deaths {
		h.Deaths[i].Time *= unit
	}
	for i := range h.Losses {
		h.Losses[i].Time *= unit
	}
	h.End *= unit
	start := (1 + rng.Int64N(20)) * unit
	f := history.Fault{N: 1, Kind: "pause-node", Target: "node lock", Client: -1, Start: start, End: start + rng.Int64N(12)*unit, Landed: true}
	h.Faults = append(h.Faults, f)
	return h
}

// A tick of the reference: what is the case from i*unit to (i+1)*unit.
type tick struct {
	held, waited, grant bool // grant: one returned at the start of the tick
}

// ticks spells out who held, who waited and when grants came.
func ticks(h *history.History, n int64) []tick {
	all := make([]tick, n)
	set := func(from, to int64, f func(*tick)) {
		for i := max(0, from/unit); i < n && i*unit < to; i++ {
			f(&all[i])
		}
	}
	died := func(client int, from int64) int64 {
		for _, d := range h.Deaths {
			if d.Client == client && d.Time >= from {
				return d.Time
			}
		}
		return history.Never
	}
	for _, a := range h.Operations {
		if a.Op != history.Acquire {
			continue
		}
		to := a.Return
		if to == history.Never {
			to = min(died(a.Client, a.Invoke), h.End)
		}
		set(a.Invoke, to, func(x *tick) { x.waited = true })
		if a.Outcome != history.OutcomeOK {
			continue
		}
		set(a.Return, a.Return+1, func(x *tick) { x.grant = true })
		if a.Belief == history.BelievesNot {
			continue
		}
		end := min(h.End, died(a.Client, a.Return))
		for _, x := range h.Operations {
			if x.Op == history.Release && x.Grant == a.ID {
				end = min(end, x.Invoke)
			}
		}
		for _, l := range h.Losses {
			if l.Grant == a.ID {
				end = min(end, l.Time)
			}
		}
		set(a.Return, end, func(x *tick) { x.held = true })
	}
	return all
}

// The sweeps of idle times and availability find what looking at every tick finds.
func TestServiceMeasuresAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	idle, lapses := 0, 0
	for i := range 5000 {
		h := randomService(rng)
		m := models.Judge(h, models.Params{MinSales: -1, MinContention: -1}).Measures
		all := ticks(h, h.End/unit+2)
		longest, run, total := int64(0), int64(0), int64(0)
		for k := int64(0); k*unit < h.End; k++ {
			x := all[k]
			if x.grant || x.held {
				run = 0
			}
			if x.waited && !x.held {
				run += unit
				total += unit
			}
			longest = max(longest, run)
		}
		if got := int64(math.Round(m.LongestIdleMS * 1e6)); got != longest {
			t.Fatalf("case %d: got a longest idle time of %d ns, want %d\n%s", i, got, longest, dump(h))
		}
		if got := int64(math.Round(m.IdleS * 1e9)); got != total {
			t.Fatalf("case %d: got %d ns idle, want %d\n%s", i, got, total, dump(h))
		}
		if total > 0 {
			idle++
		}
		end := int64(0)
		for _, o := range h.Operations {
			if o.Op == history.Acquire {
				end = max(end, o.Invoke)
				if o.Return != history.Never {
					end = max(end, o.Return)
				}
			}
		}
		if want := share(all, 0, end); m.Availability != want {
			t.Fatalf("case %d: got availability %v to %d, want %v\n%s", i, m.Availability, end, want, dump(h))
		}
		f := h.Faults[0]
		if got, want := m.Recovery[0].Availability, share(all, f.Start, min(f.End, end)); got != want {
			t.Fatalf("case %d: got availability %v from %d to %d, want %v\n%s", i, got, f.Start, f.End, want, dump(h))
		} else if want > 0 && want < 1 {
			lapses++
		}
		fromStart, fromHeal := resumed(h, f)
		same(t, i, "start", m.Recovery[0].FromStartS, fromStart)
		same(t, i, "heal", m.Recovery[0].FromHealS, fromHeal)
	}
	if idle < 500 || lapses < 500 {
		t.Errorf("got %d histories with idle times and %d with partial availability of 5000, want 500 at least: agreement says little otherwise", idle, lapses)
	}
}

// share is the share of windows of 100 ms between from and to with a hold or grant, window
// by window. Ticks do not align with windows, so each window looks at all that it touches.
func share(all []tick, from, to int64) float64 {
	n, up := 0, 0
	for w := from; w < to; w += 100 * ms {
		n++
		for k, x := range all {
			at := int64(k) * unit
			held := x.held && at < min(w+100*ms, to) && at+unit > w
			grant := x.grant && at >= w && at < min(w+100*ms, to)
			if held || grant {
				up++
				break
			}
		}
	}
	if n == 0 {
		return 0
	}
	return float64(up) / float64(n)
}

// resumed gives the times in ns to the first grant that was asked for after a fault began
// and to the next that returned after it ended; Never: none did.
func resumed(h *history.History, f history.Fault) (fromStart, fromHeal int64) {
	fromStart, fromHeal = history.Never, history.Never
	for _, a := range h.Operations {
		if a.Op != history.Acquire || a.Outcome != history.OutcomeOK {
			continue
		}
		asked := a.Invoke
		if a.From > a.Invoke {
			asked = a.From
		}
		if asked >= f.Start {
			fromStart = min(fromStart, a.Return-f.Start)
		}
		if a.Return >= f.End && f.End > 0 {
			fromHeal = min(fromHeal, a.Return-f.End)
		}
	}
	return fromStart, fromHeal
}

func same(t *testing.T, i int, what string, got *float64, want int64) {
	t.Helper()
	if (got == nil) != (want == history.Never) {
		t.Fatalf("case %d: recovery from the %s: got %v, want %d ns", i, what, got, want)
	}
	if got != nil && int64(math.Round(*got*1e9)) != want {
		t.Fatalf("case %d: recovery from the %s: got %v s, want %d ns", i, what, *got, want)
	}
}
