package nemesis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"picklock/harness/history"
)

// Bounds of the parts of a fault's life. Recovery also runs when the test's context has
// ended.
const (
	landAtLeast = 5 * time.Second  // to inject and to see the effect, however little time is left
	landAtMost  = 30 * time.Second // to see the effect
	healTimeout = 45 * time.Second
)

// life is one fault of the schedule from its plan to its end.
type life struct {
	runner   *Runner
	kind     Kind
	plan     Planned // completed
	due      int64   // ns
	deadline int64   // ns: it must be over by then
	world    World
	fault    Fault
	rec      history.Fault

	landed  chan struct{} // closed when it has landed
	over    chan struct{} // closed when it is healed, was left out, or stays until Heal
	changed int64         // ns: it was healed, or landed for good; 0: nothing was done
	err     error         // of its recovery
}

func newLife(r *Runner, i int, kind Kind, start, deadline int64) *life {
	p := kind.complete(r.Plan[i])
	if kind.stays(p) {
		p.For = 0
	}
	w := r.World
	w.Until = deadline - int64(p.For)
	w.ending = r.call.channel()
	w.fault = i + 1
	w.claims = claimant{&r.claims, w.fault}
	return &life{
		runner: r, kind: kind, plan: p, due: start + int64(p.At), deadline: deadline, world: w,
		rec: history.Fault{N: i + 1, Kind: p.Kind, Client: -1}, landed: make(chan struct{}), over: make(chan struct{}),
	}
}

// lead leads the fault through its life. all is the whole schedule.
func (l *life) lead(ctx context.Context, all []*life) {
	defer close(l.over)
	idle, cancel := l.world.untilEnd(ctx) // for all in which nothing is done
	defer cancel()
	if why := l.await(idle, all); why != nil {
		l.leftOut(why)
		return
	}
	if !l.inject(ctx) {
		return
	}
	if l.rec.Landed && l.rec.Stays {
		l.changed = now()
		l.runner.stays(l)
		return
	}
	if l.rec.Landed {
		l.goOn(idle, all)
		wait(idle, l.plan.For)
	}
	l.err = l.heal(ctx)
	l.changed = now()
}

// await waits for what must have happened before the fault, for its time, and for its
// trigger. The error says why there will be no fault.
func (l *life) await(ctx context.Context, all []*life) error {
	if n := l.plan.After; n > 0 && n <= len(all) {
		if err := l.awaitOther(ctx, all[n-1]); err != nil {
			return err
		}
	}
	wait(ctx, until(l.due))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if now() > l.world.Until {
		return errors.New("no time before the quiet tail")
	}
	if l.kind.Rule {
		return nil
	}
	armed := func() { l.log().Info("trigger armed", "on", l.plan.On) }
	w, err := guarded(func() (World, error) { return l.world.triggered(ctx, l.plan, armed) })
	if err == nil {
		l.world = w
	}
	return err
}

// awaitOther waits until the other fault has landed or, if the plan says so, was healed.
func (l *life) awaitOther(ctx context.Context, other *life) error {
	ctx, cancel := context.WithTimeout(ctx, until(l.world.Until))
	defer cancel()
	happened := other.landed
	if l.plan.Recovered {
		happened = other.over
	}
	select {
	case <-happened:
	case <-other.over:
	case <-ctx.Done():
	}
	select {
	case <-happened:
		if !l.plan.Recovered || other.rec.Landed && other.rec.End != 0 {
			return nil
		}
	default:
	}
	return fmt.Errorf("fault %d, which it waits for, did not get that far while there was time", l.plan.After)
}

// goOn waits for the fault until whose landing this one is to last, while there is time.
func (l *life) goOn(ctx context.Context, all []*life) {
	n := l.plan.Until
	if n == 0 || n > len(all) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, until(l.world.Until))
	defer cancel()
	select {
	case <-all[n-1].landed:
	case <-all[n-1].over: // it did not land, and will not
	case <-ctx.Done():
	}
}

// inject injects the fault and sees whether it landed; false: there was nothing to do it
// to.
func (l *life) inject(ctx context.Context) bool {
	log := l.log()
	limit := max(until(l.world.Until), landAtLeast)
	injecting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	target, err := guarded(func() (Target, error) {
		l.fault = l.kind.New(l.world, l.plan)
		return l.fault.Inject(injecting)
	})
	if l.runner.Laid != nil {
		l.runner.Laid(l.rec.N)
	}
	if errors.Is(err, ErrNoTarget) || l.fault == nil || (err != nil && ctx.Err() != nil && target.Name == "") {
		l.world.Hit.Go()
		l.leftOut(err)
		return false
	}
	if target.Name == "" {
		target = Target{Name: "unknown", Client: -1, At: now()}
	}
	l.rec.Target, l.rec.Client, l.rec.Node, l.rec.Start = target.Name, target.Client, target.Node, target.At
	if err == nil {
		landing, cancel := context.WithTimeout(ctx, min(limit, landAtMost))
		defer cancel()
		l.rec.Proof, err = guarded(func() (string, error) { return l.fault.Landed(landing) })
		if err == nil {
			_, err = proven(l.rec.Proof)
		}
	}
	if err == nil {
		l.rec.Landed, l.rec.Seen, l.rec.Stays = true, now(), l.kind.stays(l.plan)
		log.Info("fault landed", "target", target.Name, "for", l.plan.For, "stays", l.rec.Stays, "proof", l.rec.Proof)
		close(l.landed)
	} else {
		l.rec.Error = err.Error()
		log.Warn("fault did not land", "target", target.Name, "error", err)
	}
	l.world.Hit.landed()
	l.runner.works(l, true)
	start := l.rec
	l.runner.Record(history.Event{Time: start.Start, Type: history.FaultStart, Client: -1, Worker: -1, Fault: &start})
	return true
}

// heal undoes the fault and sees whether it is undone.
func (l *life) heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
	defer cancel()
	defer l.runner.works(l, false)
	defer l.world.claims.drop()
	log := l.log().With("target", l.rec.Target)
	if l.rec.Stays {
		l.rec.Undone = now()
	}
	_, err := guarded(func() (struct{}, error) { return struct{}{}, l.fault.Recover(ctx) })
	l.world.Hit.Go()
	if err == nil {
		l.rec.Healed, err = guarded(func() (string, error) { return l.fault.Recovered(ctx) })
	}
	if err == nil {
		l.rec.End = now()
		log.Info("fault healed", "proof", l.rec.Healed)
	} else {
		l.rec.Error = fmt.Sprintf("%s (not healed: %v)", l.rec.Error, err)
		log.Error("fault not healed", "error", err)
		err = fmt.Errorf("heal %s of %s: %w", l.rec.Kind, l.rec.Target, err)
	}
	end := l.rec
	l.runner.Record(history.Event{Time: now(), Type: history.FaultEnd, Client: -1, Worker: -1, Fault: &end})
	return err
}

func (l *life) leftOut(why error) {
	l.world.claims.drop()
	l.log().Info("fault left out", "why", why)
}

func (l *life) log() *slog.Logger {
	return l.runner.Log.With("fault", l.rec.N, "kind", l.kind.Name)
}

// guarded makes a panic in a fault an error of that fault: the others must be healed.
func guarded[T any](do func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
