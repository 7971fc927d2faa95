package fast

import (
	"cmp"
	"slices"

	"picklock/models/spec"
)

// reach replaces the states by all that can be reached by doing pending operations, the
// last of them that in slot.
func (s *stockSearch) reach(slot int32) {
	var work []stockState
	found := stockStates{stockSearch: s}
	seen := stockStates{stockSearch: s}
	for _, st := range s.states {
		if s.done(st, slot) {
			found.add(st)
		} else if seen.add(st) {
			work = append(work, st)
		}
	}
	for len(work) > 0 {
		st := work[len(work)-1]
		work = work[:len(work)-1]
		if seen.worse(st) {
			continue // one that used less was found since
		}
		left := s.unused(st)
		for y, i := range s.slots {
			if i == none || s.done(st, int32(y)) {
				continue
			}
			s.work++
			for _, next := range s.do(st, left, int32(y)) {
				if s.done(next, slot) {
					found.add(next)
				} else if seen.add(next) {
					work = append(work, next)
				}
			}
		}
		if seen.size > 8*s.bounds.states {
			s.cut = true
			break
		}
	}
	s.states = s.states[:0]
	for _, level := range found.levels {
		s.states = append(s.states, found.byLevel[level]...)
	}
	if len(s.states) > s.bounds.states {
		s.cut = true
		slices.SortFunc(s.states, func(a, b stockState) int { return s.compare(a, b) })
		s.states = s.states[:s.bounds.states]
	}
}

// compare puts states first that are likely to lead further: those that need no rise, then
// those that used less. What is kept depends on nothing else than the history.
func (s *stockSearch) compare(a, b stockState) int {
	var used int64
	for k := range s.classes {
		used += a[2+k] - b[2+k]
	}
	return cmp.Or(cmp.Compare(s.stranded(a), s.stranded(b)), cmp.Compare(used, 0), slices.Compare(a, b))
}

// stranded counts the pending operations that start from above the level.
func (s *stockSearch) stranded(st stockState) (n int) {
	for y, i := range s.slots {
		if i == none || s.done(st, int32(y)) {
			continue
		}
		if o := &s.ops[i]; o.Step.Named() && o.Left-o.Delta() > st[0] {
			n++
		}
	}
	return n
}

// do gives the states after the pending operation in slot y, and what it needs before it;
// left is what can be used.
func (s *stockSearch) do(st stockState, left []int64, y int32) []stockState {
	if !s.turn(st, y) {
		return nil
	}
	o := &s.ops[s.slots[y]]
	level := o.Left // after it
	ways := [][]int64{nil}
	switch {
	case o.Step == spec.Refuse:
		ways = s.ways(left, o.Qty-1-st[0], true)
	case !o.Step.Named():
		level = st[0] + o.Delta()
	case st[1] == 0 && o.Left-o.Delta() != st[0]:
		ways = s.ways(left, o.Left-o.Delta()-st[0], false)
	}
	var out []stockState
	for _, way := range ways {
		next := slices.Clone(st)
		for k, n := range way {
			next[2+k] += n
			next[0] += n * s.classes[k]
		}
		if o.Step != spec.Refuse {
			next[0] = level
		}
		if o.Step.Named() {
			next[1] = 0
		}
		s.mark(next, y, true)
		if s.settle(next) {
			out = append(out, next)
		}
	}
	return out
}

// turn says whether all that must come before the operation in slot y is done.
func (s *stockSearch) turn(st stockState, y int32) bool {
	for _, b := range s.sooner[y] {
		if !s.done(st, b) {
			return false
		}
	}
	return true
}

// settle does what is pending and changes nothing. It says whether anything can follow.
func (s *stockSearch) settle(st stockState) bool {
	if st[1] != 0 {
		return true
	}
	stranded := false
	for y, i := range s.slots {
		if i == none || s.done(st, int32(y)) {
			continue
		}
		o := &s.ops[i]
		if s.idle(st, o) {
			s.mark(st, int32(y), true)
			continue
		}
		stranded = stranded || o.Step.Named() && o.Left-o.Delta() > st[0]
	}
	if !stranded {
		return true
	}
	for y, i := range s.slots {
		if i == none || s.done(st, int32(y)) {
			continue
		}
		if o := &s.ops[i]; o.Step.Named() && o.Left-o.Delta() > st[0] && !s.reachable(st, o) {
			return false
		}
	}
	return true
}

