package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
)

// randomTest is a history of workers that ask, sell and release as chance has it: with
// failures, unknown outcomes, nested acquires, clients that die, lose their grants or believe
// what no reply said. Every worker does one thing after the other. In some of them all happens at whole
// 20 ms, so that much falls on the edges of windows and bins.
func randomTest(rng *rand.Rand, clients int) *history.History {
	h := &history.History{Start: 5e9 + rng.Int64N(1e6), Complete: true, Stock: map[string]history.Levels{}}
	length := []int64{60e6, 900e6, 7e9, 40e9, 400e9}[rng.IntN(5)] + rng.Int64N(1e9)
	id := int64(0)
	for client := range clients {
		for worker := range 1 + rng.IntN(2) {
			now := h.Start + rng.Int64N(length/4+1)
			step := func() int64 { return 1 + rng.Int64N(max(2, length/int64(4+rng.IntN(60)))) }
			do := func(op history.Op, grant int64) *history.Operation {
				id++
				o := history.Operation{ID: id, Process: int64(client*10 + worker), Client: client, Worker: worker, Op: op, Object: "lock", Grant: grant, Invoke: now, Return: now + step()}
				switch rng.IntN(8) {
				case 0:
					o.Outcome = history.OutcomeFail
				case 1:
					o.Outcome = history.OutcomeInfo
					if rng.IntN(2) == 0 {
						o.Return = history.Never
					}
				default:
					o.Outcome = history.OutcomeOK
				}
				now = max(now, o.Invoke) + step()
				if o.Return != history.Never {
					now = max(now, o.Return+rng.Int64N(1e6)+1)
				}
				h.Operations = append(h.Operations, o)
				return &h.Operations[len(h.Operations)-1]
			}
			for now < h.Start+length {
				a := do(history.Acquire, 0)
				a.Validity, a.From = 1+rng.Int64N(length/8), a.Invoke
				switch rng.IntN(12) {
				case 0:
					a.Belief = history.BelievesNot
				case 1:
					a.Belief = history.BelievesHeld
				}
				grant, depth := a.ID, 1
				if a.Outcome == history.OutcomeOK && a.Belief == "" {
					for validity := a.Validity; depth < 4 && rng.IntN(5) == 0; depth++ {
						x := do(history.Acquire, grant)
						if x.Validity = validity; x.Return == history.Never {
							break // nobody asks again before he knows
						}
					}
				}
				if rng.IntN(3) > 0 {
					d := do(history.Deduct, grant)
					d.Sold = d.Outcome == history.OutcomeOK && rng.IntN(4) > 0
				}
				if rng.IntN(8) > 0 {
					for range depth - rng.IntN(2)*rng.IntN(2) {
						if x := do(history.Release, grant); x.Outcome == history.OutcomeFail && rng.IntN(2) == 0 {
							x.Code = history.CodeNotHeld
						}
					}
				} else if rng.IntN(2) == 0 {
					h.Losses = append(h.Losses, history.Loss{Grant: grant, Time: now})
				}
			}
		}
		if rng.IntN(4) == 0 {
			h.Deaths = append(h.Deaths, history.Death{Client: client, Time: h.Start + rng.Int64N(length)})
		}
	}
	if rng.IntN(2) == 0 {
		round := func(t *int64) {
			if *t != history.Never {
				*t -= (*t - h.Start) % 20e6
			}
		}
		for i := range h.Operations {
			o := &h.Operations[i]
			round(&o.Invoke)
			round(&o.Return)
			o.From, o.Validity = o.Invoke, o.Validity-o.Validity%20e6+20e6
		}
		for i := range h.Deaths {
			round(&h.Deaths[i].Time)
		}
		for i := range h.Losses {
			round(&h.Losses[i].Time)
		}
	}
	slices.SortStableFunc(h.Operations, func(a, b history.Operation) int { return int(min(1, max(-1, a.Invoke-b.Invoke))) })
	slices.SortStableFunc(h.Deaths, func(a, b history.Death) int { return int(min(1, max(-1, a.Time-b.Time))) })
	slices.SortStableFunc(h.Losses, func(a, b history.Loss) int { return int(min(1, max(-1, a.Time-b.Time))) })
	h.End = h.Start
	for _, o := range h.Operations {
		h.End = max(h.End, o.Invoke)
		if o.Return != history.Never {
			h.End = max(h.End, o.Return)
		}
	}
	return h
}

