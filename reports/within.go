package reports

import (
	"cmp"
	"slices"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// within chooses the operations that go into the page when there are more than limit:
// first those around the violations, earliest first, then those from the start on. It
// returns the choice and the spans of time that it leaves out.
func within(r *store.Result, h *history.History, d *derived, limit int) (keep func(op int) bool, gaps [][2]int64) {
	if len(h.Operations) <= limit {
		return func(int) bool { return true }, nil
	}
	invoked := func(t int64) int { // operations invoked before t
		n, _ := slices.BinarySearchFunc(h.Operations, t, func(o history.Operation, t int64) int {
			if o.Invoke < t {
				return -1
			}
			return 1
		})
		return n
	}
	var windows [][2]int64
	room := limit
	add := func(from, to int64) {
		from = max(from, h.Start)
		n := invoked(to) - invoked(from)
		if n > room {
			to = h.Operations[invoked(from)+room].Invoke
			n = room
		}
		room -= n
		if to > from {
			windows = append(windows, [2]int64{from, to})
		}
	}
	var ts []told
	for _, p := range violated(r) {
		for i, v := range r.Properties[p].Violations {
			ts = append(ts, told{p, i + 1, v})
		}
	}
	slices.SortStableFunc(ts, func(a, b told) int {
		return cmp.Compare(a.StartS, b.StartS)
	})
	for _, v := range ts {
		w := window(v.Violation, h, d, int64(r.Test.TTL))
		add(w.From, w.To)
	}
	add(h.Start, h.End+1)

	// Windows may overlap; the room they took twice is not worth finding.
	slices.SortFunc(windows, func(a, b [2]int64) int {
		return cmp.Compare(a[0], b[0])
	})
	end := h.Start
	for _, w := range windows {
		if w[0] > end {
			gaps = append(gaps, [2]int64{end, w[0]})
		}
		end = max(end, w[1])
	}
	if end < h.End {
		gaps = append(gaps, [2]int64{end, h.End})
	}
	kept := make([][2]int, len(windows)) // from the first to before the last of each window
	for i, w := range windows {
		kept[i] = [2]int{invoked(w[0]), invoked(w[1])}
	}
	return func(op int) bool {
		return slices.ContainsFunc(kept, func(w [2]int) bool { return w[0] <= op && op < w[1] })
	}, gaps
}

// span is a window of the record, in ns.
type span struct{ From, To int64 }

// window is the part of the record that shows a violation: from the first hold or
// operation that has to do with it to its end, and a margin of at most one and a half
// leases on both sides.
func window(v models.Violation, h *history.History, d *derived, ttl int64) span {
	at := func(s float64) int64 { return h.Start + int64(s*1e9) }
	w := span{at(v.StartS), max(at(v.EndS), at(v.StartS))}
	var longest int64
	for _, id := range v.Operations {
		i, ok := d.Index.Get(id)
		if !ok {
			continue
		}
		w.From = min(w.From, d.Ends[i])
		if h.Operations[i].Op != history.Acquire { // a wait may be much longer than what it leads to
			w.From = min(w.From, h.Operations[i].Invoke)
			w.To = max(w.To, d.Ends[i])
		}
	}
	involved := involvedHolds(v, h, d)
	for i := range d.Holds {
		if x := &d.Holds[i]; involved[i] {
			w.From = min(w.From, x.From)
			w.To = max(w.To, min(x.To, w.To+2*max(ttl, x.To-x.From)))
			longest = max(longest, x.To-x.From)
		}
	}
	room := w.To - w.From
	if ttl > 0 {
		room = ttl / 2
	}
	margin := max((w.To-w.From)/5, min(longest*3/2, room), 1e6) // at least 1 ms: never an empty window
	if ttl > 0 {
		margin = min(margin, ttl*3/2)
	}
	return span{max(h.Start, w.From-margin), min(h.End, w.To+margin)}
}

// involvedHolds marks the holds that a violation's operations belong to.
func involvedHolds(v models.Violation, h *history.History, d *derived) []bool {
	grants := map[int64]bool{}
	for _, id := range v.Operations {
		grants[id] = true
		if i, ok := d.Index.Get(id); ok && h.Operations[i].Grant != 0 {
			grants[h.Operations[i].Grant] = true
		}
	}
	marks := make([]bool, len(d.Holds))
	for i, x := range d.Holds {
		marks[i] = grants[h.Operations[x.Acquire].ID]
	}
	return marks
}
