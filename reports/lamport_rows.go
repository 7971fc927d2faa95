package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"picklock/nemesis/wire/record"
)

// Sizes of the diagram, in its own units, which are pixels at full width.
const (
	lamWidth = 1180.0
	lamAxis  = 104.0 // times
	lamTop   = 40.0  // names of the lanes
	lamRow   = 19.0  // a label
	lamStep  = 7.0   // an end without one
	lamScale = 64.0  // the longest time that is drawn as it is
	lamBreak = 30.0  // what is cut out
	lamChar  = 6.5   // width of a character of 12 px, on the wide side
	lamBold  = 7.5   // and of a bold one
)

// eventKind says what is at a moment. Those of one moment are told in this order.
type eventKind uint8

const (
	evBreach   eventKind = iota // the violation begins
	evFault                     // a fault begins
	evHealed                    // or ends
	evWent                      // a message goes on
	evCame                      // a message came to the proxy
	evGranted                   // a hold begins
	evLease                     // its lease is over
	evEnded                     // the hold ends
	evRepaired                  // the violation ends
)

// event is one moment of the diagram.
type event struct {
	at    int64
	kind  eventKind
	index int    // of the message, the bar or the fault
	label string // empty: it needs no row
	tip   string
	lane  float64 // x of the lane that it is on; 0: all
	y     float64
	cut   int64 // ns that are cut out before it; 0: none
}

// placeLanes puts the clients on the left, the nodes on the right, and leaves the middle
// to the labels.
func (l *lamport) placeLanes() {
	clients, nodes := map[int]bool{}, map[string]bool{}
	for i := range l.chosen {
		clients[l.chosen[i].Client], nodes[l.chosen[i].Node] = true, true
	}
	for i := range l.core {
		if len(clients) < maxClients {
			clients[l.h.Operations[i].Client] = true
		}
	}
	step := min(78, 390/float64(len(clients)))
	for n, c := range slices.Sorted(maps.Keys(clients)) {
		lane := lamportLane{client: c, x: lamAxis + 28 + (float64(n)+0.5)*step}
		for i := range l.core {
			lane.core = lane.core || l.h.Operations[i].Client == c
		}
		l.clients = append(l.clients, lane)
	}
	l.near = lamAxis + 28 + float64(len(clients))*step
	step = min(110, 400/float64(len(nodes)))
	l.far = lamWidth - float64(len(nodes))*step
	for n, name := range slices.Sorted(maps.Keys(nodes)) {
		l.nodes = append(l.nodes, lamportLane{node: name, client: -1, x: l.far + (float64(n)+0.5)*step, core: true})
	}
}

// clientX and nodeX give a lane's place; 0: it has none.
func (l *lamport) clientX(client int) float64 {
	for _, c := range l.clients {
		if c.client == client {
			return c.x
		}
	}
	return 0
}

func (l *lamport) nodeX(node string) float64 {
	for _, n := range l.nodes {
		if n.node == node {
			return n.x
		}
	}
	return 0
}

// within says whether a moment is drawn.
func (l *lamport) within(t int64) bool { return t >= l.from && t <= l.to }

// collect gathers the moments, in order.
func (l *lamport) collect() {
	add := func(e event) {
		if l.within(e.at) {
			l.events = append(l.events, e)
		}
	}
	shown := map[int]bool{} // faults that are told of by what they did to a message
	for i := range l.chosen {
		m := &l.chosen[i]
		shown[m.Fault] = shown[m.Fault] || m.Fate == record.Dropped || m.Fate == record.Delayed || m.Fate == record.Reset
		add(event{at: m.At, kind: evCame, index: i, label: l.words(m), tip: l.tip(m)})
		if m.Out != 0 {
			add(event{at: max(m.Out, m.At+1), kind: evWent, index: i})
		}
	}
	l.collectHolds(add)
	for n, f := range l.faults {
		if shown[n] || f.start == 0 {
			continue
		}
		x, hit := l.clientX(f.Client), f.Name+" "+f.Kind+" · "+f.Target
		if x == 0 {
			x = l.nodeX(strings.TrimPrefix(f.Target, "node "))
		}
		if x == 0 && f.Client >= 0 {
			continue // of a client that has nothing to do with it
		}
		if f.start < l.from && f.end > l.from {
			add(event{at: l.from, kind: evFault, index: n, label: fmt.Sprintf("%s, since %.3f s", hit, f.From), tip: f.title() + "\n" + f.Proof, lane: x})
		}
		if f.end-f.start < int64(time.Millisecond) || f.Open {
			add(event{at: f.start, kind: evFault, index: n, label: hit, tip: f.title() + "\n" + f.Proof, lane: x})
			continue
		}
		add(event{at: f.start, kind: evFault, index: n, label: hit + " begins", tip: f.title() + "\n" + f.Proof, lane: x})
		add(event{at: f.end, kind: evHealed, index: n, label: hit + " ends", tip: f.Healed, lane: x})
	}
	from, to := l.ns(l.v.StartS), l.ns(l.v.EndS)
	if to-from < int64(time.Millisecond)/2 {
		add(event{at: from, kind: evBreach, label: fmt.Sprintf("violation at %.3f s", l.v.StartS)})
	} else {
		add(event{at: from, kind: evBreach, label: fmt.Sprintf("violation: from %.3f s", l.v.StartS)})
		add(event{at: to, kind: evRepaired, label: fmt.Sprintf("violation: until %.3f s", l.v.EndS)})
	}
	slices.SortStableFunc(l.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind), cmp.Compare(a.index, b.index))
	})
}

