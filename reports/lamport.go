package reports

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
	"picklock/nemesis/wire/record"
)

// maxLamports bounds the diagrams of messages in a page: some 20 kB each.
const maxLamports = 12

// lamportView is a diagram of the messages around a violation.
type lamportView struct {
	Open  bool
	SVG   template.HTML
	Notes []string // what is missing from it
}

// lamports draws the messages around the violations of the page: of the one that is told
// first, and of the first few of each property. Where no wire was laid there are none.
func (p *page) lamports(dir string, r *store.Result, h *history.History) {
	if h == nil || p.derived == nil {
		return
	}
	all := span{From: h.End}
	windows := map[models.Property][]span{}
	for _, id := range violated(r) {
		for i, v := range r.Properties[id].Violations {
			if i == unfolded {
				break
			}
			w := messageWindow(v, h, p.derived, int64(r.Test.TTL))
			windows[id] = append(windows[id], w)
			all = span{min(all.From, w.From), max(all.To, w.To)}
		}
	}
	if len(windows) == 0 {
		return
	}
	log, err := store.Dir(dir).Messages(all.From, all.To)
	if err != nil {
		p.Notices = append(p.Notices, notice{"The messages on the wire are missing from this report.", err.Error()})
		return
	}
	if log == nil || len(log.Messages) == 0 {
		return
	}
	fs := faults(r, h)
	draw := func(id string, v models.Violation, w span) *lamportView {
		return drawLamport(id, v, h, p.derived, fs, log, w)
	}
	opening, any := first(r)
	if any && p.First != nil {
		p.First.Lamport = draw("lamport-first", opening.Violation, messageWindow(opening.Violation, h, p.derived, int64(r.Test.TTL)))
		if p.First.Lamport != nil {
			p.First.Lamport.Open = true
		}
	}
	left := maxLamports
	for b := range p.Broken {
		id := models.Property(p.Broken[b].ID)
		for i := range p.Broken[b].Violations {
			if i >= len(windows[id]) || left == 0 || id == opening.Property && opening.N == i+1 {
				continue
			}
			view := &p.Broken[b].Violations[i]
			if view.Lamport = draw(fmt.Sprintf("lamport-%d", view.Index), r.Properties[id].Violations[i], windows[id][i]); view.Lamport != nil {
				left--
			}
		}
	}
}

// messageWindow is the part of the record that the messages of a violation are in: its
// window, and what came before that of the operations that it names.
func messageWindow(v models.Violation, h *history.History, d *derived, ttl int64) span {
	w := window(v, h, d, ttl)
	for _, id := range v.Operations {
		if i, ok := d.Index.Get(id); ok {
			if o := &h.Operations[i]; o.From > 0 { // an acquire that was granted: its last try
				w.From = min(w.From, o.From)
			} else {
				w.From = min(w.From, max(o.Invoke, w.From-maxLate))
			}
		}
	}
	return w
}

// drawLamport draws the messages around one violation; nil: there are none. The id must be
// unique in the page.
func drawLamport(id string, v models.Violation, h *history.History, d *derived, fs []fault, log *record.Log, w span) *lamportView {
	l := &lamport{id: id, v: v, h: h, d: d, w: w, faults: map[int]*fault{}}
	for i := range fs {
		if i < len(h.Faults) {
			l.faults[h.Faults[i].N] = &fs[i]
		}
	}
	l.choose(log)
	if len(l.chosen) == 0 {
		return nil
	}
	l.span()
	l.placeLanes()
	l.collect()
	l.placeRows()
	view := &lamportView{SVG: template.HTML(l.draw())} // it escapes foreign text itself
	if l.left > 0 {
		view.Notes = append(view.Notes, fmt.Sprintf("%s about %s between these are left out.",
			plural(l.left, "more message", "more messages"), strings.Join(l.objects(), " and ")))
	}
	switch {
	case log.Cut != 0 && log.Cut <= w.To:
		view.Notes = append(view.Notes, fmt.Sprintf("The record of the wire was full at %.3f s: %s of this test are missing from then on.",
			h.Seconds(log.Cut), plural(int(log.Left), "message", "messages")))
	case !log.Whole:
		view.Notes = append(view.Notes, "The record of the wire breaks off: its last messages may be missing.")
	}
	return view
}

// lamport is a diagram in the making: a lane for each client and each node that has to do
// with a violation, time downwards, an arrow for each message. All labels stand between
// the lanes of the clients and those of the nodes, each in a row of its own.
type lamport struct {
	id     string // of the hatching
	v      models.Violation
	h      *history.History
	d      *derived
	w      span           // to look at
	faults map[int]*fault // by number

	core, more map[int]bool // operations that the violation names, and those of the same holds
	greeted    map[greeting]int
	chosen     []message // by time
	left       int       // messages that were left out
	from, to   int64     // ns: what is drawn

	clients []lamportLane
	nodes   []lamportLane
	bars    []bar
	events  []event // by time
	near    float64 // x: the labels begin
	far     float64 // x: they end
	bottom  float64
	crowded bool // several arrows cross much of it
	svg     strings.Builder
}

type lamportLane struct {
	client int
	node   string
	x      float64
	core   bool
}

func (l lamportLane) name() string {
	if l.client >= 0 {
		return fmt.Sprintf("client %d", l.client)
	}
	return l.node
}

// message is one that is drawn.
type message struct {
	record.Message
	y, outY float64 // outY is 0 where it never went on
}

// bar is a hold on a client's lane.
type bar struct {
	hold         int
	x, y1, y2    float64
	leaseY       float64 // the lease ends within it; 0: it does not
	above, below bool    // it begins before the diagram, or ends behind it
}

// objects are what the violation is about, clipped, in order.
func (l *lamport) objects() []string {
	var names []string
	for i := range l.core {
		if s := clip(l.h.Operations[i].Object); s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	if len(names) == 0 && l.v.Object != "" {
		names = []string{clip(l.v.Object)}
	}
	if len(names) > 3 {
		names = append(names[:3], "others")
	}
	return names
}

// span finds the time that is drawn: that of the messages, and of the violation as far as
// it lies in the window.
func (l *lamport) span() {
	l.from, l.to = l.chosen[0].At, 0
	for i := range l.chosen {
		m := &l.chosen[i]
		l.to = max(l.to, m.At, min(m.Out, l.w.To+maxLate))
	}
	for _, t := range []int64{l.ns(l.v.StartS), l.ns(l.v.EndS)} {
		if t >= l.w.From && t <= l.w.To {
			l.from, l.to = min(l.from, t), max(l.to, t)
		}
	}
}

// maxLate is how long after the window a message may go on and still be drawn to its end.
const maxLate = int64(60e9)

func (l *lamport) ns(seconds float64) int64 { return l.h.Start + int64(seconds*1e9) }
