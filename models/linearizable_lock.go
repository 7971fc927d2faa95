package models

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// judgeLinearizableLock: the acquires and releases of each lock linearize as an
// owner-aware mutex. At most one violation per lock is found: behind it the state of the
// lock is not defined.
func judgeLinearizableLock(r *record) *Judgement {
	f := &findings{r: r}
	var pictures []Picture
	for _, name := range r.names {
		whole := r.wholeLock(name)
		if len(whole) == 0 {
			continue
		}
		f.checked += len(whole)
		var split []lockPiece
		res := r.settle(f, question{
			object: name,
			fast: func(lim fast.Limits) fast.Result {
				return fast.Lock(r.lockKind(), whole, lim)
			},
			pieces: func() []piece {
				split = lockPieces(ordered(r.lockOps(name)), r.sizes.piece)
				pieces := make([]piece, len(split))
				for i := range split {
					pieces[i] = split[i].piece(split[i].cut[0], r)
				}
				return pieces
			},
		})
		switch res.result {
		case porcupine.Unknown:
			if res.piece >= 0 {
				f.unknown("%s was not decided within %s and 1 GiB: it is linearizable up to %s", name, r.p.PorcupineTimeout,
					r.at(max(r.Start, res.cut, split[res.piece].ops[0].from)))
			}
		case porcupine.Illegal:
			x, picture := r.illegalLock(name, &split[res.piece], res.cut)
			f.add(x)
			if len(pictures) < r.p.MaxViolations {
				pictures = append(pictures, picture...)
			}
		}
	}
	if len(f.list) > 0 {
		f.note("one violation is counted per lock: after the first its state is not defined")
	}
	j := f.judgement()
	j.Pictures = pictures
	return j
}

// illegalLock explains the shortest illegal prefix of a piece. The operation that made it
// illegal is the one whose return ends the prefix; the picture begins where the lock was
// last certainly free.
func (r *record) illegalLock(name string, l *lockPiece, t int64) (finding, []Picture) {
	begin := l.cut[0]
	culprit := &l.ops[len(l.ops)-1]
	for i := range l.ops {
		if l.ops[i].to == t && !l.ops[i].optional() {
			culprit = &l.ops[i]
		}
	}
	for _, c := range l.cut {
		if c.state.holds == 0 && c.at < len(l.ops) && l.ops[c.at].from <= culprit.from {
			begin = c
		}
	}
	holder := l.holder(begin, culprit)
	x := finding{start: culprit.from, end: culprit.to, object: name, ops: []int64{culprit.op.ID}}
	if holder != 0 {
		x.ops = append(x.ops, holder)
	}
	switch culprit.step {
	case stepAcquire:
		x.kind = kindDoubleGrant
	case stepNotHeld:
		x.kind = "lost-before-release"
	default:
		x.kind = "foreign-release"
	}
	w := r.lockWitness(l, begin, t)
	n := 0
	if w != nil {
		n = w.Operations()
		for _, u := range w.Units {
			for _, id := range u {
				if !slices.Contains(x.ops, id) {
					x.ops = append(x.ops, id)
				}
			}
		}
	}
	x.witness = func() *Witness { return w }
	x.story = func() []string { return r.lockStory(culprit, holder, n) }
	return x, w.picture(r, name)
}

// lockWitness makes an illegal prefix of a piece small. A unit is all that was done with
// one grant by then.
func (r *record) lockWitness(l *lockPiece, begin cut, t int64) *Witness {
	of := map[int64]int{}
	var units [][]spec.LockOp
	add := func(grant int64, o spec.LockOp) {
		i, known := of[grant]
		if !known {
			i = len(units)
			of[grant], units = i, append(units, nil)
		}
		units[i] = append(units[i], o)
	}
	ops := l.ops[begin.at:]
	for range begin.state.holds {
		at := ops[0].from - 1
		add(begin.state.grant, spec.LockOp{Step: spec.Acquire, Owner: begin.state.grant, Call: at, Return: at, ID: begin.state.grant})
	}
	for _, o := range knownSpec(ops, t) {
		add(o.Owner, o)
	}
	name := ownerMutex
	if r.p.Reentrant {
		name = "reentrant-mutex"
	}
	return lockSuspect(name, r.lockKind(), units).minimise()
}

// holder finds the grant that stood against the culprit: the latest other grant that was
// obtained before it returned and that nobody had released by then; 0: none.
func (l *lockPiece) holder(begin cut, culprit *lockOp) int64 {
	holds := map[int64]int{}
	if begin.state.holds > 0 {
		holds[begin.state.grant] = begin.state.holds
	}
	var order []int64
	for i := begin.at; i < len(l.ops); i++ {
		o := &l.ops[i]
		if o == culprit || o.to > culprit.to {
			continue
		}
		switch o.step {
		case stepAcquire:
			holds[o.grant]++
			order = append(order, o.grant)
		case stepRelease:
			holds[o.grant]--
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		if g := order[i]; holds[g] > 0 && g != culprit.grant {
			return g
		}
	}
	if g := begin.state.grant; holds[g] > 0 && g != culprit.grant {
		return g
	}
	return 0
}

// lockStory tells why no order of the operations explains all replies.
func (r *record) lockStory(culprit *lockOp, holder int64, n int) []string {
	o := culprit.op
	own := r.group(culprit.grant)
	var story []string
	since, clients := culprit.from, []int{o.Client}
	if g := r.group(holder); g != nil && g.outer != nil {
		story = append(story, r.acquired(g))
		since = min(since, from(g.outer))
		clients = append(clients, g.outer.Client)
	}
	acquired := own != nil && own.granted()
	if acquired && culprit.step != stepAcquire {
		story = append(story, r.acquired(own))
		since = min(since, from(own.outer))
	}
	story = append(story, r.faults(span{since, culprit.to}, clients...)...)
	switch {
	case culprit.step == stepAcquire && o.Outcome != history.OutcomeOK:
		story = append(story, fmt.Sprintf("%s acquired %s at some time from %s to %s, as its own release proves, while nobody had released it",
			who(o), o.Object, r.at(culprit.from), r.at(culprit.to)))
	case culprit.step == stepAcquire:
		story = append(story, r.acquired(own), fmt.Sprintf("nobody had released %s by then", o.Object))
	case culprit.step == stepNotHeld:
		story = append(story, fmt.Sprintf("%s released it at %s and was told that it did not hold it, although it had not released it before",
			who(o), r.at(o.Return)))
	case acquired:
		story = append(story, fmt.Sprintf("%s released %s %s and the server said that it took effect, although it no longer held the lock",
			who(o), o.Object, r.between(o.Invoke, o.Return)))
	case own != nil && own.outer != nil && own.outer.Outcome == history.OutcomeInfo:
		story = append(story, fmt.Sprintf("%s released %s %s and the server said that it took effect: it must have acquired it by then, while nobody had released it",
			who(o), o.Object, r.between(o.Invoke, o.Return)))
	default:
		story = append(story, fmt.Sprintf("%s released %s %s and the server said that it took effect, although it had not acquired it",
			who(o), o.Object, r.between(o.Invoke, o.Return)))
	}
	if n == 1 {
		return append(story, "the lock was free then: nothing explains that reply")
	}
	return append(story, fmt.Sprintf("no order of these %d operations explains all replies", n))
}
