package nemesis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picklock/harness/topology"
	"picklock/nemesis"
)

// diary writes down what is done to the fakes of one world, in order.
type diary struct {
	mu   sync.Mutex
	did  []string
	fail map[string]error // by entry: what goes wrong there
}

// do writes down one deed and tells how it goes.
func (d *diary) do(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	d.did = append(d.did, what)
	return d.fail[what]
}

// all is what was done so far, but for looks, which change nothing.
func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.did), func(s string) bool { return s == "look" })
}

// count tells how often a deed was done.
func (d *diary) count(what string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.did {
		if s == what {
			n++
		}
	}
	return n
}

// last is the latest deed, looks included.
func (d *diary) last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.did) == 0 {
		return ""
	}
	return d.did[len(d.did)-1]
}

// fakeClients plays three client processes. What is to go wrong is set before it is used.
type fakeClients struct {
	*diary
	slips int // how often the holder has released by the time it is stopped

	mu      sync.Mutex
	holding []nemesis.Holding
	waiting []nemesis.Holding
}

var _ nemesis.Clients = (*fakeClients)(nil)

func (c *fakeClients) Count() int { return 3 }

// hold says who is in a section from now on.
func (c *fakeClients) hold(h ...nemesis.Holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = h
}

func (c *fakeClients) Holders() ([]nemesis.Holding, error) {
	stopped := strings.HasPrefix(c.last(), "pause client")
	err := c.do("look")
	c.mu.Lock()
	defer c.mu.Unlock()
	if stopped && c.slips > 0 {
		c.slips--
		return nil, err
	}
	return slices.Clone(c.holding), err
}

func (c *fakeClients) Waiters() ([]nemesis.Holding, error) {
	err := c.do("look")
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waiting), err
}

func (c *fakeClients) Pause(_ context.Context, i int) (string, error) {
	return "state T", c.do("pause client %d", i)
}

func (c *fakeClients) Resume(_ context.Context, i int) (string, error) {
	return "state S", c.do("resume client %d", i)
}

func (c *fakeClients) Kill(_ context.Context, i int, _ int64, _ string) (string, error) {
	return "ended", c.do("kill client %d", i)
}

func (c *fakeClients) Restart(_ context.Context, i int) (string, error) {
	return "works again", c.do("restart client %d", i)
}

func (c *fakeClients) Hang(_ context.Context, i, worker int) (string, error) {
	return "hangs", c.do("hang client %d worker %d", i, worker)
}

func (c *fakeClients) Unhang(_ context.Context, i, worker int) (string, error) {
	return "goes on", c.do("unhang client %d worker %d", i, worker)
}

func (c *fakeClients) SetClock(_ context.Context, i int, offset time.Duration, rate float64) (string, error) {
	return "confirmed", c.do("clock of client %d to %s at rate %g", i, offset, rate)
}

func (c *fakeClients) Reconfigure(_ context.Context, i int, lock string) (string, error) {
	return "reconfigured", c.do("reconfigure client %d to %q", i, lock)
}

// fakeNode plays one server. A stuck one does not change, whatever is done to it.
type fakeNode struct {
	*diary
	name  string
	kind  topology.Kind
	stuck bool
	slow  time.Time // it is not started before then
	addr  string

	mu      sync.Mutex
	state   topology.State
	blocked map[string]bool // by name of the node whose packets do not arrive
	ahead   time.Duration
	role    string // as ROLE tells it
}

var _ topology.Node = (*fakeNode)(nil)

// newFakeNode makes a node that answers PING and ROLE while it runs.
func newFakeNode(t *testing.T, d *diary, name string) *fakeNode {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{
		diary: d, name: name, kind: topology.LockNode, state: topology.Running, blocked: map[string]bool{},
		addr: listen.Addr().String(), role: "master",
	}
	t.Cleanup(func() { _ = listen.Close() })
	go n.serve(listen)
	return n
}

// serve answers until the listener is closed.
func (n *fakeNode) serve(listen net.Listener) {
	for {
		c, err := listen.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for lines := bufio.NewScanner(c); lines.Scan(); {
				n.mu.Lock()
				running, role := n.state == topology.Running, n.role
				n.mu.Unlock()
				answer := map[string]string{
					"HELLO": "-ERR unknown command\r\n", "PING": "+PONG\r\n",
					"ROLE": fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", len(role), role),
				}[strings.ToUpper(lines.Text())]
				if !running {
					return
				}
				if _, err := io.WriteString(c, answer); err != nil {
					return
				}
			}
		}()
	}
}

func (n *fakeNode) Name() string        { return n.name }
func (n *fakeNode) Kind() topology.Kind { return n.kind }

func (n *fakeNode) Addr() string   { return n.addr }
func (n *fakeNode) Inside() string { return n.addr }

func (n *fakeNode) become(what string, s topology.State) error {
	if err := n.do("%s node %s", what, n.name); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.stuck {
		n.state = s
	}
	return nil
}

func (n *fakeNode) Pause(context.Context) error  { return n.become("pause", topology.Paused) }
func (n *fakeNode) Resume(context.Context) error { return n.become("resume", topology.Running) }
func (n *fakeNode) Kill(context.Context) error   { return n.become("kill", topology.Dead) }

func (n *fakeNode) Start(context.Context) error {
	<-time.After(time.Until(n.slow))
	return n.become("start", topology.Running)
}

func (n *fakeNode) LosePower(context.Context) (string, error) {
	return "lost 17 of 100 bytes", n.become("cut the power of", topology.Dead)
}

func (n *fakeNode) State(context.Context) (topology.State, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state, "seen " + string(n.state), nil
}

func (n *fakeNode) block(what string, from topology.Node, to bool) error {
	err := n.do("%s %s from %s", what, n.name, from.Name())
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && !n.stuck {
		n.blocked[from.Name()] = to
	}
	return err
}

func (n *fakeNode) Block(_ context.Context, from topology.Node) error {
	return n.block("block", from, true)
}

func (n *fakeNode) Unblock(_ context.Context, from topology.Node) error {
	return n.block("unblock", from, false)
}

func (n *fakeNode) Hears(_ context.Context, from topology.Node) (bool, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.blocked[from.Name()], fmt.Sprintf("a packet from %s was watched", from.Name()), nil
}

func (n *fakeNode) SetClock(_ context.Context, offset time.Duration, rate float64) error {
	err := n.do("clock of %s to %s at rate %g", n.name, offset, rate)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && !n.stuck {
		n.ahead = offset
	}
	return err
}

func (n *fakeNode) Clock(context.Context) (time.Duration, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != topology.Running {
		return 0, "", errors.New("it does not answer")
	}
	return n.ahead, fmt.Sprintf("its TIME is %s ahead", n.ahead), nil
}

// fakeWorld is a world of three clients and one lock node, with the diary of both.
func fakeWorld(t *testing.T) (w nemesis.World, clients *fakeClients, node *fakeNode) {
	t.Helper()
	d := &diary{fail: map[string]error{}}
	clients, node = &fakeClients{diary: d, holding: holder()}, newFakeNode(t, d, "lock")
	return nemesis.World{
		Clients: clients, Nodes: []topology.Node{node}, StockNode: "stock", TTL: 100 * time.Millisecond,
		Moved:   func(node, _ string) { _ = d.do("moved %s", node) },
		Seconds: func(ns int64) float64 { return float64(ns) / 1e9 },
	}, clients, node
}

// holder is a worker of client 2 in its section.
func holder() []nemesis.Holding {
	return []nemesis.Holding{{Client: 2, Worker: 1, Object: "lock:a", Grant: 7, Since: 1}}
}
