package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picklock/harness/history"
	"picklock/models/spec"
)

// judgeOwnership: no release or renewal took effect for somebody who certainly did not
// own the lock, while the lease of another owner certainly covered its whole interval.
//
// Who certainly does not own: somebody whose acquire failed or was never made; and the
// holder of a grant G where another grant B was asked for after G had returned. B could
// only be granted because G's key was gone by then, and without a new grant it does not
// come back. An acquire whose outcome is unknown may own, always.
//
// A release or renewal counts from its deciding attempt where the record has it: a release
// that compares first and deletes later takes effect with the deletion.
//
// Where the record tells on which servers grants and effects were made, an effect counts
// against an owner only if the owner's key can have been on its server: see reigns. Then it
// is certain that the key was not the worker's own if the two were done in the same reign,
// or if the worker's own key must have expired everywhere. Otherwise nobody can tell, and
// the verdict is unknown. Where the record tells no servers, there is only one.
//
// The victim's lease counts for as long as the lock promised it, also after the death of
// the victim. A lease without an end is over when the next grant proves it gone.
func judgeOwnership(r *record) *Judgement {
	f := &findings{r: r}
	reigns := r.readReigns()
	for _, name := range r.names {
		owners := r.owners(name, reigns)
		for _, g := range r.byLock[name] {
			if g.plain() && len(g.releases) == 1 && owners.noneBetween(g.returned, g.back) {
				f.checked++ // nobody else owned it between acquire and release
				continue
			}
			for _, ops := range [...][]*history.Operation{g.releases, g.extends} {
				for _, o := range ops {
					if o.Outcome != history.OutcomeOK {
						continue
					}
					f.checked++
					switch v, sure := owners.robbed(g, o); {
					case v == nil:
					case sure:
						f.add(r.robbery(g, o, v))
					default:
						f.unknown("the %s of %s by %s at %s may have met a key of its own, or that of %s, which another server granted",
							o.Op, o.Object, who(o), r.at(o.Return), who(v.outer))
					}
				}
			}
		}
	}
	return f.judgement()
}

// owned is a stretch in which a grant certainly owned its lock.
type owned struct {
	span
	*group
}

// ownedBy is all of them for one lock, by start, with the one that lasts longest among
// those up to each.
type ownedBy struct {
	all     []owned
	longest []int
	near    int // where robbed looked last
	r       *record
	reigns  reigns
}

func (r *record) owners(name string, all reigns) ownedBy {
	grants := make([]*group, 0, len(r.byLock[name]))
	for _, g := range r.byLock[name] {
		if g.granted() {
			grants = append(grants, g)
		}
	}
	sortBy(grants, func(g **group) int64 { return (*g).asked })
	// next[i] is the earliest return of a grant that was asked for no earlier than i.
	next := make([]int64, len(grants)+1)
	next[len(grants)] = history.Never
	for i := len(grants) - 1; i >= 0; i-- {
		next[i] = min(next[i+1], grants[i].returned)
	}
	by := ownedBy{all: make([]owned, 0, len(grants)), longest: make([]int, 0, len(grants)), r: r, reigns: all}
	var sure []span
	for _, g := range grants {
		sure = r.guaranteed(g, sure[:0])
		for _, s := range sure {
			if s.to == history.Never {
				i, _ := slices.BinarySearchFunc(grants, g.returned+1, func(x *group, t int64) int {
					return cmp.Compare(x.asked, t)
				})
				s.to = next[i]
			}
			by.all = append(by.all, owned{s, g})
		}
	}
	sortBy(by.all, func(o *owned) int64 { return o.span.from })
	best := 0
	for i, o := range by.all {
		if o.to > by.all[best].to {
			best = i
		}
		by.longest = append(by.longest, best)
	}
	return by
}

// robbed finds the owner whose lock o changed on behalf of g, who was not the owner; nil:
// there is none for certain. If it is not sure, o may have changed what was g's own.
func (by *ownedBy) robbed(g *group, o *history.Operation) (victim *owned, sure bool) {
	// The first n began before o can have taken effect.
	n := by.before(from(o))
	covers := func(x *owned) bool { return o.Return < x.to && x.group != g }
	if g.outer == nil || g.outer.Outcome == history.OutcomeFail {
		// Never the owner: any owner will do. Mostly the first that is looked at does.
		for i := n - 1; i >= 0 && by.all[by.longest[i]].to > o.Return; i-- {
			for _, x := range [...]*owned{&by.all[by.longest[i]], &by.all[i]} {
				if covers(x) && by.reaches(o, nil, x) {
					return x, true
				}
			}
		}
		return nil, false
	}
	if !g.granted() {
		return nil, false
	}
	// Owners that were asked for after g had returned began after it: no need to look
	// further back. An extend or a nested acquire may have begun a stretch of its own, so
	// each is looked at by its own grant.
	for i := n - 1; i >= 0 && by.all[i].from > g.returned; i-- {
		x := &by.all[i]
		if !covers(x) || x.asked <= g.lastAsked() || !by.reaches(o, g, x) {
			continue
		}
		if by.alone(o, x) || by.r.gone(g, from(o)) {
			return x, true
		}
		victim = x
	}
	return victim, false
}

