package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"picklock/harness/history"
	"picklock/nemesis/wire/record"
)

// The bounds of a diagram.
const (
	maxMessages   = 40
	maxOfOne      = 8 // messages of one operation: its first two and its last ones
	maxStrange    = 8 // messages that faults met, beyond those of the operations
	maxClients    = 7
	tierOperation = 1
	tierStrange   = 2
	tierMore      = 3
)

// choose takes the messages that tell the violation: those of its operations, those about
// the same lock or stock that a fault met, and those of the other operations of its holds,
// as far as there is room.
func (l *lamport) choose(log *record.Log) {
	l.operations()
	l.greeted = map[greeting]int{}
	names, clients := l.names(), map[int]bool{}
	for i := range l.core {
		clients[l.h.Operations[i].Client] = true
	}
	var near []record.Message // that could be drawn, by At
	for _, m := range log.Messages {
		if max(m.At, m.Out) < l.w.From || m.At > l.w.To {
			continue
		}
		if m.Key == "" && (!clients[m.Client] || !tells(&m)) || m.Key != "" && !slices.ContainsFunc(names, func(n string) bool { return isAbout(m.Key, n) }) {
			continue
		}
		near = append(near, m)
	}
	tiers := make([]int, len(near)) // 0: none
	for i := range near {
		if m := &near[i]; m.Fate != record.Passed && (m.Key != "" || m.Name == "") {
			tiers[i] = tierStrange
		}
	}
	l.thin(near, tiers)
	for _, i := range slices.Sorted(maps.Keys(l.core)) {
		l.ofOperation(near, tiers, i, tierOperation)
	}
	for _, i := range slices.Sorted(maps.Keys(l.more)) {
		l.ofOperation(near, tiers, i, tierMore)
	}
	pairUp(near, tiers)
	l.pick(near, tiers)
}

// operations marks the operations that the violation names, and those of the same holds.
func (l *lamport) operations() {
	l.core, l.more = map[int]bool{}, map[int]bool{}
	grants := map[int64]bool{}
	for _, id := range l.v.Operations {
		if i, ok := l.d.Index.Get(id); ok {
			l.core[i] = true
			grants[id] = true
			if g := l.h.Operations[i].Grant; g != 0 {
				grants[g] = true
			}
		}
	}
	at, _ := slices.BinarySearchFunc(l.h.Operations, l.w.From, func(o history.Operation, t int64) int { return cmp.Compare(o.Invoke, t) })
	for i := at; i < len(l.h.Operations) && l.h.Operations[i].Invoke <= l.w.To; i++ {
		if o := &l.h.Operations[i]; o.Grant != 0 && grants[o.Grant] && !l.core[i] {
			l.more[i] = true
		}
	}
	for g := range grants {
		if i, ok := l.d.Index.Get(g); ok && !l.core[i] {
			l.more[i] = true
		}
	}
}

