package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"picklock/docker"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/models"
)

// Env is what a test needs from its surroundings.
type Env struct {
	Runtime topology.Runtime
	// Executable is the program that becomes a client process when it is started with
	// client.Argument; empty: this one.
	Executable string
	// NoSweep leaves the sweep of what dead runs left to the caller.
	NoSweep bool
	// Sabotage makes every fault ineffective, for the tests that prove that this is noticed.
	Sabotage bool
	// Progress is told now and then how the test goes; nil: nobody is.
	Progress func(Progress)
}

// ErrInterrupted: the test was broken off by its context; what was recorded is kept.
var ErrInterrupted = errors.New("interrupted")

// Outcome is a finished test.
type Outcome struct {
	Dir     store.Dir
	Result  *store.Result
	History *history.History
	Report  *models.Report
}

// Run runs a planned test (see Plan) and judges it. The folder of the test is set as soon
// as it exists, also on an error. Whatever happens, faults are healed, clients ended and
// servers removed before it returns.
func Run(ctx context.Context, o Options, env Env) (Outcome, error) {
	var out Outcome
	t := o.Test
	if env.Executable == "" {
		exe, err := os.Executable()
		if err != nil {
			return out, err
		}
		env.Executable = exe
	}
	t.Runtime = env.Runtime.Name()
	dir, err := store.Create(o.Root, &t)
	if err != nil {
		return out, usage("--store: %s", err)
	}
	out.Dir = dir
	mark, err := dir.Hold()
	if err != nil {
		return out, err
	}
	defer mark.Release()
	if err := record(ctx, &t, env, dir); err != nil {
		switch {
		case ctx.Err() != nil:
			return out, errors.Join(ErrInterrupted, err)
		case errors.Is(err, ErrUsage): // nothing began
			out.Dir = ""
			return out, errors.Join(err, store.Discard(o.Root, dir))
		}
		return out, err
	}
	if ctx.Err() != nil {
		return out, ErrInterrupted
	}
	env.progress(Progress{Phase: "judging"})
	return Judge(dir, "")
}

// record runs the test until its history is on disk and nothing of it is running.
func record(ctx context.Context, t *store.Test, env Env, dir store.Dir) (err error) {
	logFile, err := os.Create(dir.Path(store.LogFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()
	log := slog.New(slog.NewTextHandler(logFile, nil))
	log.Info("test begins", "command", Rerun(*t, string(dir)), "run", t.Run)
	defer func() { log.Info("test ends", "error", err) }()

	env.progress(Progress{Phase: "starting the servers"})
	if !env.NoSweep {
		sweep(ctx, env, log)
	}
	need := needs(t)
	cluster, err := env.Runtime.Start(ctx, topology.Plan{
		Run: t.Run, Nodes: nodes(t), Server: t.Server, Shim: need.Shim, Cuts: need.Cuts,
		Hands: need.Servers || need.Shim || need.Cuts,
		Dir:   dir.Path(store.NodeLogs), Log: log,
		Report: func(s string) { env.progress(Progress{Phase: s}) },
	})
	if err != nil {
		return notStarted(t, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, cluster.Close(ctx))
	}()
	t.About = about(cluster)
	if err := errors.Join(dir.WriteTest(t), WriteSchedule(dir.Path(store.Schedule), t.Schedule)); err != nil {
		return err
	}
	s, err := newSession(t, env, dir, cluster, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(), s.tidy(ctx)) }()
	err = s.run(ctx)
	t.Observed = s.watch.observed(s.pool)
	t.Observed.Early = s.early
	return errors.Join(err, dir.WriteTest(t))
}

// notStarted is the error of servers that could not be started, or reached: where that is
// for the caller to mend, it wraps ErrUsage.
func notStarted(t *store.Test, err error) error {
	if len(t.Addrs) > 0 {
		return usage("--addr: %s", err)
	}
	for _, theirs := range []error{topology.ErrConfig, topology.ErrServer, topology.ErrNoServer, topology.ErrNoCuts, topology.ErrNoCompiler, docker.ErrNoImage, docker.ErrNoDocker} {
		if errors.Is(err, theirs) {
			return usage("start the topology: %s", err)
		}
	}
	return fmt.Errorf("start the topology: %w", err)
}

// sweep removes what dead runs left behind; that it cannot is no reason not to test.
func sweep(ctx context.Context, env Env, log *slog.Logger) {
	if n, err := env.Runtime.Sweep(ctx); err != nil {
		log.Warn("sweep of what dead runs left", "error", err)
	} else if n > 0 {
		log.Info("swept what dead runs left", "things", n)
		env.progress(Progress{Phase: fmt.Sprintf("removed %d things that dead runs had left", n)})
	}
}