// TestChartsAgainstBruteForce compares what the charts draw of random tests with a plain
// count, and with what models measures.
func TestChartsAgainstBruteForce(t *testing.T) {
	gaps, over := 0, 0
	for seed := range uint64(300) {
		h := randomTest(rand.New(rand.NewPCG(seed, 11)), 1+int(seed%7))
		n := reports.NumbersOf(&store.Result{}, h)
		if len(n.Sales) < 1 || len(n.Sales) > 60 || len(n.Edges) != len(n.Sales)+1 {
			t.Fatalf("seed %d: %d windows, want 1 to 60", seed, len(n.Sales))
		}
		for w := range n.Sales {
			within(t, seed, h, n, w)
		}
		perClient(t, seed, h, n)
		lengthsOf(t, seed, h, n)
		m := models.Judge(h, models.Params{Promises: []models.Property{}, MinSales: -1, MinContention: -1}).Measures
		with, of := sum(n.With), sum(n.Of)
		if of == 0 || float64(with)/float64(of) != m.Availability {
			t.Errorf("seed %d: availability is %d/%d, models says %v", seed, with, of, m.Availability)
		}
		if with < of {
			gaps++
		}
		over += n.Over
	}
	if gaps < 50 || over < 50 {
		t.Errorf("%d histories have gaps, %d holds overstayed: the test looks at too little", gaps, over)
	}
}

// within counts what happened in one window.
func within(t *testing.T, seed uint64, h *history.History, n *reports.ChartNumbers, w int) {
	t.Helper()
	from, to := h.Start+int64(math.Round(n.Edges[w]*1e9)), h.Start+int64(math.Round(n.Edges[w+1]*1e9))
	if w == len(n.Sales)-1 {
		to++ // what ended with the record belongs to the last
	}
	sales, grants, refused := 0, 0, 0
	var waits []float64
	for _, o := range h.Operations {
		if o.Return < from || o.Return >= to {
			continue
		}
		switch {
		case o.Op == history.Deduct && o.Sold:
			sales++
		case o.Op == history.Acquire && o.Outcome == history.OutcomeOK:
			grants++
			waits = append(waits, float64(o.Return-o.Invoke)/1e6)
		case o.Op == history.Acquire && o.Outcome == history.OutcomeFail:
			refused++
		}
	}
	if sales != n.Sales[w] || grants != n.Grants[w] || refused != n.Refused[w] {
		t.Errorf("seed %d, window %d: %d sales, %d grants, %d refused, want %d, %d, %d", seed, w, n.Sales[w], n.Grants[w], n.Refused[w], sales, grants, refused)
	}
	if want := ranks(waits); n.Waits[w] != want {
		t.Errorf("seed %d, window %d: waits %v, want %v", seed, w, n.Waits[w], want)
	}
}

// ranks are p50, p95, p99 and the longest, by nearest rank.
func ranks(all []float64) (out [4]float64) {
	slices.Sort(all)
	for i, q := range []int{50, 95, 99, 100} {
		if len(all) > 0 {
			out[i] = all[(q*len(all)+99)/100-1]
		}
	}
	return out
}

func perClient(t *testing.T, seed uint64, h *history.History, n *reports.ChartNumbers) {
	t.Helper()
	sum, squares := 0.0, 0.0
	for _, x := range n.Columns {
		asked := 0
		var waits []float64
		for _, o := range h.Operations {
			if o.Op == history.Acquire && fmt.Sprint(o.Client) == x.Name {
				asked++
				if o.Outcome == history.OutcomeOK {
					waits = append(waits, float64(o.Return-o.Invoke)/1e6)
				}
			}
		}
		if asked != x.Asked || len(waits) != x.Grants || ranks(waits) != x.Waits {
			t.Errorf("seed %d: %+v, want asked %d, granted %d, waits %v", seed, x, asked, len(waits), ranks(waits))
		}
		sum += float64(len(waits))
		squares += float64(len(waits) * len(waits))
	}
	if want := sum * sum / squares / float64(len(n.Columns)); squares > 0 && math.Abs(n.Jain-want) > 1e-12 {
		t.Errorf("seed %d: Jain's index is %v, want %v", seed, n.Jain, want)
	}
}

