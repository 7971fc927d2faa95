package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"picklock/harness/client"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/nemesis"
	"picklock/nemesis/wire"
	wirelog "picklock/nemesis/wire/record"
)

// session is the time in which clients live.
type session struct {
	test      *store.Test
	env       Env
	log       *slog.Logger
	pool      *client.Pool
	collector *history.Collector
	stock     *stockKeeper
	nodes     []topology.Node // that faults may touch
	wire      *wire.Proxy     // nil: no fault needs it
	messages  *wirelog.Writer // what passes the wire; nil without one
	nemesis   *nemesis.Runner
	watch     *watch
	gauge     *gauge
	prover    *prover
	start     int64    // ns: the load began
	laid      chan int // numbers of the faults that were laid
	early     bool     // the faults, and the load if it could, ended before their time
}

func newSession(t *store.Test, env Env, dir store.Dir, cluster topology.Cluster, log *slog.Logger) (*session, error) {
	spec, _ := locks.Find(t.Lock) // Plan has looked
	journal, err := filepath.Abs(dir.Path(store.Journals))
	if err != nil {
		return nil, err
	}
	s := &session{test: t, laid: make(chan int, len(t.Schedule)), env: env, log: log, gauge: newGauge(params(t, spec.Meta))}
	cfg := clientConfig(t, spec.Meta, journal)
	stock := s.arrange(&cfg, cluster.Nodes())
	w, err := history.Create(dir.Path(store.HistoryFile))
	if err != nil {
		return nil, err
	}
	s.pool = client.NewPool(cfg, env.Executable, t.Run, dir.Path(store.ClientLogs))
	if needs(t).Wire {
		if err := s.layWire(cluster.Nodes(), dir.Path(store.WireFile), cfg.Stock); err != nil {
			return nil, errors.Join(err, s.takeUpWire())
		}
	}
	s.collector = history.NewCollector(cfg.Journal, w, func(e *history.Event) {
		s.pool.Watch(e)
		s.gauge.see(e)
	})
	s.stock = newStockKeeper(*t, stock, s.collector.Record, log)
	s.watch = newWatch(s.nodes, stock, s.collector.Record)
	s.nemesis = s.newNemesis(cfg.Stock)
	s.prover = newProver(s, spec.Meta)
	return s, nil
}

func clientConfig(t *store.Test, m locks.Meta, journal string) client.Config {
	cfg := client.Config{
		Clients: t.Clients, Workers: t.Workers, Journal: journal,
		Lock: t.Lock, Deduct: t.Deduct, Addrs: map[string]string{}, Aliases: map[string]string{}, Replicas: t.Replicas,
		Prefix: t.Prefix, Customer: t.Customer, TTL: time.Duration(t.TTL), SKUs: t.SKUs, Initial: t.Stock, Depth: 1,
		Think: time.Duration(t.Think), ThinkAfter: time.Duration(t.Pause), Rate: t.Rate,
		AcquireTimeout: time.Duration(t.AcquireTimeout), RedisTimeout: time.Duration(t.RedisTimeout), Seed: t.Seed,
	}
	if m.Reentrant {
		cfg.Depth = 2
	}
	return cfg
}

// arrange tells the clients of the nodes, sets those aside that faults may touch, and
// returns the one that keeps the stock.
func (s *session) arrange(cfg *client.Config, all []topology.Node) (stock topology.Node) {
	for _, n := range all {
		cfg.Addrs[n.Name()] = n.Addr()
		cfg.Aliases[n.Inside()] = n.Name()
		switch n.Kind() {
		case topology.StockNode:
			stock = n
			continue
		case topology.SentinelNode:
			cfg.Sentinels = append(cfg.Sentinels, n.Name())
		default:
			cfg.Locks = append(cfg.Locks, n.Name())
		}
		s.nodes = append(s.nodes, n)
	}
	if stock == nil {
		stock = s.nodes[0]
	}
	cfg.Stock = stock.Name()
	return stock
}

func (s *session) newNemesis(stock string) *nemesis.Runner {
	t := s.test
	lock, _ := locks.Find(t.Lock)
	sale, _ := findDeduction(t.Deduct) // Plan has looked
	return &nemesis.Runner{
		World: nemesis.World{
			Clients: clients{s.pool}, Nodes: s.nodes, Wire: s.wire, Steps: stepsOf(lock, sale), Keys: keysOf(lock, s.nodes), StockNode: stock,
			TTL: time.Duration(t.TTL), Moved: s.pool.Moved, Sabotage: s.env.Sabotage,
			Seconds: s.seconds,
		},
		Plan: planned(t.Schedule), Overlap: overlaps(t),
		Log: s.log, Record: s.collector.Record, Active: s.gauge.setFault,
		Laid: func(n int) { s.laid <- n },
	}
}

// seconds gives a time of the record (ns) as seconds since the load began.
func (s *session) seconds(ns int64) float64 { return float64(ns-s.start) / 1e9 }

