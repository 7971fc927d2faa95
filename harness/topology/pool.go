package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Pool is a runtime that lends started clusters to one test after the other. A test that
// lays no hand on its servers (Plan.Hands) is given a cluster of the same shape that an
// earlier one has given back, if there is one; it has it to itself. A cluster is lent again
// only if it is provably as it was when it was new: see pooled.renew. Otherwise it is
// closed, and the next test gets a new one. A test that lays hands on servers is always
// given new ones, and they are closed after it.
//
// Every topology can be lent again. Of a failover topology that holds as long as nobody
// has failed over: the first election, even one that came to nothing, ends its use.
//
// Servers that are not picklock's (Given) are never lent again: that would empty them.
//
// The pool's servers carry runs of the pool's own, and their owner is this process, so that
// they end with it, and what is left of them is found by a sweep.
type Pool struct {
	inner Runtime
	run   string // of its clusters, with their numbers
	dir   string // of the logs of clusters that can be lent again
	most  int
	log   *slog.Logger

	mu     sync.Mutex
	idle   []*pooled // the one that came back last is the last
	lent   map[*pooled]bool
	made   int
	closed bool
}

var _ Runtime = (*Pool)(nil)

// PoolOptions shape a Pool. The zero value of a field takes its default.
type PoolOptions struct {
	Idle int          // clusters that are kept while nobody uses them, at most; 0: 4
	Log  *slog.Logger // says why a cluster is not lent again
}

// NewPool makes a pool of clusters that inner starts. It must be closed.
func NewPool(inner Runtime, o PoolOptions) (*Pool, error) {
	p := &Pool{inner: inner, run: "pool-" + uuid.NewString()[:13], most: o.Idle, log: o.Log, lent: map[*pooled]bool{}}
	if p.most <= 0 {
		p.most = 4
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	var err error
	p.dir, err = newDataDir("") // a sweep takes it for what it is: a folder of this process
	if err != nil {
		return nil, fmt.Errorf("make a folder for the logs of servers that are used again: %w", err)
	}
	return p, nil
}

// Name is that of the runtime that starts the clusters.
func (p *Pool) Name() string { return p.inner.Name() }

// Sweep ends what dead runs left behind.
func (p *Pool) Sweep(ctx context.Context) (int, error) { return p.inner.Sweep(ctx) }

// Start lends a cluster, or starts one. Its About says "servers": "reused" or "new".
func (p *Pool) Start(ctx context.Context, plan Plan) (Cluster, error) {
	plan, err := plan.checked()
	if err != nil {
		return nil, err
	}
	if _, theirs := p.inner.(*Given); theirs || plan.Hands {
		return p.inner.Start(ctx, plan)
	}
	for {
		c, err := p.take(plan)
		if err != nil {
			return nil, err
		}
		if c == nil {
			break
		}
		if err := c.verify(ctx); err == nil {
			return p.lend(c, plan.Dir, "reused")
		} else if cerr := p.discard(ctx, c, err); cerr != nil || ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), cerr)
		}
	}
	c, err := p.start(ctx, plan)
	if err != nil {
		return nil, err
	}
	return p.lend(c, plan.Dir, "new")
}

// shape is what two plans must have in common for their tests to use the same servers.
func (p Plan) shape() Plan {
	p.Run, p.Dir, p.Log, p.Report = "", "", nil, nil
	return p
}

// take takes an idle cluster of the plan's shape for its own, the one used last; nil: none.
func (p *Pool) take(plan Plan) (*pooled, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	for i, c := range slices.Backward(p.idle) {
		if reflect.DeepEqual(c.shape, plan.shape()) {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.lent[c] = true
			return c, nil
		}
	}
	return nil, nil
}

// start starts a new cluster that can be lent.
func (p *Pool) start(ctx context.Context, plan Plan) (*pooled, error) {
	p.mu.Lock()
	p.made++
	n := fmt.Sprint(p.made)
	p.mu.Unlock()
	c := &pooled{pool: p, shape: plan.shape(), dir: filepath.Join(p.dir, n)}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, err
	}
	plan.Run, plan.Dir, plan.Log = p.run+"-"+n, c.dir, p.log
	var err error
	if c.cluster, err = p.inner.Start(ctx, plan); err != nil {
		return nil, err
	}
	c.nodes = c.cluster.Nodes()
	c.new, err = printsOf(ctx, c.nodes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look at the new servers: %w", err), c.cluster.Close(ctx))
	}
	p.mu.Lock()
	closed := p.closed
	p.lent[c] = true
	p.mu.Unlock()
	if closed {
		return nil, errors.Join(ErrClosed, p.discard(ctx, c, ErrClosed))
	}
	return c, nil
}

// lend hands a cluster out. What its nodes log from now on, or in all if it is new, is the
// test's.
func (p *Pool) lend(c *pooled, dir, servers string) (Cluster, error) {
	l := &loan{pooled: c, dir: dir, about: c.cluster.About(), from: map[string]int64{}}
	l.about["servers"] = servers
	for _, n := range c.nodes {
		l.nodes = append(l.nodes, &lentNode{Node: n, touched: &l.touched})
		if info, err := os.Stat(c.log(n)); err == nil && servers == "reused" {
			l.from[n.Name()] = info.Size()
		}
	}
	return l, nil
}

