package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"picklock/harness/client"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/models"
	"picklock/nemesis"
)

// Env is what a test needs from its surroundings.
type Env struct {
	Runtime topology.Runtime
	// Executable is the program that becomes a client process when it is started with
	// client.Argument; empty: this one.
	Executable string
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
	if err := record(ctx, &t, env, dir); err != nil {
		if ctx.Err() != nil {
			return out, errors.Join(ErrInterrupted, err)
		}
		return out, err
	}
	if ctx.Err() != nil {
		return out, ErrInterrupted
	}
	env.progress(Progress{Phase: "judging"})
	return Judge(dir)
}

// record runs the test until its history is on disk and nothing of it is running.
func record(ctx context.Context, t *store.Test, env Env, dir store.Dir) (err error) {
	logFile, err := os.Create(dir.Path(store.LogFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()
	log := slog.New(slog.NewTextHandler(logFile, nil))
	log.Info("test begins", "command", Rerun(*t), "run", t.Run)
	defer func() { log.Info("test ends", "error", err) }()

	env.progress(Progress{Phase: "starting the servers"})
	if n, err := env.Runtime.Sweep(ctx); err != nil {
		log.Warn("sweep of what dead runs left", "error", err)
	} else if n > 0 {
		log.Info("swept what dead runs left", "things", n)
		env.progress(Progress{Phase: fmt.Sprintf("removed %d things that dead runs had left", n)})
	}
	cluster, err := env.Runtime.Start(ctx, topology.Plan{
		Run: t.Run, Nodes: topology.Single(t.StockOn, topology.Persistence(t.Persistence)),
		Dir: dir.Path(store.NodeLogs), Log: log,
		Report: func(s string) { env.progress(Progress{Phase: s}) },
	})
	if err != nil {
		return fmt.Errorf("start the topology: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, cluster.Close(ctx))
	}()
	t.About = about(cluster)
	if err := dir.WriteTest(t); err != nil {
		return err
	}
	s, err := newSession(t, env, dir, cluster, log)
	if err != nil {
		return err
	}
	defer s.close()
	return s.run(ctx)
}

// session is the time in which clients live.
type session struct {
	test      *store.Test
	env       Env
	log       *slog.Logger
	pool      *client.Pool
	collector *history.Collector
	stock     *stockKeeper
	nodes     []topology.Node // that faults may touch
	gauge     *gauge
	start     int64 // ns: the load began
}

func newSession(t *store.Test, env Env, dir store.Dir, cluster topology.Cluster, log *slog.Logger) (*session, error) {
	spec, _ := locks.Find(t.Lock) // Plan has looked
	cfg := client.Config{
		Clients: t.Clients, Workers: t.Workers, Journal: dir.Path(store.Journals),
		Lock: t.Lock, Deduct: t.Deduct, Addrs: map[string]string{},
		TTL: time.Duration(t.TTL), SKUs: t.SKUs, Initial: t.Stock, Depth: 1,
		Think: time.Duration(t.Think), ThinkAfter: time.Duration(t.Pause), Rate: t.Rate,
		AcquireTimeout: time.Duration(t.AcquireTimeout), RedisTimeout: time.Duration(t.RedisTimeout), Seed: t.Seed,
	}
	if spec.Reentrant {
		cfg.Depth = 2
	}
	s := &session{test: t, env: env, log: log, gauge: newGauge(params(t, spec.Meta))}
	var stock topology.Node
	for _, n := range cluster.Nodes() {
		cfg.Addrs[n.Name()] = n.Addr()
		if n.Name() == "stock" {
			stock = n
			continue
		}
		cfg.Locks = append(cfg.Locks, n.Name())
		s.nodes = append(s.nodes, n)
	}
	if stock == nil {
		stock = s.nodes[0]
	}
	cfg.Stock = stock.Name()
	absolute, err := filepath.Abs(cfg.Journal)
	if err != nil {
		return nil, err
	}
	cfg.Journal = absolute
	w, err := history.Create(dir.Path(store.HistoryFile))
	if err != nil {
		return nil, err
	}
	s.pool = client.NewPool(cfg, env.Executable, t.Run, dir.Path(store.ClientLogs))
	s.collector = history.NewCollector(cfg.Journal, w, func(e *history.Event) {
		s.pool.Watch(e)
		s.gauge.see(e)
	})
	s.stock = newStockKeeper(*t, stock, s.collector.Record, log)
	return s, nil
}

// Intervals and bounds of a session.
const (
	pollEvery   = 20 * time.Millisecond  // the journals are drained
	ledgerEvery = 250 * time.Millisecond // the ledger is carried over
	tellEvery   = 200 * time.Millisecond // progress is told
	tailMargin  = 200 * time.Millisecond // beyond TTL and grace after the last heal
	patience    = 5 * time.Second        // beyond what a sale may take, for workers to stop
)

func (s *session) run(ctx context.Context) (err error) {
	s.env.progress(Progress{Phase: "starting the clients"})
	if err := s.stock.prepare(ctx); err != nil {
		return err
	}
	if err := s.pool.Start(ctx, s.collector); err != nil {
		return err
	}
	s.start = history.Now()
	s.collector.Record(history.Event{Time: s.start, Type: history.Begin, Note: "picklock history 1, run " + s.test.Run})
	if err := s.pool.Go(); err != nil {
		return err
	}
	// Background work ends when the load does; each of it has its say in errs.
	load, endLoad := context.WithCancel(ctx)
	defer endLoad()
	errs, healed := make(chan error, 4), make(chan int64, 1)
	go func() { errs <- s.poll(load, endLoad) }()
	go func() { s.stock.follow(load, ledgerEvery); errs <- nil }()
	go func() { s.tell(load); errs <- nil }()
	go func() {
		at, err := s.unleash(load)
		healed <- at
		errs <- err
	}()
	waitUntil(load, s.start+int64(s.test.TimeLimit))
	select {
	case at := <-healed:
		// A heal that took longer than planned (a slow restart, a busy machine) must not
		// cost the quiet tail that liveness is judged in.
		waitUntil(load, at+int64(s.test.TTL)+int64(s.test.Grace)+int64(tailMargin))
	case <-load.Done():
	}
	endLoad()
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	return errors.Join(err, s.finish(ctx))
}

// poll drains the journals; a record that cannot be kept ends the load.
func (s *session) poll(ctx context.Context, endLoad func()) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.collector.Poll(); err != nil {
				endLoad()
				return fmt.Errorf("keep the record: %w", err)
			}
		}
	}
}