// Intervals and bounds of a session.
const (
	pollEvery   = 20 * time.Millisecond  // the journals are drained
	ledgerEvery = 250 * time.Millisecond // the ledger is carried over
	tellEvery   = 200 * time.Millisecond // progress is told
	awaitLaid   = time.Second            // for faults that come with the load to be laid
	tailMargin  = 200 * time.Millisecond // beyond TTL and grace after the last heal
	tidyTimeout = 30 * time.Second       // servers of the user are left clean
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
	s.watch.begin(ctx)
	s.start = history.Now()
	s.collector.Record(history.Event{Time: s.start, Type: history.Begin, Note: "picklock history 1, run " + s.test.Run})
	// Background work ends when the load does; each of it has its say in errs.
	load, endLoad := context.WithCancel(ctx)
	defer endLoad()
	errs, healed, proven := make(chan error, 6), make(chan int64, 1), make(chan struct{})
	go func() { errs <- s.poll(load, endLoad) }()
	go func() { s.stock.follow(load, ledgerEvery); errs <- nil }()
	go func() { s.tell(load); errs <- nil }()
	go func() { s.watch.follow(load); errs <- nil }()
	go func() { s.prover.follow(load, proven); errs <- nil }()
	go func() {
		at, err := s.unleash(load)
		healed <- at
		errs <- err
	}()
	s.awaitFirst(load)
	began := s.pool.Go()
	if began == nil {
		s.loadOn(load, proven, healed)
	}
	endLoad()
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	if began != nil {
		return errors.Join(began, err)
	}
	return errors.Join(err, s.finish(ctx))
}

// loadOn returns when the load may end: at the end of its time, or once all that is
// expected is proven, but not without a quiet tail after the last fault.
func (s *session) loadOn(ctx context.Context, proven <-chan struct{}, healed <-chan int64) {
	limit := s.start + int64(s.test.TimeLimit)
	end := time.NewTimer(time.Duration(limit - history.Now()))
	defer end.Stop()
	since := s.start
	select {
	case <-proven:
		s.early = true
		if s.prover.stuck() {
			since = history.Now()
		}
		s.nemesis.End()
	case <-end.C:
	case <-ctx.Done():
	}
	select {
	case at := <-healed:
		// A heal that took longer than planned (a slow restart, a busy machine) must not
		// cost the quiet tail that liveness is judged in.
		if !s.early || s.prover.tail {
			waitUntil(ctx, max(at, since)+int64(s.test.TTL)+int64(s.test.Grace)+int64(tailMargin))
		}
	case <-ctx.Done():
	}
	if s.early {
		s.prover.confirm(ctx, limit)
	}
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

// awaitFirst waits until the faults of the wire that come with the load are laid, so that
// not even a first command gets past a cut that was there from the start.
func (s *session) awaitFirst(ctx context.Context) {
	first := map[int]bool{}
	for i, p := range s.test.Schedule {
		kind, _ := nemesis.Find(p.Kind) // it was planned
		if p.At == 0 && p.On == "" && p.After == 0 && p.Target == nemesis.Everyone && kind.Needs.Wire && !kind.Needs.Servers && !kind.Rule {
			first[i+1] = true
		}
	}
	late := time.After(awaitLaid)
	for len(first) > 0 {
		select {
		case n := <-s.laid:
			delete(first, n)
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unleash runs the nemesis and tells when the last fault was healed (ns); when it
// returns every fault that does not stay is healed, or the error says which is not.
func (s *session) unleash(ctx context.Context) (healed int64, err error) {
	t := s.test
	deadline := s.start + int64(t.TimeLimit) - int64(nemesis.Tail(time.Duration(t.TTL), time.Duration(t.Grace)))
	return s.nemesis.Run(ctx, s.start, deadline)
}

// finish stops the clients and closes the record, interrupted or not.
func (s *session) finish(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	t := s.test
	// A sale at hand takes its think time and a handful of replies at most.
	bound := patience + 2*time.Duration(t.Think) + 20*time.Duration(t.RedisTimeout)
	s.pool.TellStop()
	// A hung worker must go on before it can stop; a server's clock must not jump before
	// the last client has.
	err := s.nemesis.Heal(ctx, nemesis.OnClients)
	killed, serr := s.pool.Stop(ctx, bound)
	err = errors.Join(err, serr, s.nemesis.Heal(ctx, nemesis.OnServers))
	if killed > 0 {
		s.log.Warn("clients that did not stop were killed", "clients", killed)
	}
	s.watch.end(ctx)
	err = errors.Join(err, s.pool.Died(), s.stock.finish(ctx))
	note := ""
	if interrupted {
		note = fmt.Sprintf("the test was interrupted; judged up to %.3f s", float64(history.Now()-s.start)/1e9)
	}
	return errors.Join(err, s.collector.Finish(history.Event{Time: history.Now(), Type: history.End, Note: note}))
}

func (s *session) close() error {
	s.pool.Close()
	return s.takeUpWire()
}

// tidy removes what the test wrote to servers that are not picklock's, once nobody writes
// any more.
func (s *session) tidy(ctx context.Context) error {
	if s.test.Prefix == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	var errs []error
	for _, n := range s.nodes {
		errs = append(errs, clearKeys(ctx, n, s.test.Prefix))
	}
	return errors.Join(errs...)
}

// clients is the pool as the nemesis sees it.
type clients struct{ *client.Pool }

func (c clients) Holders() ([]nemesis.Holding, error) { return holdings(c.Pool.Holders()) }

func (c clients) Waiters() ([]nemesis.Holding, error) { return holdings(c.Pool.Waiters()) }

func holdings(all []client.Holding, err error) ([]nemesis.Holding, error) {
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