// giveBack keeps a cluster for the next test, and closes the one that was idle longest if
// there are too many.
func (p *Pool) giveBack(ctx context.Context, c *pooled) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return p.discard(ctx, c, ErrClosed)
	}
	delete(p.lent, c)
	p.idle = append(p.idle, c)
	var oldest *pooled
	if len(p.idle) > p.most {
		oldest = p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
		p.lent[oldest] = true // until it is closed
	}
	p.mu.Unlock()
	if oldest == nil {
		return nil
	}
	return p.discard(ctx, oldest, errors.New("too many are idle"))
}

// discard closes a cluster that is not lent again.
func (p *Pool) discard(ctx context.Context, c *pooled, why error) error {
	p.log.Info("servers are not used again", "why", why)
	err := c.cluster.Close(ctx)
	if err == nil {
		p.mu.Lock()
		delete(p.lent, c)
		p.mu.Unlock()
		err = os.RemoveAll(c.dir)
	}
	return err
}

// Close closes all clusters, those that are lent too. It may be called more than once.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	all := append(slices.Collect(maps.Keys(p.lent)), p.idle...)
	p.mu.Unlock()
	err := each(all, func(c *pooled) error { return c.cluster.Close(ctx) })
	return errors.Join(err, os.RemoveAll(p.dir))
}

// pooled is a cluster that can be lent.
type pooled struct {
	pool    *Pool
	shape   Plan
	cluster Cluster
	nodes   []Node
	dir     string   // its logs
	new     []prints // of its nodes, when it was new
}

func (c *pooled) log(n Node) string { return filepath.Join(c.dir, n.Name()+".log") }

// loan is a cluster in the hands of one test.
type loan struct {
	*pooled
	nodes   []Node
	about   map[string]string
	dir     string           // of the test
	from    map[string]int64 // where each log stood when the cluster was handed out
	touched atomic.Bool      // a hand was laid on a node

	mu   sync.Mutex
	done bool
}

var _ Cluster = (*loan)(nil)

func (l *loan) Nodes() []Node { return slices.Clone(l.nodes) }

func (l *loan) About() map[string]string { return maps.Clone(l.about) }

// Close gives the cluster back, with the test's part of its logs in the test's folder.
func (l *loan) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	var renewed error
	if l.touched.Load() {
		renewed = errors.New("a hand was laid on its nodes")
	} else {
		renewed = l.renew(ctx)
	}
	if renewed != nil { // its log is whole once it has ended
		if err := l.cluster.Close(ctx); err != nil {
			return err
		}
	}
	copied := l.copyLogs()
	l.done = true
	if renewed != nil {
		return errors.Join(copied, l.pool.discard(ctx, l.pooled, renewed))
	}
	return errors.Join(copied, l.pool.giveBack(ctx, l.pooled))
}

// copyLogs copies what the nodes logged during the loan.
func (l *loan) copyLogs() error {
	return each(l.pooled.nodes, func(n Node) error {
		from, err := os.Open(l.log(n))
		if errors.Is(err, os.ErrNotExist) { // it never said anything
			return nil
		}
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := os.OpenFile(filepath.Join(l.dir, n.Name()+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("log of node %s: %w", n.Name(), err)
		}
		_, err = from.Seek(l.from[n.Name()], io.SeekStart)
		if err == nil {
			_, err = io.Copy(to, from)
		}
		return errors.Join(err, to.Close())
	})
}

// lentNode is a node in the hands of a test. Whoever does anything to it is noticed.
type lentNode struct {
	Node
	touched *atomic.Bool
}

// touch notes it, and gives the node itself.
func (n *lentNode) touch() Node {
	n.touched.Store(true)
	return n.Node
}

func (n *lentNode) Pause(ctx context.Context) error  { return n.touch().Pause(ctx) }
func (n *lentNode) Resume(ctx context.Context) error { return n.touch().Resume(ctx) }
func (n *lentNode) Kill(ctx context.Context) error   { return n.touch().Kill(ctx) }
func (n *lentNode) Start(ctx context.Context) error  { return n.touch().Start(ctx) }

func (n *lentNode) Block(ctx context.Context, from Node) error {
	return n.touch().Block(ctx, itself(from))
}

func (n *lentNode) Unblock(ctx context.Context, from Node) error {
	return n.touch().Unblock(ctx, itself(from))
}

func (n *lentNode) Hears(ctx context.Context, from Node) (bool, string, error) {
	return n.touch().Hears(ctx, itself(from))
}

func (n *lentNode) SetClock(ctx context.Context, offset time.Duration, rate float64) error {
	return n.touch().SetClock(ctx, offset, rate)
}

func (n *lentNode) LosePower(ctx context.Context) (string, error) { return n.touch().LosePower(ctx) }

// itself is the node that the runtime knows.
func itself(n Node) Node {
	if l, ok := n.(*lentNode); ok {
		return l.Node
	}
	return n
}
