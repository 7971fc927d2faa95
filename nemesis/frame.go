package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"picklock/nemesis/wire"
)

// frameKind is a kind of fault that does something to single frames of a step: its
// trigger is its own rule on the wire.
func frameKind(k Kind, side wire.Side, verdict func(w World, p Planned) (wire.Verdict, error)) Kind {
	k.Needs.Wire = true
	k.Targets = []string{Everyone, Holder, Waiter, One}
	k.Triggers, k.Rule = true, true
	k.Moments = []string{map[wire.Side]string{wire.Request: before, wire.Reply: after}[side]}
	k.Params = append(k.Params, Param{
		Name: "count", Default: "1", Check: isFrameCount,
		Summary: "to how many frames it is done, one after the other; all: to every one in its time",
	})
	if k.Lasts == nil {
		k.Lasts = func(time.Duration, float64) time.Duration { return 0 }
	}
	k.New = func(w World, p Planned) Fault {
		return &frameFault{world: w, plan: p, verdict: verdict, passes: max(0, p.Nth-1), first: make(chan wire.Frame, 1)}
	}
	return k
}

// isFrameCount checks a parameter that is a number of frames.
func isFrameCount(value string) error {
	if n, err := strconv.Atoi(value); value != "all" && (err != nil || n < 1) {
		return fmt.Errorf("%q is no number from 1 on, and not all", value)
	}
	return nil
}

// frameFault is a rule that gives its verdict on a number of frames.
type frameFault struct {
	world   World
	plan    Planned
	verdict func(w World, p Planned) (wire.Verdict, error)
	moment  moment
	rule    *wire.Active
	word    wire.Verdict
	first   chan wire.Frame // the first that it met; of capacity 1

	mu     sync.Mutex
	passes int // frames to let pass before the first
	quota  int // frames that it may yet meet; negative: no bound
	over   bool
	done   []string // to which frames it was done, in words
	due    int64    // ns: the last of them goes on
}

// Inject returns when the rule has met its first frame.
func (f *frameFault) Inject(ctx context.Context) (Target, error) {
	none := Target{Client: -1}
	match, err := f.prepare(ctx)
	if err != nil {
		return none, err
	}
	f.rule = f.world.Wire.Add(wire.Rule{Match: match, Do: f.do, Fault: f.world.fault})
	ctx, cancel := context.WithTimeout(ctx, until(f.world.Until))
	defer cancel()
	select {
	case <-ctx.Done():
		f.end()
	case <-f.world.ending:
		f.end()
	case met := <-f.first:
		return frameTarget(met), nil
	}
	select {
	case met := <-f.first: // just before the end
		return frameTarget(met), nil
	default:
		return none, fmt.Errorf("%w: %q never happened while there was time", ErrNoTarget, f.plan.On)
	}
}

// prepare reads the plan and tells which frames are meant.
func (f *frameFault) prepare(ctx context.Context) (match wire.Match, err error) {
	f.quota = -1
	if n := f.plan.With["count"]; n != "all" {
		if f.quota, err = strconv.Atoi(n); err != nil {
			return match, err
		}
	}
	if f.word, err = f.verdict(f.world, f.plan); err != nil {
		return match, err
	}
	if f.moment, err = readMoment(f.plan.On); err != nil {
		return match, err
	}
	if match, err = f.world.match(f.plan, f.moment); err != nil {
		return match, err
	}
	if _, named := namesOf(f.plan.Target); !named && f.plan.Target != Everyone {
		match.Clients, err = f.world.chooseClients(ctx, f.plan, nothing)
	}
	return match, err
}

func (f *frameFault) do(_ context.Context, frame wire.Frame) wire.Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.quota == 0 || !f.moment.counts(frame) {
		return wire.Verdict{}
	}
	if f.passes > 0 {
		f.passes--
		return wire.Verdict{}
	}
	f.quota--
	select {
	case f.first <- frame:
	default:
	}
	if f.world.Sabotage {
		return wire.Verdict{}
	}
	f.done = append(f.done, inFrameWords(frame))
	f.due = max(f.due, frame.At+int64(f.word.Delay))
	return f.word
}

// end takes the rule out of force.
func (f *frameFault) end() {
	f.rule.Remove()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

func (f *frameFault) Landed(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.done) == 0 {
		return "", errUnseen
	}
	return f.done[0] + " " + inVerdictWords(f.word), nil
}

func (f *frameFault) Recover(context.Context) error {
	if f.rule != nil {
		f.end()
	}
	return nil
}

// Recovered waits until the last frame that was delayed has gone on.
func (f *frameFault) Recovered(ctx context.Context) (string, error) {
	f.mu.Lock()
	due, n := f.due, len(f.done)
	f.mu.Unlock()
	wait(ctx, until(due))
	return fmt.Sprintf("the rule is gone; it %s %d in all", inVerdictWords(f.word), n), ctx.Err()
}

func frameTarget(f wire.Frame) Target {
	return Target{Name: clientTarget(f.Client), Client: f.Client, Node: f.Node, At: f.At}
}

// inFrameWords describes a frame: "client 2's SET to lock".
func inFrameWords(f wire.Frame) string {
	if f.Push {
		return fmt.Sprintf("the %s from %s to client %d", f.Name, f.Node, f.Client)
	}
	if f.Side == wire.Reply {
		return fmt.Sprintf("the reply of %s to client %d's %s", f.Node, f.Client, f.Name)
	}
	return fmt.Sprintf("client %d's %s to %s", f.Client, f.Name, f.Node)
}

// inVerdictWords says what became of a frame.
func inVerdictWords(v wire.Verdict) string {
	switch v.Action {
	case wire.Discard:
		return "was dropped"
	case wire.Reset:
		return "was answered by a reset of its connection"
	}
	return "was delayed by " + v.Delay.String()
}

// nodesParam says to which nodes a fault on a client's lines applies.
func nodesParam() Param {
	return Param{
		Name: "nodes", Default: "lock", Check: isNames,
		Summary: "the lines to which nodes: lock (all but the stock's), all, or names joined by commas",
	}
}

// isNames checks a parameter that is a list of names.
func isNames(value string) error {
	if slices.Contains(strings.Split(value, ","), "") {
		return fmt.Errorf("%q is no list of names joined by commas", value)
	}
	return nil
}

// lines reads the parameter nodes; nil: all.
func (w World) lines(p Planned) []string {
	switch v := p.With["nodes"]; v {
	case "all":
		return nil
	case "lock":
		return each(w.Nodes, nodeName)
	default:
		return strings.Split(v, ",")
	}
}