// collectHolds gathers the holds of the violation, as far as they are in the time that is
// drawn.
func (l *lamport) collectHolds(add func(event)) {
	involved := involvedHolds(l.v, l.h, l.d)
	for i := range l.d.Holds {
		x := &l.d.Holds[i]
		o := &l.h.Operations[x.Acquire]
		lane := l.clientX(o.Client)
		if lane == 0 || x.From > l.to || x.To < l.from || !involved[i] {
			continue
		}
		b := bar{hold: i, x: lane, above: x.From < l.from, below: x.To > l.to}
		for k := range l.bars { // workers of one client, and reentered holds, stand side by side
			if other := &l.d.Holds[l.bars[k].hold]; l.bars[k].x == b.x && other.To > x.From {
				b.x += 11
			}
		}
		l.bars = append(l.bars, b)
		n, who := len(l.bars)-1, fmt.Sprintf("client %d", o.Client)
		if l.several(o.Client) {
			who += fmt.Sprintf(" worker %d", o.Worker)
		}
		holds := who + " holds"
		if len(l.objects()) > 1 {
			holds += " " + clip(o.Object)
		}
		tip := holdTip(l.h, x)
		add(event{at: x.From, kind: evGranted, index: n, label: holds, tip: tip, lane: b.x})
		if x.Lease > x.From && x.Lease < x.To {
			add(event{at: x.Lease, kind: evLease, index: n, label: who + "'s lease is over", tip: tip, lane: b.x})
		}
		end := ""
		switch x.Ending {
		case endDied:
			end = who + " dies"
		case endLost:
			end = who + " gives the lock up"
		}
		add(event{at: x.To, kind: evEnded, index: n, label: end, tip: tip, lane: b.x})
	}
}

// several says whether more than one worker of a client is in the record.
func (l *lamport) several(client int) bool {
	n := 0
	for _, w := range l.d.Lanes {
		if w.Client == client {
			n++
		}
	}
	return n > 1
}

// placeRows gives every moment its place. Time runs to scale, but for labels, which need
// their room, and for stretches without anything, which are cut out: the scale is the
// finest with few cuts.
func (l *lamport) placeRows() {
	const fewCuts = 7
	longest := int64(time.Millisecond)
	for cuts := fewCuts + 1; cuts > fewCuts; {
		longest *= 2
		cuts = 0
		for i := 1; i < len(l.events); i++ {
			if l.events[i].at-l.events[i-1].at > longest {
				cuts++
			}
		}
	}
	y := lamTop
	for i := range l.events {
		e := &l.events[i]
		need := lamStep
		if e.label != "" {
			need = lamRow
		}
		gap := int64(0)
		if i > 0 {
			gap = e.at - l.events[i-1].at
		}
		if gap > longest {
			e.cut = gap
			y += lamBreak + need
		} else {
			y += max(need, lamScale*float64(gap)/float64(longest))
		}
		e.y = y
		l.put(e)
	}
	l.bottom = y + 14
	for i := range l.bars {
		b := &l.bars[i]
		if b.above {
			b.y1 = lamTop
		}
		if b.below {
			b.y2 = l.bottom
		}
	}
}