// unleash runs the nemesis and tells when the last fault was healed (ns); when it
// returns every fault is healed, or the error says which is not.
func (s *session) unleash(ctx context.Context) (healed int64, err error) {
	t := s.test
	r := &nemesis.Runner{
		World: nemesis.World{
			Clients: clients{s.pool}, Nodes: s.nodes, Moved: s.pool.Moved,
			Seconds: func(ns int64) float64 { return float64(ns-s.start) / 1e9 },
		},
		Log: s.log, Record: s.collector.Record, Active: s.gauge.setFault,
	}
	for _, p := range t.Schedule {
		r.Plan = append(r.Plan, nemesis.Planned{Kind: p.Kind, At: time.Duration(p.At), For: time.Duration(p.For), Pick: p.Pick})
	}
	deadline := s.start + int64(t.TimeLimit) - int64(nemesis.Tail(time.Duration(t.TTL), time.Duration(t.Grace)))
	return r.Run(ctx, s.start, deadline)
}

// finish stops the clients and closes the record, interrupted or not.
func (s *session) finish(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	t := s.test
	// A sale at hand takes its think time and a handful of replies at most.
	bound := patience + 2*time.Duration(t.Think) + 20*time.Duration(t.RedisTimeout)
	killed, err := s.pool.Stop(ctx, bound)
	if killed > 0 {
		s.log.Warn("clients that did not stop were killed", "clients", killed)
	}
	err = errors.Join(err, s.pool.Died(), s.stock.finish(ctx))
	note := ""
	if interrupted {
		note = fmt.Sprintf("the test was interrupted; judged up to %.3f s", float64(history.Now()-s.start)/1e9)
	}
	return errors.Join(err, s.collector.Finish(history.Event{Time: history.Now(), Type: history.End, Note: note}))
}

func (s *session) close() { s.pool.Close() }

// clients is the pool as the nemesis sees it.
type clients struct{ *client.Pool }

func (c clients) Holders() ([]nemesis.Holding, error) {
	all, err := c.Pool.Holders()
	out := make([]nemesis.Holding, len(all))
	for i, h := range all {
		out[i] = nemesis.Holding(h)
	}
	return out, err
}

func waitUntil(ctx context.Context, at int64) {
	t := time.NewTimer(time.Duration(at - history.Now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
