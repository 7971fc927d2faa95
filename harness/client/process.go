package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
	"picklock/locks/deduct"
)

// ErrHarnessGone: the pipe from the harness ended, so it is dead and the client must end.
var ErrHarnessGone = errors.New("the harness is gone")

// Run plays a client process: it reads its configuration and then its commands from in,
// and returns when it was told to stop and every worker has finished its sale, or at
// once when in ends. The caller must then end the process: after ErrHarnessGone workers
// may still be running.
func Run(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return ErrHarnessGone
	}
	var cfg Config
	if err := json.Unmarshal(lines.Bytes(), &cfg); err != nil {
		return fmt.Errorf("configuration of the client: %w", err)
	}
	p, err := newProcess(cfg)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	gone, worked := make(chan error, 1), make(chan error, 1)
	begin := make(chan struct{})
	go func() { gone <- p.obey(lines, begin, stop) }()
	go func() { worked <- p.work(ctx, begin) }()
	select {
	case err := <-gone:
		return err
	case err := <-worked:
		return err
	}
}

// process is what the workers of one client share.
type process struct {
	cfg   Config
	addrs sync.Map // node → host:port, as the harness last said
	stock redis.UniversalClient
	nodes []redis.UniversalClient
	lock  locks.Maker
	sale  deduct.Maker
	recs  []*recorder
	clock *skewed
	hangs []*hang // by worker
}

func newProcess(cfg Config) (*process, error) {
	spec, ok := locks.Find(cfg.Lock)
	if !ok {
		return nil, fmt.Errorf("no lock %q", cfg.Lock)
	}
	sale, ok := deduct.Find(cfg.Deduct)
	if !ok {
		return nil, fmt.Errorf("no deduction %q", cfg.Deduct)
	}
	p := &process{cfg: cfg, lock: spec.Open(), sale: sale.Open(), clock: newSkewed()}
	for node, addr := range cfg.Addrs {
		p.addrs.Store(node, addr)
	}
	p.connectAll()
	for i := range cfg.Workers {
		r, err := newRecorder(cfg, i)
		if err != nil {
			return nil, err
		}
		p.recs, p.hangs = append(p.recs, r), append(p.hangs, &hang{})
	}
	return p, nil
}

// work runs the workers from the harness's go until ctx ends.
func (p *process) work(ctx context.Context, begin <-chan struct{}) error {
	for _, r := range p.recs {
		r.up()
	}
	select {
	case <-begin:
	case <-ctx.Done():
		return nil
	}
	errs := make([]error, len(p.recs))
	var wg sync.WaitGroup
	for i, r := range p.recs {
		wg.Go(func() {
			w := p.worker(i, r)
			errs[i] = errors.Join(w.run(ctx), r.close())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *process) worker(i int, r *recorder) *worker {
	seed := uint64(p.cfg.slot(i))<<32 | uint64(p.cfg.Life)
	w := &worker{cfg: p.cfg, rec: r, rand: rand.New(rand.NewPCG(p.cfg.Seed, seed)), shops: map[string]*shop{}, hang: p.hangs[i]}
	w.lockOf = func(sku string, trace locks.Trace) locks.Lock {
		return p.lock(locks.Config{
			Nodes: p.nodes, Replicas: p.cfg.Replicas, Durable: p.stock, Name: LockName(w.cfg.Prefix, sku),
			User: fmt.Sprintf("%s-%d", p.cfg.Customer, p.cfg.slot(i)), TTL: p.cfg.TTL, Clock: p.clock, Rand: w.rand, Trace: trace,
		})
	}
	w.saleOf = func(sku string) deduct.Deduction {
		return p.sale(deduct.Config{
			Stock: p.stock, Keys: deduct.Keys(p.cfg.Prefix), SKU: sku, Initial: p.cfg.Initial, Rand: w.rand, Sleep: sleep,
		})
	}
	return w
}