// reaches says whether o can have met the key of x; g is whom it was done for.
func (by *ownedBy) reaches(o *history.Operation, g *group, x *owned) bool {
	if oneServer(o, x.outer) {
		return true
	}
	var own *history.Operation
	if g != nil {
		own = g.outer
	}
	return by.reigns.inherits(o, own, x.outer)
}

// alone says whether the keys that o met were certainly those among which x was granted: no
// earlier grant had one then.
func (by *ownedBy) alone(o *history.Operation, x *owned) bool {
	return oneServer(o, x.outer) || by.reigns.together(o, x.outer)
}

// oneServer: the record does not tell the servers of two operations apart.
func oneServer(a, b *history.Operation) bool {
	return a.Server == history.ServerUnknown || b.Server == history.ServerUnknown
}

// gone says whether the key of a grant has certainly expired by t on every server that had
// it. Clocks that were moved, and an acquire or renewal that may take effect at any time,
// leave that open.
func (r *record) gone(g *group, t int64) bool {
	if r.expired(g) >= t || slices.ContainsFunc(r.Faults, func(f history.Fault) bool { return strings.HasPrefix(f.Kind, "clock-") }) {
		return false
	}
	for _, ops := range [...][]*history.Operation{g.acquires, g.extends} {
		for _, o := range ops {
			if o.Outcome == history.OutcomeInfo {
				return false
			}
		}
	}
	return true
}

// noneBetween says whether no stretch began after one moment and before another.
func (by *ownedBy) noneBetween(after, before int64) bool {
	n := by.before(before)
	return n == 0 || by.all[n-1].from <= after
}

// before tells how many began before t. Operations come nearly in order, so the place is
// near the last one.
func (by *ownedBy) before(t int64) int {
	step := 1
	low, high := by.near, by.near // all up to low began before t, all from high on did not
	for low > 0 && by.all[low-1].from >= t {
		high = low
		low, step = max(0, low-step), 2*step
	}
	for high < len(by.all) && by.all[high].from < t {
		low = high + 1
		high, step = min(len(by.all), high+step), 2*step
	}
	n, _ := slices.BinarySearchFunc(by.all[low:high], t, func(x owned, t int64) int { return cmp.Compare(x.from, t) })
	by.near = low + n
	return by.near
}

// lastAsked is the latest return of an acquire of the group: up to there the owner may
// have obtained the lock anew.
func (g *group) lastAsked() int64 {
	t := int64(0)
	for _, a := range g.acquires {
		if a.Outcome != history.OutcomeFail {
			t = max(t, a.Return)
		}
	}
	return t
}

// robbery explains an effect on somebody else's lock.
func (r *record) robbery(g *group, o *history.Operation, v *owned) finding {
	kind, did := "foreign-release", "released"
	if o.Op == history.Extend {
		kind, did = "foreign-extend", "extended"
	}
	said, whose := "the server", who(v.outer)
	if node := r.node(o.Server); node != "" {
		said = node
	}
	if node := r.node(v.outer.Server); node != "" {
		whose += ", granted by " + node
	}
	return finding{
		start: from(o), end: o.Return, kind: kind, object: o.Object, ops: []int64{o.ID, v.grant},
		witness: func() *Witness {
			// What took effect proves, like a release, that the lock was the worker's.
			robber := []spec.LockOp{{Step: spec.Release, Owner: g.grant, Call: from(o), Return: o.Return, ID: o.ID}}
			if g.granted() {
				robber = append(robber, spec.LockOp{Step: spec.Acquire, Owner: g.grant, Call: from(g.outer), Return: g.outer.Return, ID: g.grant})
			}
			return lockSuspect(ownerMutex, spec.OwnerMutex(), [][]spec.LockOp{stay(v.group, v.span), robber}).minimise()
		},
		story: func() []string {
			var before []string
			since := o.Invoke
			switch {
			case g.outer == nil:
				before = append(before, fmt.Sprintf("%s never acquired %s", who(o), o.Object))
			case g.granted():
				before = append(before, r.acquired(g), r.renewed(g, span{g.outer.Return, o.Invoke}))
				since = g.outer.Return
			default:
				before = append(before, fmt.Sprintf("%s failed to acquire %s at %s", who(g.outer), o.Object, r.at(g.outer.Return)))
			}
			return sentences(before,
				r.faults(span{since, o.Return}, o.Client, v.outer.Client),
				[]string{
					r.acquired(v.group),
					fmt.Sprintf("%s %s %s %s, and %s said that it took effect", who(o), did, o.Object, r.between(from(o), o.Return), said),
					fmt.Sprintf("the lock that it %s was that of %s", did, whose),
				},
				r.entered(o, v))
		},
	}
}

// entered tells who was let in next, while the robbed owner still held the lock.
func (r *record) entered(o *history.Operation, v *owned) []string {
	if o.Op != history.Release {
		return nil
	}
	for _, h := range r.locks[o.Object] {
		if h.real && h.group != v.group && from(h.outer) >= v.from && h.from > from(o) && h.from < v.to {
			return []string{fmt.Sprintf("%s was let in at %s, while %s was still inside", who(h.outer), r.at(h.from), who(v.outer))}
		}
	}
	return nil
}