// names are the locks and SKUs of the operations.
func (l *lamport) names() []string {
	var all []string
	for _, of := range []map[int]bool{l.core, l.more} {
		for i := range of {
			if n := l.h.Operations[i].Object; n != "" && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// isAbout says whether a key belongs to a lock or an SKU: its name, or one that has the name
// between colons.
func isAbout(key, name string) bool {
	return key == name || strings.HasPrefix(key, name+":") || strings.HasSuffix(key, ":"+name) || strings.Contains(key, ":"+name+":")
}

// tells says whether a message without a key may have to do with a lock.
func tells(m *record.Message) bool {
	switch m.Name {
	case "": // the end of a connection
		return m.Fate == record.Refused || m.Fate == record.Reset
	case "EXEC", "WAIT", "WAITAOF":
		return true
	}
	return m.Step != "" || m.Fate != record.Passed // a new connection may not get beyond its HELLO
}

// thin leaves a few of the messages that faults met: those nearest to the violation.
func (l *lamport) thin(ms []record.Message, tiers []int) {
	var met []int
	for i, t := range tiers {
		if t == tierStrange {
			met = append(met, i)
		}
	}
	at := l.ns(l.v.StartS)
	far := func(i int) int64 { return max(ms[i].At-at, at-ms[i].At) }
	slices.SortStableFunc(met, func(a, b int) int { return cmp.Compare(far(a), far(b)) })
	for _, i := range met[min(len(met), maxStrange):] {
		tiers[i] = 0
	}
}

// ofOperation marks the messages of an operation: its client's, about its object, while it
// lasted. Of an acquire that tried often only the try that was granted counts.
func (l *lamport) ofOperation(ms []record.Message, tiers []int, op, tier int) {
	o := &l.h.Operations[op]
	from, to := o.Invoke, l.d.Ends[op]
	if o.From > from && o.Outcome == history.OutcomeOK {
		from = o.From
	}
	at, _ := slices.BinarySearchFunc(ms, from, func(m record.Message, t int64) int { return cmp.Compare(m.At, t) })
	var of []int
	for i := at; i < len(ms) && ms[i].At <= to; i++ {
		m := &ms[i]
		if m.Client != o.Client || m.Key != "" && !isAbout(m.Key, o.Object) || !fits(o.Op, m.Step) {
			continue
		}
		if m.Key == "" && m.Step == "" && m.Name != "" { // of a new connection, tried again and again
			same := greeting{m.Client, m.Node, m.Name, m.Fault}
			if at, told := l.greeted[same]; told && at != i {
				continue
			}
			l.greeted[same] = i
		}
		of = append(of, i)
	}
	if len(of) > maxOfOne {
		of = append(of[:2], of[len(of)-maxOfOne+2:]...)
	}
	for _, i := range of {
		if tiers[i] == 0 || tier < tiers[i] {
			tiers[i] = tier
		}
	}
}

// greeting is what stands for all of its kind: a fault keeps a client from a node.
type greeting struct {
	client     int
	node, name string
	fault      int
}

// fits says whether a step can be one of an operation of this kind: other workers of the
// client may be at work on the same thing.
func fits(op history.Op, step string) bool {
	switch {
	case step == "":
		return true
	case strings.HasPrefix(step, "stock-"):
		return op == history.Deduct
	case op == history.Deduct:
		return false
	case step == "release" || step == "compare":
		return op == history.Release
	case step == "extend":
		return op == history.Extend
	}
	return op == history.Acquire
}

// pairUp lets the other half of what is marked in too: a request's reply may come when its
// operation was given up.
func pairUp(ms []record.Message, tiers []int) {
	type line struct {
		conn int64
		name string
	}
	asked := map[line][]int{}
	for i := range ms {
		m := &ms[i]
		k := line{m.Conn, m.Name}
		switch m.Side {
		case record.Request:
			asked[k] = append(asked[k], i)
		case record.Reply:
			if len(asked[k]) == 0 {
				continue
			}
			q := asked[k][0]
			asked[k] = asked[k][1:]
			switch {
			case tiers[i] == 0:
				tiers[i] = tiers[q]
			case tiers[q] == 0:
				tiers[q] = tiers[i]
			}
		}
	}
}

// pick takes the marked ones in the order of their tiers, and counts what it leaves out.
func (l *lamport) pick(ms []record.Message, tiers []int) {
	var marked []int
	for i, t := range tiers {
		if t != 0 {
			marked = append(marked, i)
		}
	}
	slices.SortStableFunc(marked, func(a, b int) int { return cmp.Compare(tiers[a], tiers[b]) })
	taken, clients := map[int]bool{}, map[int]bool{}
	for _, i := range marked {
		if c := ms[i].Client; len(taken) < maxMessages && (clients[c] || len(clients) < maxClients) {
			taken[i], clients[c] = true, true
		}
	}
	for _, i := range slices.Sorted(maps.Keys(taken)) {
		l.chosen = append(l.chosen, message{Message: ms[i]})
	}
	if len(l.chosen) == 0 {
		return
	}
	first, last := l.chosen[0].At, l.chosen[len(l.chosen)-1].At
	for i := range ms {
		if !taken[i] && ms[i].At >= first && ms[i].At <= last {
			l.left++
		}
	}
}