// givenBack is when a grant was given back as often as it was taken, or was said to be gone.
func givenBack(h *history.History, grant int64) int64 {
	depth, end := 0, h.End
	for now := h.Start; now <= h.End; { // from one event to the next
		next := h.End + 1
		for _, o := range h.Operations {
			if o.ID != grant && o.Grant != grant {
				continue
			}
			took := o.Op == history.Acquire && o.Return == now && (o.Outcome == history.OutcomeOK && o.Belief != history.BelievesNot || o.Belief == history.BelievesHeld)
			if took {
				depth++
			}
			if o.Op == history.Release && o.Return == now && o.Outcome == history.OutcomeFail && o.Code == history.CodeNotHeld && depth > 0 {
				return now
			}
			for _, t := range []int64{o.Invoke, o.Return} {
				if t > now {
					next = min(next, t)
				}
			}
		}
		for _, o := range h.Operations {
			if o.Op == history.Release && o.Grant == grant && o.Invoke == now {
				if depth--; depth <= 0 {
					return now
				}
			}
		}
		now = next
	}
	return end
}

// lengthsOf spells out each hold.
func lengthsOf(t *testing.T, seed uint64, h *history.History, n *reports.ChartNumbers) {
	t.Helper()
	within, overstayed, leases, total := map[int]int{}, map[int]int{}, map[int]int{}, 0
	bin := func(ns int64) int {
		return slices.IndexFunc(n.Lengths, func(b reports.ChartBin) bool { return b.From <= ns && ns < b.To })
	}
	for _, a := range h.Operations {
		granted := a.Outcome == history.OutcomeOK
		if a.Op != history.Acquire || a.Grant != 0 || a.Return == history.Never || a.Belief == history.BelievesNot || !granted && a.Belief != history.BelievesHeld {
			continue
		}
		end := min(h.End, givenBack(h, a.ID))
		for _, x := range h.Deaths {
			if x.Client == a.Client && x.Time >= a.Return {
				end = min(end, x.Time)
			}
		}
		for _, x := range h.Losses {
			if x.Grant == a.ID {
				end = min(end, max(x.Time, a.Return))
			}
		}
		if end <= a.Return {
			continue
		}
		lease := a.Return
		if granted {
			lease = max(a.Return, min(end, a.From+a.Validity))
		}
		total++
		if lease < end {
			overstayed[bin(end-a.Return)]++
		} else {
			within[bin(end-a.Return)]++
		}
		if lease > a.Return {
			leases[bin(lease-a.Return)]++
		}
	}
	counted := 0
	for i, b := range n.Lengths {
		// The first of all bins counts what is shorter, too.
		if got, want := [3]int{b.Within, b.Overstayed, b.Leases}, [3]int{within[i], overstayed[i], leases[i]}; got != want && b.From > 1000 {
			t.Errorf("seed %d: from %d to %d ns are %v holds within, overstayed, leases; want %v", seed, b.From, b.To, got, want)
		}
		counted += b.Within + b.Overstayed
	}
	if counted != total {
		t.Errorf("seed %d: %d holds are counted, want %d", seed, counted, total)
	}
}

// TestManyClientsShareAColumn: of 500 clients the extremes stand alone, and nobody is lost.
func TestManyClientsShareAColumn(t *testing.T) {
	h := randomTest(rand.New(rand.NewPCG(5, 5)), 500)
	n := reports.NumbersOf(&store.Result{}, h)
	clients, asked, grants := 0, 0, 0
	for i, x := range n.Columns {
		clients += x.Clients
		asked += x.Asked
		grants += x.Grants
		if i > 0 && x.Fewest < n.Columns[i-1].Most {
			t.Errorf("column %s has %d grants, fewer than the %d before it", x.Name, x.Fewest, n.Columns[i-1].Most)
		}
	}
	if len(n.Columns) != 31 || clients != 500 || n.Columns[15].Clients != 470 {
		t.Errorf("%d columns of %d clients, want 15, one of 470, and 15", len(n.Columns), clients)
	}
	if asked < grants || grants != sum(n.Grants) {
		t.Errorf("the columns have %d grants, want all %d", grants, sum(n.Grants))
	}
}
