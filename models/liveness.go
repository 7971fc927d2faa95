package models

import (
	"fmt"
	"slices"

	"picklock/harness/history"
)

// judgeLiveness: after the last fault was healed (or began, if it stays) comes a quiet
// tail in which the lock is still asked for. In it the lock is granted, and nobody asks for it for longer than TTL
// plus grace while nobody holds it.
//
// A lock whose last owner died is free after its TTL at the latest; a lock without a TTL
// is measured by the same bound. An acquire whose outcome is unknown may have taken a
// lock that has a TTL and held it up to the TTL: the time counts anew from there.
//
// Locks that were not asked for long enough in the tail are not judged. That makes the
// verdict unknown only if one of them may be stuck: its last owner never gave it back.
func judgeLiveness(r *record) *Judgement {
	f := &findings{r: r}
	tail, healed := r.tail()
	if !healed {
		f.unknown("a fault was never healed: there is no quiet tail to judge")
		return f.judgement()
	}
	bound := int64(r.p.TTL + r.p.Grace)
	if tail.to-tail.from < bound {
		f.unknown("the load went on without faults for %s at the end, shorter than the TTL plus grace of %s", lasting(max(0, tail.to-tail.from)), lasting(bound))
		return f.judgement()
	}
	live, idle := 0, 0
	for _, name := range r.names {
		l := r.asked(name, tail)
		f.checked += len(l.acquires)
		from, to, stuck := l.stalled(bound)
		switch {
		case stuck:
			f.add(r.stall(l, span{from, to}))
		case l.granted > 0:
			live++
		case l.perhaps > 0:
			f.unknown("%s was granted as the faults that stayed were undone, and not before", name)
		case l.suspect(r):
			f.unknown("%s was not given back by its last owner and not asked for as long as TTL plus grace afterwards", name)
		default:
			idle++
		}
	}
	if idle > 0 {
		f.note("%s not asked for as long as TTL plus grace in the tail", count(idle, "lock"))
	}
	if live == 0 && len(f.list) == 0 {
		f.unknown("no lock was asked for and granted in the tail")
	}
	return f.judgement()
}

// tail is the quiet stretch from where the faults change no more to the end of the load;
// false: a fault never ended. A fault changes no more when it has ended, or, if it stays,
// once it was seen to be there: the lock must live with a stepped clock or a worker that
// hangs, and what it was granted before that is no proof of life. Faults may overlap, so the
// latest of these moments counts. The load ends with the last moment at which an acquire is
// known to have been under way, and no later than faults that stay begin to be undone: what
// follows is the shutdown.
func (r *record) tail() (span, bool) {
	t := span{r.Start, r.loadEnd}
	for i := range r.Faults {
		switch f := &r.Faults[i]; {
		case f.Stays:
			t.from = max(t.from, f.Start, f.Seen)
			if f.Undone != 0 {
				t.to = min(t.to, f.Undone)
			}
		case f.End == 0:
			return t, false
		default:
			t.from = max(t.from, f.End)
		}
	}
	return t, true
}

// asking is what was asked of one lock in the tail.
type asking struct {
	name     string
	tail     span
	acquires []*history.Operation // under way in the tail
	waits    []span               // of them, by start
	resets   []span               // held, or perhaps held: waiting then proves nothing
	granted  int                  // in the tail
	perhaps  int                  // granted as the tail ended, or after it
	grace    int64
}

