package topology

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Errors that a caller may branch on.
var (
	ErrClosed = errors.New("cluster is closed")
	ErrDead   = errors.New("node is dead")
	ErrAlive  = errors.New("node is not dead")
)

// Single is one node for the lock and, unless stockOn is "lock", one for the stock that
// no fault touches. Both persist alike.
func Single(stockOn string, p Persistence) []NodeSpec {
	return withStock([]NodeSpec{{Name: "lock", Kind: LockNode, Persistence: p}}, stockOn, p)
}

// Redlock is n independent primaries, lock-1 to lock-n.
func Redlock(n int, stockOn string, p Persistence) []NodeSpec {
	var nodes []NodeSpec
	for i := range n {
		nodes = append(nodes, NodeSpec{Name: fmt.Sprintf("lock-%d", i+1), Kind: LockNode, Persistence: p})
	}
	return withStock(nodes, stockOn, p)
}

// Failover is lock-1, which is primary at first, its replicas lock-2 and on, and three
// Sentinels that promote a replica when two of them agree that the primary is down.
func Failover(replicas int, stockOn string, p Persistence) []NodeSpec {
	nodes := Redlock(1+replicas, stockOn, p)
	for i := range nodes {
		if nodes[i].Kind == LockNode && i > 0 {
			nodes[i].ReplicaOf = nodes[0].Name
		}
	}
	for i := range 3 {
		nodes = append(nodes, NodeSpec{Name: fmt.Sprintf("sentinel-%d", i+1), Kind: SentinelNode, Persistence: PersistNone, Watches: nodes[0].Name})
	}
	return nodes
}

// SentinelMaster is the name by which Sentinels know the primary.
const SentinelMaster = "picklock"

func withStock(nodes []NodeSpec, stockOn string, p Persistence) []NodeSpec {
	if stockOn != "lock" {
		nodes = append(nodes, NodeSpec{Name: "stock", Kind: StockNode, Persistence: p})
	}
	return nodes
}

// Defaults of a Sentinel's patience, for tests: a production setup waits forty times as
// long. A primary that dies is replaced after one and a half to two seconds. With half a
// second of patience, on two cores with a load of twelve to seventeen, one of some hundred
// failovers was followed by another that nobody had ordered.
const (
	DefaultDownAfter       = 750 * time.Millisecond
	DefaultFailoverTimeout = 3 * time.Second
)

// nodeName is what may stand in a file name, a label and a host name alike.
var nodeName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)

// checked returns the plan with its defaults filled in.
func (p Plan) checked() (Plan, error) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Report == nil {
		p.Report = func(string) {}
	}
	if p.DownAfter == 0 {
		p.DownAfter = DefaultDownAfter
	}
	if p.FailoverTimeout == 0 {
		p.FailoverTimeout = DefaultFailoverTimeout
	}
	if p.Run == "" {
		return p, errors.New("topology: the plan names no run")
	}
	if st, err := os.Stat(p.Dir); err != nil {
		return p, fmt.Errorf("topology: folder for logs: %w", err)
	} else if !st.IsDir() {
		return p, fmt.Errorf("topology: %s is no folder", p.Dir)
	}
	// Below that a Sentinel would find a node down that answers each of its pings.
	if p.DownAfter < pingPeriod || p.FailoverTimeout < time.Second {
		return p, fmt.Errorf("topology: Sentinels that wait %v for a node and %v for a failover are too hasty: %v and 1s at least",
			p.DownAfter, p.FailoverTimeout, pingPeriod)
	}
	if len(p.Nodes) == 0 {
		return p, errors.New("topology: the plan has no nodes")
	}
	p.Nodes = slices.Clone(p.Nodes)
	seen := map[string]bool{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !nodeName.MatchString(n.Name) || seen[n.Name] {
			return p, fmt.Errorf("topology: %q is no name for a node, or is there twice", n.Name)
		}
		seen[n.Name] = true
		if n.Kind == "" {
			n.Kind = LockNode
		}
	}
	for _, n := range p.Nodes {
		if err := p.check(n); err != nil {
			return p, fmt.Errorf("topology: node %s: %w", n.Name, err)
		}
	}
	return p, nil
}

// check looks at one node, among nodes whose names are good.
func (p Plan) check(n NodeSpec) error {
	switch n.Persistence {
	case PersistNone, PersistEverysec, PersistAlways:
	default:
		return fmt.Errorf("%q is no persistence: none, everysec or always", n.Persistence)
	}
	switch n.Kind {
	case LockNode, StockNode:
		if n.Watches != "" {
			return fmt.Errorf("it watches %q, but only Sentinels watch", n.Watches)
		}
	case SentinelNode:
		if w, ok := p.spec(n.Watches); !ok || w.Kind != LockNode || w.ReplicaOf != "" || n.ReplicaOf != "" {
			return fmt.Errorf("a Sentinel watches a primary, and %q is none", n.Watches)
		}
	default:
		return fmt.Errorf("%q is no kind: lock, stock or sentinel", n.Kind)
	}
	for at, steps := n, 0; at.ReplicaOf != ""; steps++ {
		of, ok := p.spec(at.ReplicaOf)
		if !ok || of.Kind != n.Kind || steps == len(p.Nodes) {
			return fmt.Errorf("it cannot replicate %q: there is no such node, or of another kind, or they replicate in a circle", n.ReplicaOf)
		}
		at = of
	}
	if len(n.Args) > 0 && !isOption(n.Args[0]) {
		return fmt.Errorf("its options begin with %q instead of --something", n.Args[0])
	}
	return nil
}

func isOption(arg string) bool { return len(arg) > 2 && arg[:2] == "--" }

// spec finds a node by its name.
func (p Plan) spec(name string) (NodeSpec, bool) {
	i := slices.IndexFunc(p.Nodes, func(n NodeSpec) bool { return n.Name == name })
	if i < 0 {
		return NodeSpec{}, false
	}
	return p.Nodes[i], true
}

// replicasOf are the nodes that replicate the named one, when they are first started.
func (p Plan) replicasOf(name string) []NodeSpec {
	return slices.DeleteFunc(slices.Clone(p.Nodes), func(n NodeSpec) bool { return n.ReplicaOf != name })
}

// sentinelsOf are the Sentinels that watch the named node, when they are first started.
func (p Plan) sentinelsOf(name string) []NodeSpec {
	return slices.DeleteFunc(slices.Clone(p.Nodes), func(n NodeSpec) bool { return n.Watches != name })
}

// follows is the node that must be ready before this one is first started. A replica that
// finds no primary tries again only after a second; a Sentinel would find it down.
func (n NodeSpec) follows() string {
	if n.Kind == SentinelNode {
		return n.Watches
	}
	return n.ReplicaOf
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
