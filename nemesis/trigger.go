package nemesis

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"picklock/harness/topology"
	"picklock/locks"
	"picklock/nemesis/wire"
)

// The moments of a trigger.
const (
	before  = "before"
	after   = "after"
	granted = "granted"
)

// moment is Planned.On, read.
type moment struct {
	when string // before, after, granted; empty: none
	step locks.Step
}

// readMoment reads "before STEP", "after STEP", "granted" or nothing.
func readMoment(on string) (moment, error) {
	words := strings.Fields(on)
	switch {
	case len(words) == 0:
		return moment{}, nil
	case len(words) == 1 && words[0] == granted:
		return moment{when: granted}, nil
	case len(words) == 2 && (words[0] == before || words[0] == after):
		return moment{words[0], locks.Step(words[1])}, nil
	}
	return moment{}, fmt.Errorf("a trigger is written \"before STEP\", \"after STEP\" or \"granted\", not %q", on)
}

// match says which frames the step is on the wire, for p's target where that is a name.
func (w World) match(p Planned, m moment) (wire.Match, error) {
	if w.Wire == nil {
		return wire.Match{}, fmt.Errorf("%q takes a wire, which is not in the path", p.On)
	}
	out := wire.Match{Side: wire.Request}
	if w.Steps != nil {
		out.Commands = w.Steps(string(m.step))
	}
	if len(out.Commands) == 0 {
		return wire.Match{}, fmt.Errorf("neither the lock nor the deduction has a step %q", m.step)
	}
	if m.when == after || m.step == locks.StepWake { // the message is on its way to the client
		out.Side = wire.Reply
	}
	if m.step == locks.StepStockRead || m.step == locks.StepStockWrite {
		out.Nodes = []string{w.StockNode}
	} else {
		for _, n := range w.Nodes {
			if n.Kind() == topology.LockNode {
				out.Nodes = append(out.Nodes, n.Name())
			}
		}
	}
	if clients, ok := clientsNamed(p.Target); ok {
		out.Clients = clients
	} else if nodes, ok := namesOf(p.Target); ok && slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(out.Nodes, n) }) {
		out.Nodes = slices.DeleteFunc(out.Nodes, func(n string) bool { return !slices.Contains(nodes, n) })
	}
	return out, nil
}

// counts says whether a frame of the step is one that the trigger waits for. After a step
// means that the step was done: error replies do not count, nor do the answers to those
// who asked for a lock and did not get it, or whose write to the stock was not made.
func (m moment) counts(f wire.Frame) bool {
	if m.when != after || f.Push {
		return true
	}
	switch m.step {
	case locks.StepAcquire:
		return grants(f.Raw)
	case locks.StepStockWrite:
		return !isError(f.Raw) && !isNull(f.Raw) // null: a transaction that was aborted, or too little stock
	}
	return !isError(f.Raw)
}

// isNull reads the nulls of RESP2 and RESP3.
func isNull(reply []byte) bool {
	line, _, _ := bytes.Cut(reply, []byte("\r\n"))
	return string(line) == "$-1" || string(line) == "*-1" || string(line) == "_"
}

func isError(reply []byte) bool {
	return len(reply) > 0 && (reply[0] == '-' || reply[0] == '!')
}

// grants reads the reply to the command that takes a lock: OK, a number above zero (a
// count, a fencing token), or a list that begins so.
func grants(reply []byte) bool {
	line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	if len(line) == 0 {
		return false
	}
	switch value := string(line[1:]); line[0] {
	case '+':
		return true
	case '$', ':':
		return value != "0" && !strings.HasPrefix(value, "-")
	case '#':
		return value == "t"
	case '*':
		return value != "0" && !strings.HasPrefix(value, "-") && grants(rest)
	}
	return false
}

// trap is a rule that holds the frame that triggers.
type trap struct {
	moment moment
	hits   chan *Hit // of capacity 1

	mu    sync.Mutex
	armed bool
	left  int // frames to let pass before the one that triggers
}

func (t *trap) do(ctx context.Context, f wire.Frame) wire.Verdict {
	h := t.snap(f)
	if h == nil {
		return wire.Verdict{}
	}
	select {
	case <-h.decided:
		return wire.Verdict{Action: h.action}
	case <-ctx.Done():
		return wire.Verdict{}
	}
}

// snap tells whether the trap closes on this frame.
func (t *trap) snap(f wire.Frame) *Hit {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.armed || !t.moment.counts(f) {
		return nil
	}
	if t.left > 0 {
		t.left--
		return nil
	}
	t.armed = false
	h := newHit(f)
	t.hits <- h
	return h
}

func (t *trap) disarm() {
	t.mu.Lock()
	t.armed = false
	t.mu.Unlock()
	select {
	case h := <-t.hits:
		h.Go()
	default:
	}
}

// triggered waits for the plan's trigger, and returns the world at that moment: with the
// frame that hit, or the time of the grant. ErrNoTarget: it never came. armed is called
// once nothing that happens is missed any more.
func (w World) triggered(ctx context.Context, p Planned, armed func()) (World, error) {
	m, err := readMoment(p.On)
	switch {
	case err != nil:
		return w, err
	case m.when == "":
		return w, nil
	case m.when == granted:
		return w.onGrant(ctx, p, armed)
	}
	match, err := w.match(p, m)
	if err != nil {
		return w, err
	}
	t := &trap{moment: m, hits: make(chan *Hit, 1), armed: true, left: max(0, p.Nth-1)}
	rule := w.Wire.Add(wire.Rule{Match: match, Do: t.do, Fault: w.fault})
	defer rule.Remove()
	armed()
	ctx, cancel := context.WithTimeout(ctx, until(w.Until))
	defer cancel()
	select {
	case w.Hit = <-t.hits:
		return w, nil
	case <-ctx.Done():
		t.disarm()
		return w, fmt.Errorf("%w: %q never triggered while there was time", ErrNoTarget, p.On)
	}
}

// onGrant waits for the Nth grant from now on.
func (w World) onGrant(ctx context.Context, p Planned, armed func()) (World, error) {
	since := now()
	armed()
	seen := map[int64]bool{}
	for {
		all, err := w.holdings(Planned{Target: p.Target})
		if err != nil {
			return w, err
		}
		for _, h := range all {
			if h.Since < since || seen[h.Grant] {
				continue
			}
			if seen[h.Grant] = true; len(seen) >= p.Nth {
				w.grantedSince = h.Since
				return w, nil
			}
		}
		if w.late(ctx) {
			return w, fmt.Errorf("%w: nobody was granted a lock while there was time", ErrNoTarget)
		}
		wait(ctx, lookEvery)
	}
}