func (r *record) asked(name string, tail span) *asking {
	n := len(r.byLock[name])
	l := &asking{name: name, tail: tail, grace: int64(r.p.Grace), acquires: make([]*history.Operation, 0, n), waits: make([]span, 0, n), resets: make([]span, 0, 2*n)}
	for _, g := range r.byLock[name] {
		if g.plain() && (g.returned < tail.from || g.invoked > tail.to) {
			continue
		}
		if g.plain() {
			l.acquires = append(l.acquires, g.outer)
			l.waits = append(l.waits, span{g.invoked, g.returned}.overlap(tail))
			l.resets = append(l.resets, span{g.asked, g.returned})
			l.grant(g.asked, g.returned)
			continue
		}
		for _, o := range g.acquires {
			end := o.Return
			if end == history.Never {
				// Where the record breaks off, the completion may just be missing.
				end = o.Invoke
				if r.Complete {
					end = min(r.died(o.Client, o.Invoke), tail.to)
				}
			}
			if end < tail.from || o.Invoke > tail.to {
				continue
			}
			l.acquires = append(l.acquires, o)
			l.waits = append(l.waits, span{o.Invoke, end}.overlap(tail))
			switch {
			case o.Outcome == history.OutcomeOK && o.Return >= tail.from:
				l.grant(from(o), o.Return)
				l.resets = append(l.resets, span{from(o), o.Return})
			case o.Outcome == history.OutcomeInfo && !r.p.NoTTL && o.Return != history.Never:
				l.resets = append(l.resets, span{from(o), o.Return})
			}
		}
	}
	sortBy(l.waits, func(s *span) int64 { return s.from })
	sortBy(l.resets, func(s *span) int64 { return s.from })
	if l.granted+l.perhaps > 0 {
		l.resets = withHolds(l.resets, r.locks[name])
	}
	return l
}

// grant counts a grant in the tail, by when it was last asked for and when it was told.
func (l *asking) grant(asked, told int64) {
	switch {
	case told <= l.tail.to:
		l.granted++
	case asked <= l.tail.to:
		l.perhaps++
	}
}

// withHolds merges holds into spans; both are by start.
func withHolds(spans []span, holds []*hold) []span {
	i, j := len(spans)-1, len(holds)-1
	spans = slices.Grow(spans, len(holds))[:len(spans)+len(holds)]
	for at := len(spans) - 1; j >= 0; at-- {
		if i >= 0 && spans[i].from > holds[j].from {
			spans[at] = spans[i]
			i--
		} else {
			spans[at] = holds[j].span
			j--
		}
	}
	return spans
}

// stalled finds a stretch of at least bound in which the lock was asked for all the time
// (with pauses of at most the grace) and neither granted nor held. If the lock was never
// granted in the tail, nor as it ended, it does not matter whether somebody held it.
func (l *asking) stalled(bound int64) (from, to int64, stuck bool) {
	free := l.tail.from
	for i := 0; i <= len(l.resets); i++ {
		until := l.tail.to
		if i < len(l.resets) {
			until = l.resets[i].from
		}
		if w := (span{free, min(until, l.tail.to)}); w.to-w.from >= bound {
			if from, to, stuck = l.run(w, bound); stuck {
				return from, to, true
			}
		}
		if i < len(l.resets) {
			free = max(free, l.resets[i].to)
		}
	}
	return 0, 0, false
}

// run finds the first unbroken run of asking in w that is at least as long as bound.
func (l *asking) run(w span, bound int64) (from, to int64, long bool) {
	begun := false
	for _, s := range l.waits {
		s = s.overlap(w)
		if s.from > s.to {
			continue
		}
		if !begun || s.from > to+l.grace {
			if begun && to-from >= bound {
				return from, to, true
			}
			begun, from, to = true, s.from, s.to
		}
		to = max(to, s.to)
	}
	return from, to, begun && to-from >= bound
}

// lastGrant is the last grant of a lock that was obtained by t.
func (r *record) lastGrant(name string, t int64) *group {
	var last *group
	for _, g := range r.byLock[name] {
		if g.granted() && g.outer.Return <= t && (last == nil || g.outer.Return > last.outer.Return) {
			last = g
		}
	}
	return last
}

