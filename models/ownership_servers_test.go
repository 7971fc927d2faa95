package models_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/models"
)

// What the reference says of an effect.
const (
	innocent = iota
	doubtful
	robs
)

// ownerReference is the definition of ownership with servers, spelled out without any
// cleverness: it looks at every owner for every effect, and at every role for every question.
type ownerReference struct {
	h     *history.History
	drift int64
}

// stretch is [From, To) in ns.
type stretch struct{ From, To int64 }

func (r ownerReference) from(o *history.Operation) int64 { return max(o.Invoke, o.From) }

// reigns lists the reigns of its server in which an operation can have taken effect. A reign
// is known by how many times the server was seen to have become a replica before it.
func (r ownerReference) reigns(o *history.Operation) []int {
	var in []int
	n, replica, low := 0, false, r.from(o)
	begin := int64(-1) // of reign n, not before
	add := func(end int64) {
		if begin < o.Return && low < end || begin <= low && o.Return <= end {
			in = append(in, n)
		}
	}
	for _, x := range r.h.Roles {
		if x.Server != o.Server {
			continue
		}
		if strings.HasPrefix(x.Role, "replica") && !replica {
			add(x.Time)
			n, begin, replica = n+1, x.Time, true
		}
		if x.Role == history.Primary {
			replica = false
		}
	}
	add(history.Never)
	return in
}

// begun is when the last reign in which the operation can have taken effect was certainly
// under way, by the roles.
func (r ownerReference) begun(o *history.Operation) int64 {
	all := r.reigns(o)
	last := all[len(all)-1]
	n, replica := 0, false
	for _, x := range r.h.Roles {
		switch {
		case x.Server != o.Server:
		case x.Role == history.Primary:
			if n == last {
				return x.Time
			}
			replica = false
		case strings.HasPrefix(x.Role, "replica") && !replica:
			n, replica = n+1, true
		}
	}
	return history.Never
}

func (r ownerReference) told(o *history.Operation) bool {
	return o.Server >= 1 && o.Server <= history.LastServer
}

// sameKeys: both certainly in one reign of one server.
func (r ownerReference) sameKeys(a, b *history.Operation) bool {
	x, y := r.reigns(a), r.reigns(b)
	return r.told(a) && a.Server == b.Server && len(x) == 1 && slices.Equal(x, y)
}

// owns lists the stretches in which x certainly owned the lock.
func (r ownerReference) owns(x *history.Operation) []stretch {
	var all []stretch
	end := history.Never
	next := history.Never // return of the first grant that was asked for after x, which ends what has no other end
	for i := range r.h.Operations {
		o := &r.h.Operations[i]
		if o.Op == history.Release && o.Grant == x.ID {
			end = min(end, o.Invoke)
		}
		if o.Op == history.Acquire && o.Outcome == history.OutcomeOK && r.from(o) > x.Return {
			next = min(next, o.Return)
		}
	}
	for i := range r.h.Operations {
		o := &r.h.Operations[i]
		if o.ID != x.ID && (o.Op != history.Extend || o.Grant != x.ID) || o.Outcome != history.OutcomeOK {
			continue
		}
		to := history.Never
		if o.Validity > 0 {
			to = r.from(o) + o.Validity - r.drift
		}
		all = append(all, stretch{From: o.Return, To: to})
	}
	// Those that touch are one.
	slices.SortFunc(all, func(a, b stretch) int { return int(a.From - b.From) })
	joined := all[:0]
	for _, s := range all {
		if s.From >= s.To {
			continue
		}
		if n := len(joined); n > 0 && s.From <= joined[n-1].To {
			joined[n-1].To = max(joined[n-1].To, s.To)
			continue
		}
		joined = append(joined, s)
	}
	for i := range joined {
		if joined[i].To = min(joined[i].To, end); joined[i].To == history.Never {
			joined[i].To = next
		}
	}
	return joined
}

// judge says what an effect is.
func (r ownerReference) judge(o *history.Operation) int {
	var own *history.Operation // nil: never granted
	gone := true               // its own key certainly is, wherever it was
	for i := range r.h.Operations {
		x := &r.h.Operations[i]
		if x.ID != o.Grant && (x.Op != history.Extend || x.Grant != o.Grant) {
			continue
		}
		if x.ID == o.Grant {
			if own = x; x.Outcome == history.OutcomeFail {
				own = nil
				break
			}
			if x.Outcome == history.OutcomeInfo {
				return innocent
			}
		}
		switch {
		case x.Outcome == history.OutcomeFail:
		case x.Outcome == history.OutcomeInfo || x.Validity == 0 || x.Return+x.Validity+r.drift >= r.from(o):
			gone = false
		}
	}
	verdict := innocent
	for i := range r.h.Operations {
		x := &r.h.Operations[i]
		if x.Op != history.Acquire || x.Outcome != history.OutcomeOK || x.ID == o.Grant || own != nil && r.from(x) <= own.Return {
			continue
		}
		if !slices.ContainsFunc(r.owns(x), func(s stretch) bool { return s.From < r.from(o) && o.Return < s.To }) {
			continue
		}
		switch {
		case o.Server == history.ServerUnknown || x.Server == history.ServerUnknown:
			return robs
		case r.sameKeys(o, x):
			return robs
		case !r.told(o) || !r.told(x):
		case o.Server == x.Server && slices.ContainsFunc(r.reigns(o), func(n int) bool { return slices.Contains(r.reigns(x), n) }):
		case own != nil && r.sameKeys(o, own), r.from(x) >= r.begun(o):
			continue
		}
		if own == nil || gone {
			return robs
		}
		verdict = doubtful
	}
	return verdict
}

