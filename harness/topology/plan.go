package topology

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
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
	nodes := []NodeSpec{{Name: "lock", Persistence: p}}
	if stockOn != "lock" {
		nodes = append(nodes, NodeSpec{Name: "stock", Persistence: p})
	}
	return nodes
}

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
	if p.Run == "" {
		return p, errors.New("topology: the plan names no run")
	}
	if st, err := os.Stat(p.Dir); err != nil {
		return p, fmt.Errorf("topology: folder for logs: %w", err)
	} else if !st.IsDir() {
		return p, fmt.Errorf("topology: %s is no folder", p.Dir)
	}
	if len(p.Nodes) == 0 {
		return p, errors.New("topology: the plan has no nodes")
	}
	seen := map[string]bool{}
	for _, n := range p.Nodes {
		if !nodeName.MatchString(n.Name) || seen[n.Name] {
			return p, fmt.Errorf("topology: %q is no name for a node, or is there twice", n.Name)
		}
		seen[n.Name] = true
		if _, err := persistArgs(n.Persistence); err != nil {
			return p, fmt.Errorf("topology: node %s: %w", n.Name, err)
		}
	}
	return p, nil
}

// persistArgs are redis-server's options for a persistence. Snapshots are always off: they
// would save a node that should lose everything.
func persistArgs(p Persistence) ([]string, error) {
	switch p {
	case PersistNone:
		return []string{"--save", "", "--appendonly", "no"}, nil
	case PersistEverysec, PersistAlways:
		return []string{"--save", "", "--appendonly", "yes", "--appendfsync", string(p)}, nil
	}
	return nil, fmt.Errorf("%q is no persistence: none, everysec or always", p)
}

// serverArgs are the options of a node that listens on host and port. The node's own come
// last: redis-server takes the last word. A replica must not wait before it syncs, or WAIT
// answers 0 long after it is connected.
func serverArgs(n NodeSpec, host, port string) []string {
	persist, _ := persistArgs(n.Persistence) // the plan was checked
	args := []string{"--bind", host, "--port", port, "--protected-mode", "no", "--daemonize", "no",
		"--repl-diskless-sync-delay", "0"}
	args = append(args, persist...)
	return append(args, n.Args...)
}
