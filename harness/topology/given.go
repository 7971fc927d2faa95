package topology

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotOurs says that a server is not picklock's, so that no hand is laid on it.
var ErrNotOurs = errors.New("this server is not picklock's: nothing is done to it")

// Access is how servers that are already there are reached.
type Access struct {
	Addrs    []string // host:port, one per lock node
	User     string
	Password string
	TLS      *tls.Config // nil: none
}

// Given is the runtime of servers that are already there. It starts and ends nothing: its
// nodes can be watched, and that is all. Servers that ask for a password or TLS are
// reached through a gate on loopback, which knows them, so that nothing else of picklock
// has to.
type Given struct{ access Access }

var _ Runtime = (*Given)(nil)

// NewGiven makes the runtime of those servers.
func NewGiven(a Access) *Given { return &Given{a} }

// Name is "given".
func (*Given) Name() string { return "given" }

// Sweep finds nothing: nothing was started.
func (*Given) Sweep(context.Context) (int, error) { return 0, nil }

// Start looks whether every server answers, and writes nothing. The plan's lock nodes are
// given the addresses in their order; it must have no others.
func (g *Given) Start(ctx context.Context, p Plan) (Cluster, error) {
	p, err := p.checked()
	if err != nil {
		return nil, err
	}
	if len(p.Nodes) != len(g.access.Addrs) {
		return nil, fmt.Errorf("topology: %d servers are given for %d nodes", len(g.access.Addrs), len(p.Nodes))
	}
	c := &givenCluster{about: map[string]string{"runtime": g.Name(), "reach": "given"}}
	for i, spec := range p.Nodes {
		n := &givenNode{name: spec.Name, kind: spec.Kind, addr: g.access.Addrs[i], inside: g.access.Addrs[i]}
		if g.access.Password != "" || g.access.User != "" || g.access.TLS != nil {
			gate, err := openGate(g.access, n.addr)
			if err != nil {
				return nil, errors.Join(err, c.Close(ctx))
			}
			n.gate, n.addr = gate, gate.addr()
		}
		c.nodes = append(c.nodes, n)
	}
	err = each(c.nodes, func(n *givenNode) error {
		s, err := n.await(ctx)
		if err != nil {
			return fmt.Errorf("server %s: %w", n.inside, err)
		}
		n.version = s.version
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	c.about["redis"] = c.nodes[0].version
	return c, nil
}

// givenTimeout bounds how long a server that is already there may take to answer.
const givenTimeout = 5 * time.Second

// await waits until the server answers. A refusal will not change by waiting; a server that
// is loading its data, or is slow, is waited for.
func (n *givenNode) await(ctx context.Context) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, givenTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.inside)
	if err != nil {
		return server{}, err
	}
	_ = conn.Close()
	var last error
	answers := func(ctx context.Context, c *redis.Client) error { last = c.Ping(ctx).Err(); return last }
	refused := func() error {
		if n.gate != nil && n.gate.lastError() != nil {
			return n.gate.lastError()
		}
		for _, code := range []string{"NOAUTH", "WRONGPASS", "NOPERM"} {
			if redis.HasErrorPrefix(last, code) {
				return last
			}
		}
		return nil
	}
	return waitReady(ctx, n.addr, answers, refused)
}

type givenCluster struct {
	nodes []*givenNode
	about map[string]string
}

func (c *givenCluster) Nodes() []Node {
	nodes := make([]Node, len(c.nodes))
	for i, n := range c.nodes {
		nodes[i] = n
	}
	return nodes
}

func (c *givenCluster) About() map[string]string { return maps.Clone(c.about) }

// Close closes the gates; the servers stay as they are.
func (c *givenCluster) Close(context.Context) error {
	return each(c.nodes, func(n *givenNode) error {
		if n.gate == nil {
			return nil
		}
		return n.gate.close()
	})
}

// givenNode is a server that is already there.
type givenNode struct {
	name, addr, inside, version string
	kind                        Kind
	gate                        *gate // nil: it is reached directly
}

var _ Node = (*givenNode)(nil)

func (n *givenNode) Name() string   { return n.name }
func (n *givenNode) Addr() string   { return n.addr }
func (n *givenNode) Inside() string { return n.inside }
func (n *givenNode) Kind() Kind {
	if n.kind == "" {
		return LockNode
	}
	return n.kind
}

func (*givenNode) Pause(context.Context) error  { return ErrNotOurs }
func (*givenNode) Resume(context.Context) error { return ErrNotOurs }
func (*givenNode) Kill(context.Context) error   { return ErrNotOurs }
func (*givenNode) Start(context.Context) error  { return ErrNotOurs }

// State asks the server whether it answers.
func (n *givenNode) State(ctx context.Context) (State, string, error) {
	c := dialOnce(n.addr)
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil && !isReply(err) {
		return Dead, fmt.Sprintf("%s does not answer: %v", n.inside, err), nil
	}
	return Running, n.inside + " answers", nil
}

// isReply: the server did answer, if only with an error.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func (*givenNode) Block(context.Context, Node) error   { return ErrNotOurs }
func (*givenNode) Unblock(context.Context, Node) error { return ErrNotOurs }
func (*givenNode) Hears(context.Context, Node) (bool, string, error) {
	return false, "", ErrNotOurs
}
func (*givenNode) SetClock(context.Context, time.Duration, float64) error { return ErrNotOurs }
func (*givenNode) Clock(context.Context) (time.Duration, string, error) {
	return 0, "", ErrNotOurs
}
func (*givenNode) LosePower(context.Context) (string, error) { return "", ErrNotOurs }