// ownerCases is the number of worlds.
const ownerCases = 1500

// The checker says what the reference says; and what either says is true of the world that
// the record comes from: who is accused did change another's lock, and nobody who certainly
// did goes free.
func TestOwnershipOnSeveralServers(t *testing.T) {
	var verdicts, effects, foreign, found [3]int
	innocents := 0
	for i := range ownerCases {
		w := newOwnerWorld(rand.New(rand.NewPCG(4, uint64(i))))
		h := w.run()
		p := models.Params{TTL: worldTTL * time.Millisecond, Drift: 2 * time.Millisecond, Promises: []models.Property{models.Ownership}, MaxViolations: 1 << 20}
		ref := ownerReference{h, int64(p.Drift)}
		blank := i%10 == 9 // a record that tells no servers: then only the two are compared
		if blank {
			for k := range h.Operations {
				h.Operations[k].Server = history.ServerUnknown
			}
		}
		want, doubts := []int64(nil), 0
		for k := range h.Operations {
			o := &h.Operations[k]
			if o.Outcome != history.OutcomeOK || o.Op != history.Release && o.Op != history.Extend {
				continue
			}
			verdict, another := ref.judge(o), w.met[o.ID] != o.Grant
			if blank {
				if verdict == robs {
					want = append(want, o.ID)
				}
				continue
			}
			effects[verdict]++
			if another {
				foreign[verdict]++
			}
			switch verdict {
			case robs:
				if want = append(want, o.ID); !another {
					t.Fatalf("case %d: #%d is accused, but it met its own key\n%s", i, o.ID, ownerDump(h))
				}
			case doubtful:
				doubts++
			case innocent:
				if another && ref.caught(o, w.met[o.ID]) {
					t.Fatalf("case %d: #%d goes free, but it met the key of #%d\n%s", i, o.ID, w.met[o.ID], ownerDump(h))
				}
			}
		}
		j := models.Judge(h, p).Properties[models.Ownership]
		var got []int64
		for _, v := range j.Violations {
			got = append(got, v.Operations[0])
		}
		slices.Sort(got)
		slices.Sort(want)
		verdict := models.Valid
		switch {
		case len(want) > 0:
			verdict, found[robs] = models.Violated, found[robs]+1
		case doubts > 0:
			verdict, found[doubtful] = models.Unknown, found[doubtful]+1
		default:
			found[innocent]++
		}
		if j.Verdict != verdict || !slices.Equal(got, want) {
			t.Fatalf("case %d: got %s by %v, want %s by %v: %+v\n%s", i, j.Verdict, got, verdict, want, j.Violations, ownerDump(h))
		}
		verdicts[map[models.Verdict]int{models.Valid: innocent, models.Unknown: doubtful, models.Violated: robs}[j.Verdict]]++
		if w.compare {
			innocents++
		}
	}
	t.Logf("effects that are innocent, doubtful, robbery: %v, of which met another's key: %v; worlds: %v, %d with locks that compare", effects, foreign, found, innocents)
	for v, n := range effects {
		if n < 100 {
			t.Errorf("only %d effects of %v are of kind %d: agreement says little", n, effects, v)
		}
	}
}

// caught says whether nobody who met the key of x with o may go free: x certainly owned it
// throughout, and o's own grant, if there was one, was before.
func (r ownerReference) caught(o *history.Operation, x int64) bool {
	var own, other *history.Operation
	for i := range r.h.Operations {
		switch r.h.Operations[i].ID {
		case o.Grant:
			own = &r.h.Operations[i]
		case x:
			other = &r.h.Operations[i]
		}
	}
	if other == nil || other.Outcome != history.OutcomeOK || // nil: it was under way at the end
		own.Outcome == history.OutcomeInfo || own.Outcome == history.OutcomeOK && r.from(other) <= own.Return {
		return false
	}
	return slices.ContainsFunc(r.owns(other), func(s stretch) bool { return s.From < r.from(o) && o.Return < s.To })
}

func ownerDump(h *history.History) string {
	var b strings.Builder
	b.WriteString(dump(h))
	for _, o := range h.Operations {
		fmt.Fprintf(&b, "  #%d on %d validity %d\n", o.ID, o.Server, o.Validity)
	}
	for _, x := range h.Roles {
		fmt.Fprintf(&b, "  %d: %s (%d) is %s\n", x.Time, x.Node, x.Server, x.Role)
	}
	return b.String()
}