// put tells what a moment belongs to where it stands.
func (l *lamport) put(e *event) {
	switch e.kind {
	case evCame:
		l.chosen[e.index].y = e.y
	case evWent:
		l.chosen[e.index].outY = e.y
	case evGranted:
		l.bars[e.index].y1 = e.y
	case evLease:
		l.bars[e.index].leaseY = e.y
	case evEnded:
		l.bars[e.index].y2 = e.y
	}
}

// words say what a message is, and what became of it.
func (l *lamport) words(m *message) string {
	what := m.Name
	if m.Step != "" && m.Side != record.Request {
		what = m.Step
	} else if m.Step != "" {
		what = m.Step + ": " + m.Name
	}
	switch m.Side {
	case record.Request:
		if m.Key != "" && l.keys(m.Node) > 1 {
			what += " " + m.Key
		}
	case record.Reply:
		what += ": " + replyWords(m.Reply)
	case record.Push:
		if m.Key != "" {
			what += " on " + m.Key
		} else if m.Reply != "" {
			what = replyWords(m.Reply)
		}
	}
	by := "by a fault"
	if f := l.faults[m.Fault]; f != nil {
		by = "by " + f.Name + " " + f.Kind
	}
	late := "and never went on"
	if m.Out != 0 {
		late = spanWords(m.Out - m.At)
	}
	switch m.Fate {
	case record.Held:
		return fmt.Sprintf("%s – held %s %s", what, late, by)
	case record.Delayed:
		return fmt.Sprintf("%s – delayed %s %s", what, late, by)
	case record.Dropped:
		return what + " – dropped " + by
	case record.Reset:
		if m.Name == "" {
			return "connection reset"
		}
		return what + " – connection reset " + by
	case record.Lost:
		if m.Fault != 0 {
			return what + " – kept " + by + ", then lost: nobody was there any more"
		}
		return what + " – lost: nobody was there any more"
	case record.Refused:
		return "could not be reached"
	}
	return what
}

// keys counts the keys of the requests to a node that are drawn: where there is but one it
// need not be told.
func (l *lamport) keys(node string) int {
	all := map[string]bool{}
	for i := range l.chosen {
		if m := &l.chosen[i]; m.Node == node && m.Key != "" {
			all[m.Key] = true
		}
	}
	return len(all)
}

// replyWords say in words what a reply says in RESP's signs.
func replyWords(s string) string {
	if s == "" {
		return "a reply"
	}
	rest := s[1:]
	switch s[0] {
	case '_':
		return "nil"
	case '-':
		return "error " + rest
	case '*':
		return "a list of " + rest
	case '~':
		return "a set of " + rest
	case '%':
		return "a map of " + rest
	case '#':
		return map[string]string{"t": "true", "f": "false"}[rest]
	case '$':
		if rest == "" {
			return "an empty text"
		}
	}
	return rest
}

// spanWords are a length of time as people write it.
func spanWords(ns int64) string {
	switch d := float64(ns); {
	case ns < 1e6:
		return fmt.Sprintf("%.0f µs", d/1e3)
	case ns < 1e7:
		return fmt.Sprintf("%.1f ms", d/1e6)
	case ns < 1e9:
		return fmt.Sprintf("%.0f ms", d/1e6)
	}
	return fmt.Sprintf("%.2f s", float64(ns)/1e9)
}

// tip says all that is known of a message.
func (l *lamport) tip(m *message) string {
	s := fmt.Sprintf("%s of client %d to %s", m.Side, m.Client, m.Node)
	if m.Side != record.Request {
		s = fmt.Sprintf("%s of %s to client %d", m.Side, m.Node, m.Client)
	}
	for _, part := range [][2]string{{"command", m.Name}, {"step", m.Step}, {"script", m.Script}, {"key", m.Key}, {"reply", m.Reply}} {
		if part[1] != "" {
			s += "\n" + part[0] + " " + part[1]
		}
	}
	s += fmt.Sprintf("\ncame to the proxy at %.6f s on connection %d", l.h.Seconds(m.At), m.Conn)
	if m.Out != 0 {
		s += fmt.Sprintf(", went on at %.6f s (%s)", l.h.Seconds(m.Out), spanWords(m.Out-m.At))
	}
	if m.Fate != record.Passed {
		s += "\n" + m.Fate.String()
		if f := l.faults[m.Fault]; f != nil {
			s += " by " + f.title()
		}
	}
	return s
}
