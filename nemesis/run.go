package nemesis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"picklock/harness/history"
)

// healTimeout bounds the recovery of one fault, which also runs when ctx has ended.
const healTimeout = 45 * time.Second

// Runner carries a schedule out.
type Runner struct {
	World  World
	Plan   []Planned
	Log    *slog.Logger
	Record func(history.Event) // writes to the history
	// Active is told the fault that works now, in words; empty: none. May be nil.
	Active func(string)
}

// Run injects the faults at their times after start (ns of the record's clock), and
// heals each one, also when ctx ends in the middle of it. Faults that would not be over
// until deadline (ns) are left out. It tells when it had healed the last one (ns; start,
// if there was none). The error is that of recoveries that failed: the world is then not
// as it should be. Faults that did not land are on record, as such.
func (r *Runner) Run(ctx context.Context, start, deadline int64) (healed int64, err error) {
	healed = start
	var errs []error
	for i, p := range r.Plan {
		due := start + int64(p.At)
		if i > 0 && healed > start {
			// A fault that took longer than planned does not eat up the quiet time before the
			// next: the lock must have a chance to work between them.
			before := r.Plan[i-1]
			due = max(due, healed+int64(max(0, p.At-before.At-before.For)))
		}
		until(ctx, due)
		if ctx.Err() != nil {
			break
		}
		if now()+int64(p.For) > deadline {
			r.Log.Info("fault left out: no time before the quiet tail", "kind", p.Kind, "at", p.At)
			continue
		}
		kind, ok := Find(p.Kind)
		if !ok {
			return healed, fmt.Errorf("no fault kind %q", p.Kind)
		}
		world := r.World
		world.Until = deadline - int64(p.For)
		done, err := r.one(ctx, i+1, kind.New(world, p.Pick), p)
		if done {
			healed = now()
		}
		errs = append(errs, err)
	}
	return healed, errors.Join(errs...)
}

// one leads one fault through its life; done is false if there was nothing to do it to.
func (r *Runner) one(ctx context.Context, n int, f Fault, p Planned) (done bool, err error) {
	target, err := f.Inject(ctx)
	if errors.Is(err, ErrNoTarget) || (err != nil && ctx.Err() != nil && target.Name == "") {
		r.Log.Info("fault left out", "kind", p.Kind, "why", err)
		return false, nil
	}
	rec := history.Fault{N: n, Kind: p.Kind, Target: target.Name, Client: target.Client, Node: target.Node, Start: target.At}
	if err == nil {
		rec.Proof, err = f.Landed(ctx)
	}
	rec.Landed = err == nil
	if err == nil {
		r.Log.Info("fault landed", "kind", p.Kind, "target", target.Name, "for", p.For, "proof", rec.Proof)
	} else {
		rec.Error = err.Error()
		r.Log.Warn("fault did not land", "kind", p.Kind, "target", target.Name, "error", err)
	}
	r.tell(p.Kind + " " + target.Name)
	start := rec
	r.Record(history.Event{Time: rec.Start, Type: history.FaultStart, Client: -1, Worker: -1, Fault: &start})
	until(ctx, now()+int64(p.For))
	return true, r.heal(ctx, f, rec)
}

func (r *Runner) heal(ctx context.Context, f Fault, rec history.Fault) error {
	defer r.tell("")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
	defer cancel()
	err := f.Recover(ctx)
	if err == nil {
		rec.Healed, err = f.Recovered(ctx)
	}
	rec.End = now()
	if err != nil {
		rec.End = 0
		rec.Error = fmt.Sprintf("%s (not healed: %v)", rec.Error, err)
		r.Log.Error("fault not healed", "kind", rec.Kind, "target", rec.Target, "error", err)
		err = fmt.Errorf("heal %s of %s: %w", rec.Kind, rec.Target, err)
	}
	if err == nil {
		r.Log.Info("fault healed", "kind", rec.Kind, "target", rec.Target, "proof", rec.Healed)
	}
	r.Record(history.Event{Time: now(), Type: history.FaultEnd, Client: -1, Worker: -1, Fault: &rec})
	return err
}

func (r *Runner) tell(s string) {
	if r.Active != nil {
		r.Active(s)
	}
}

// until waits for a time of the record's clock.
func until(ctx context.Context, at int64) {
	if d := at - now(); d > 0 {
		wait(ctx, time.Duration(d))
	}
}