// suspect says whether the lock may be stuck: its last owner never gave it back.
func (l *asking) suspect(r *record) bool {
	last := r.lastGrant(l.name, l.tail.to)
	since := r.Start
	if last != nil {
		given := false
		for _, x := range last.releases {
			given = given || x.Outcome == history.OutcomeOK
		}
		if !given {
			return true
		}
		since = last.outer.Return
	}
	return len(r.strays(l.name, since, l.tail.to)) > 0
}

// strays are the acquires of unknown outcome invoked in a stretch of time: each may be
// the owner that nobody knows of.
func (r *record) strays(name string, from, to int64) []*history.Operation {
	var out []*history.Operation
	for _, g := range r.byLock[name] {
		for _, o := range g.acquires {
			if o.Outcome == history.OutcomeInfo && o.Invoke <= to && (o.Return >= from) {
				out = append(out, o)
			}
		}
	}
	return out
}

// maxStrays bounds the sentences about unknown acquires in one story.
const maxStrays = 2

// stall explains why nobody got the lock.
func (r *record) stall(l *asking, s span) finding {
	kind := "never-granted"
	if l.granted > 0 {
		kind = "stalled"
	}
	x := finding{start: s.from, end: s.to, kind: kind, object: l.name, ops: []int64{}}
	last := r.lastGrant(l.name, s.from)
	if last != nil {
		x.ops = append(x.ops, last.grant)
	}
	x.story = func() []string {
		var story []string
		since := r.Start
		if last != nil {
			since = last.outer.Return
			story = append(story, r.acquired(last))
			story = append(story, r.faults(span{since, s.from}, last.outer.Client)...)
			story = append(story, r.afterwards(last))
		} else {
			story = append(story, fmt.Sprintf("nobody is known to have acquired %s before", l.name))
		}
		told := 0
		for _, o := range r.strays(l.name, since, s.from) {
			if told++; told > maxStrays {
				continue
			}
			end := o.Return
			if end == history.Never {
				end = r.died(o.Client, o.Invoke)
			}
			if last == nil || o.Client != last.outer.Client {
				story = append(story, r.faults(span{o.Invoke, r.clip(end)}, o.Client)...)
			}
			how := fmt.Sprintf("never learned whether it had acquired it (%s)", o.Error)
			if o.Error == "" {
				how = "never learned whether it had acquired it"
			}
			if end != history.Never && o.Return == history.Never {
				how = fmt.Sprintf("was acquiring it when it died at %s", r.at(end))
			}
			story = append(story, fmt.Sprintf("%s, asking since %s, %s", who(o), r.at(o.Invoke), how))
		}
		if told > maxStrays {
			story = append(story, fmt.Sprintf("and %d more never learned whether they had acquired it", told-maxStrays))
		}
		workers, n := map[[2]int]bool{}, 0
		for _, o := range l.acquires {
			if o.Invoke <= s.to && o.Return >= s.from {
				workers[[2]int{o.Client, o.Worker}] = true
				n++
			}
		}
		story = append(story, fmt.Sprintf("from %s to %s, for %s, %s asked for %s in %s and none was granted",
			r.at(s.from), r.at(s.to), lasting(s.to-s.from), count(len(workers), "worker"), l.name, count(n, "acquire")))
		if r.p.NoTTL {
			story = append(story, "the lock has no TTL: nothing frees it but a release")
		} else {
			story = append(story, fmt.Sprintf("a lock with a TTL of %s must come free within %s and %s of grace", r.p.TTL, r.p.TTL, r.p.Grace))
		}
		return sentences(story)
	}
	return x
}

// afterwards tells what became of a grant.
func (r *record) afterwards(g *group) string {
	for _, h := range r.locks[g.object] {
		if h.group != g {
			continue
		}
		s := r.ended(h)
		if h.how == endsRelease {
			for _, x := range g.releases {
				if x.Invoke == h.to && x.Outcome != history.OutcomeOK {
					s += ", but that release is not known to have worked"
				}
			}
		}
		return s
	}
	return fmt.Sprintf("%s went away without releasing it", who(g.outer))
}