// reachable says whether the level may rise again to where the pending o starts, before o
// returns, often enough for all pending takes that lead below there.
func (s *stockSearch) reachable(st stockState, o *spec.StockOp) bool {
	from, falls, rises := o.Left-o.Delta(), 0, 0
	for k, class := range s.classes {
		if class > 0 {
			rises += int(int64(s.called[k]) - st[2+k])
		}
	}
	for y, i := range s.slots {
		if i == none || s.done(st, int32(y)) {
			continue
		}
		switch p := &s.ops[i]; {
		case p.Step == spec.Take && p.Left < from && p.Left+p.Qty >= from && p.Return <= o.Return:
			falls++
		case p.Delta() > 0 && raisesTo(p, from):
			rises++
		}
	}
	need := max(1, falls) // a read or restock needs one, and can share it with a take
	for n, i := range s.raises {
		if need <= rises || n > 64 {
			return true
		}
		p := &s.ops[i]
		if p.Call > o.Return {
			break
		}
		if raisesTo(p, from) {
			rises++
		}
	}
	return need <= rises
}

// raisesTo says whether the restock can lead from below the level to it or above.
func raisesTo(p *spec.StockOp, level int64) bool {
	return p.Step != spec.Restock || p.Left >= level && p.Left-p.Qty < level
}

// unused gives how many of each class can be used: none of one of which a certain step is
// pending.
func (s *stockSearch) unused(st stockState) []int64 {
	left := make([]int64, len(s.classes))
	for k := range s.classes {
		left[k] = int64(s.called[k]) - st[2+k]
	}
	for y, i := range s.slots {
		if i == none || s.done(st, int32(y)) {
			continue
		}
		if o := &s.ops[i]; !o.Step.Named() && o.Step != spec.Refuse {
			if k, ok := slices.BinarySearch(s.classes, o.Delta()); ok {
				left[k] = 0
			}
		}
	}
	return left
}

// ways gives how many of each class to use so that the level changes by delta, or, for a
// refusal, falls by that much at least; only those of which no part is enough.
func (s *stockSearch) ways(left []int64, delta int64, refusal bool) [][]int64 {
	var up, down int64 // the largest step
	classes := 0
	for k, class := range s.classes {
		if left[k] > 0 && !(refusal && class > 0) {
			classes++
			up, down = max(up, class), max(down, -class)
		}
	}
	if classes == 0 || delta > 0 && up == 0 || delta < 0 && down == 0 {
		return nil
	}
	w := stockWays{classes: s.classes, left: left, refusal: refusal, way: make([]int64, len(s.classes)), most: s.bounds.ways}
	// A set in which no part sums up to zero can be laid so that the level stays within the
	// largest steps around the way from 0 to delta, and never comes to the same one twice.
	w.find(0, delta, up+down+max(delta, -delta))
	s.cut = s.cut || w.cut
	s.work += w.work
	if has(stockWaysFew) {
		return w.found[:min(1, len(w.found))]
	}
	return w.found
}

// stockWays finds the least sets of steps that lead to a level.
type stockWays struct {
	classes, left, way []int64
	refusal            bool
	found              [][]int64
	most, work         int
	cut                bool
}

// find tries the classes from k on for the rest of the way, with at most steps steps.
func (w *stockWays) find(k int, rest, steps int64) {
	w.work++
	if w.work > 64*w.most || len(w.found) >= w.most {
		w.cut = true
		return
	}
	if rest == 0 || w.refusal && rest > 0 {
		w.add()
		return
	}
	if k == len(w.classes) {
		return
	}
	class := w.classes[k]
	if k == len(w.classes)-1 {
		n := rest / class
		if w.refusal && class > 0 {
			return
		}
		if w.refusal && rest%class != 0 {
			n++
		}
		if n > 0 && (w.refusal || rest%class == 0) && n <= min(w.left[k], steps) {
			w.way[k] = n
			w.add()
			w.way[k] = 0
		}
		return
	}
	most := min(w.left[k], steps)
	if w.refusal && class > 0 {
		most = 0
	}
	for n := int64(0); n <= most && !w.cut; n++ {
		w.way[k] = n
		w.find(k+1, rest-n*class, steps-n)
		if w.refusal && rest-n*class >= 0 {
			break // more would be more than enough
		}
	}
	w.way[k] = 0
}

// add notes the way, unless a part of it is enough.
func (w *stockWays) add() {
	if w.refusal {
		w.found = append(w.found, slices.Clone(w.way))
		return
	}
	for _, f := range w.found {
		if covers(w.way, f) {
			return
		}
	}
	w.found = slices.DeleteFunc(w.found, func(f []int64) bool { return covers(f, w.way) })
	w.found = append(w.found, slices.Clone(w.way))
}

// covers says whether a has at least what b has, of each.
func covers(a, b []int64) bool {
	for k := range a {
		if a[k] < b[k] {
			return false
		}
	}
	return true
}
