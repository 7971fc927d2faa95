package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

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
	nodes []redis.Cmdable
	lock  locks.Maker
	sale  deduct.Maker
	recs  []*recorder
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
	p := &process{cfg: cfg, lock: spec.Open(), sale: sale.Open()}
	for node, addr := range cfg.Addrs {
		p.addrs.Store(node, addr)
	}
	for _, node := range cfg.Locks {
		p.nodes = append(p.nodes, p.connect(node))
	}
	p.stock = p.connect(cfg.Stock)
	for i := range cfg.Workers {
		r, err := newRecorder(cfg, i)
		if err != nil {
			return nil, err
		}
		p.recs = append(p.recs, r)
	}
	return p, nil
}

// connect makes the client for one node. Hidden retries are off, a reply is waited for
// no longer than the test says, and the address is looked up at each dial, since a
// published port changes when its container restarts.
func (p *process) connect(node string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: node,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			addr, _ := p.addrs.Load(node)
			d := net.Dialer{Timeout: p.cfg.RedisTimeout}
			return d.DialContext(ctx, network, addr.(string))
		},
		DialerRetries:         1,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		DialTimeout:           p.cfg.RedisTimeout,
		ReadTimeout:           p.cfg.RedisTimeout,
		WriteTimeout:          p.cfg.RedisTimeout,
		PoolTimeout:           p.cfg.RedisTimeout,
		PoolSize:              max(10, 2*p.cfg.Workers),
		DisableIdentity:       true,
		// No extra commands on the connection that the record does not know of.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// obey carries out the harness's commands until its pipe ends.
func (p *process) obey(lines *bufio.Scanner, begin chan<- struct{}, stop func()) error {
	for lines.Scan() {
		switch f := strings.Fields(lines.Text()); {
		case len(f) == 1 && f[0] == "go":
			close(begin)
		case len(f) == 1 && f[0] == "stop":
			stop()
		case len(f) == 3 && f[0] == "addr":
			p.addrs.Store(f[1], f[2])
		default:
			return fmt.Errorf("unknown command %q from the harness", lines.Text())
		}
	}
	return ErrHarnessGone
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
	w := &worker{cfg: p.cfg, rec: r, rand: rand.New(rand.NewPCG(p.cfg.Seed, seed)), shops: map[string]*shop{}}
	w.lockOf = func(sku string, trace locks.Trace) locks.Lock {
		return p.lock(locks.Config{
			Nodes: p.nodes, Name: LockName(sku), User: fmt.Sprintf("user-%d", p.cfg.slot(i)),
			TTL: p.cfg.TTL, Clock: clock{}, Rand: w.rand, Trace: trace,
		})
	}
	w.saleOf = func(sku string) deduct.Deduction {
		return p.sale(deduct.Config{
			Stock: p.stock, SKU: sku, Initial: p.cfg.Initial, Rand: w.rand, Sleep: sleep,
		})
	}
	return w
}

// clock is the client's own time, which no fault of this process skews.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
