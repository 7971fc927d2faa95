package nemesis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"picklock/harness/history"
)

// Runner carries a schedule out. It is used for one test.
type Runner struct {
	World World
	Plan  []Planned
	// Overlap lets each fault begin at its time, whatever else works then. Otherwise they
	// come one after the other, as Draw plans them, and one that takes longer than planned
	// does not eat up the quiet time before the next.
	Overlap bool
	Log     *slog.Logger
	Record  func(history.Event) // writes to the history; called from several goroutines
	// Active is told the faults that work now, in words; empty: none. May be nil.
	Active func(string)
	// Laid is told the number of each fault, from 1, once hands were laid on the world for it,
	// before it is known whether it landed. May be nil.
	Laid func(n int)

	claims  claims
	mu      sync.Mutex
	working []*life // faults that work now
	staying []*life // of them, those that Heal will undo
	call    lastCall
}

// lastCall is a channel that is closed when no further fault is wanted. The zero value is ready.
type lastCall struct {
	mu   sync.Mutex
	done chan struct{}
	over bool
}

func (c *lastCall) channel() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
	}
	return c.done
}

func (c *lastCall) close() {
	done := c.channel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		close(done)
	}
}

// End brings the deadline of Run forward to now: no fault begins any more, those that wait
// for their time, their trigger or a target are left out, and those that work are healed.
// One that is just being injected is not broken off: it lands, and is healed then. It may
// be called at any time, also before Run, and more than once.
func (r *Runner) End() { r.call.close() }

// Run injects the faults at their times after start (ns of the record's clock), and
// heals each one that does not stay, also when ctx ends in the middle of it. Faults that
// would not be over until deadline (ns) are left out, and so are those that find no
// target, whose trigger never comes, or that wait for one which did not land. It tells
// when the faults changed for the last time (ns): the last heal, or the landing of one
// that stays; start, if there was none. The error is that of recoveries that failed: the
// world is then not as it should be. Faults that did not land are on record, as such.
func (r *Runner) Run(ctx context.Context, start, deadline int64) (healed int64, err error) {
	lives := make([]*life, len(r.Plan))
	for i, p := range r.Plan {
		kind, ok := Find(p.Kind)
		if !ok {
			return start, fmt.Errorf("no fault kind %q", p.Kind)
		}
		lives[i] = newLife(r, i, kind, start, deadline)
	}
	if r.Overlap {
		var all sync.WaitGroup
		for _, l := range lives {
			all.Go(func() { l.lead(ctx, lives) })
		}
		all.Wait()
	} else {
		leadInTurn(ctx, lives, start)
	}
	healed = start
	var errs []error
	for _, l := range lives {
		healed = max(healed, l.changed)
		errs = append(errs, l.err)
	}
	return healed, errors.Join(errs...)
}

// leadInTurn leads one fault after the other.
func leadInTurn(ctx context.Context, lives []*life, start int64) {
	quietSince := start
	for i, l := range lives {
		if i > 0 && quietSince > start {
			last := lives[i-1].plan
			l.due = max(l.due, quietSince+int64(max(0, l.plan.At-last.At-last.For)))
		}
		l.lead(ctx, lives)
		quietSince = max(quietSince, l.changed)
	}
}

// Side is where the faults are that Heal undoes.
type Side uint8

// The sides.
const (
	OnClients Side = iota // on clients and the wire
	OnServers
)

// Heal undoes the faults of one side that stayed, the latest first. It is called after
// the load, once for each side.
func (r *Runner) Heal(ctx context.Context, side Side) error {
	r.mu.Lock()
	var list []*life
	r.staying = slices.DeleteFunc(r.staying, func(l *life) bool {
		meant := l.kind.Needs.Servers == (side == OnServers)
		if meant {
			list = append(list, l)
		}
		return meant
	})
	r.mu.Unlock()
	var errs []error
	for _, l := range slices.Backward(list) {
		errs = append(errs, l.heal(ctx))
	}
	return errors.Join(errs...)
}

// works tells that a fault works now, or no more.
func (r *Runner) works(l *life, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.working = slices.DeleteFunc(r.working, func(o *life) bool { return o == l }); now {
		r.working = append(r.working, l)
	}
	if r.Active != nil {
		r.Active(strings.Join(each(r.working, func(l *life) string { return l.kind.Name + " " + l.rec.Target }), ", "))
	}
}

func (r *Runner) stays(l *life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.staying = append(r.staying, l)
}

// until is the time that is left until a moment of the record's clock.
func until(at int64) time.Duration { return time.Duration(at - now()) }

// wait waits for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
