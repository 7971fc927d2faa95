package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// dataPrefix begins the name of every node's temporary folder; its owner follows, so that
// a sweep can judge a folder from the moment that it exists.
const dataPrefix = "picklock-data_"

// Process is the runtime for machines without Docker: redis-server from PATH, each node
// on an address of its own in 127.0.0.0/8. Linux only. Programs that use it must call
// RunGuardIfAsked.
type Process struct {
	server string
}

var _ Runtime = (*Process)(nil)

// ErrNoServer says that there is no redis-server to run.
var ErrNoServer = errors.New("redis-server is not in PATH")

// NewProcess finds redis-server, or else valkey-server, in PATH; without one the error
// wraps ErrNoServer.
func NewProcess() (*Process, error) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		if path, err := lookServer(program); err == nil {
			return &Process{server: path}, nil
		}
	}
	return nil, fmt.Errorf("%w: install it (apt-get install redis-server) or use --runtime docker", ErrNoServer)
}

// Name is "process".
func (*Process) Name() string { return "process" }

// Start starts redis-server once per node, all side by side.
func (r *Process) Start(ctx context.Context, p Plan) (Cluster, error) {
	p, err := p.checked()
	if err != nil {
		return nil, err
	}
	path, err := r.serverFor(ctx, p)
	if err != nil {
		return nil, err
	}
	var loaded *shim
	if p.Shim {
		if loaded, err = compileShim(ctx, p.Report); err != nil {
			return nil, err
		}
	}
	rules, err := rulesFor(ctx, p)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	c := &processCluster{end: end, about: map[string]string{
		"runtime": r.Name(), "server": path, "reach": "loopback",
	}}
	for _, spec := range p.Nodes {
		c.nodes = append(c.nodes, &processNode{
			spec: spec, run: p.Run, data: p.Data, server: path, ready: p.ready(spec), shim: loaded,
			rules: rules, cuts: map[rule]bool{}, turn: newTurn(life),
			logPath: filepath.Join(p.Dir, spec.Name+".log"), log: p.Log.With("node", spec.Name),
		})
	}
	if err := c.start(ctx, p); err != nil {
		// The caller's error comes first: it is why the rest happened.
		return nil, errors.Join(err, c.Close(ctx))
	}
	is := c.nodes[0].is
	c.about[is.name] = is.version
	return c, nil
}

// serverFor is the program that the plan asks for.
func (r *Process) serverFor(ctx context.Context, p Plan) (string, error) {
	want, err := parseServer(p.Server)
	if err != nil || want.name == "" {
		return r.server, err
	}
	return want.installed(ctx)
}

// rulesFor is this machine's firewall, which was tried, or nil for a plan without cuts.
func rulesFor(ctx context.Context, p Plan) (*firewall, error) {
	if !p.Cuts {
		return nil, nil
	}
	f, err := hostFirewall()
	if err != nil {
		return nil, err
	}
	return &f, f.tried(ctx, p.Run)
}

// start finds a place for each node, so that all can be told where the others are, and
// then starts them.
func (c *processCluster) start(ctx context.Context, p Plan) error {
	sites := map[string]site{}
	for _, n := range c.nodes {
		at, err := n.settle(ctx)
		if err != nil {
			return err
		}
		sites[n.Name()] = at
	}
	return inOrder(ctx, p, c.nodes, func(n *processNode) error { return n.first(ctx, configOf(p, n.spec, sites)) })
}

// processCluster is a started topology of processes.
type processCluster struct {
	end   context.CancelFunc
	nodes []*processNode
	about map[string]string
}

var _ Cluster = (*processCluster)(nil)

func (c *processCluster) Nodes() []Node {
	nodes := make([]Node, len(c.nodes))
	for i, n := range c.nodes {
		nodes[i] = n
	}
	return nodes
}

func (c *processCluster) About() map[string]string { return maps.Clone(c.about) }

func (c *processCluster) Close(ctx context.Context) error {
	c.end()
	ctx, cancel := toEnd(ctx)
	defer cancel()
	return each(c.nodes, func(n *processNode) error { return n.close(ctx) })
}

// each does the same to all nodes side by side, waits for all, and joins the errors.
func each[N any](nodes []N, do func(N) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Sweep kills the processes of dead harnesses, stopped ones too, and removes their data
// and their rules.
func (r *Process) Sweep(ctx context.Context) (int, error) {
	processes, err := sweepProcesses(ctx)
	folders, err2 := sweepFolders(os.TempDir())
	rules, err3 := sweepRules(ctx)
	return processes + folders + rules, errors.Join(err, err2, err3)
}

// newDataDir makes a node's temporary folder; in is empty for where temporary files go.
func newDataDir(in string) (string, error) {
	return os.MkdirTemp(in, dataPrefix+Owner()+"_*")
}

// sweepFolders removes the data of dead owners.
func sweepFolders(in string) (int, error) {
	found, err := filepath.Glob(filepath.Join(in, dataPrefix+"*"))
	if err != nil {
		return 0, fmt.Errorf("sweep %s: %w", in, err)
	}
	swept := 0
	var errs []error
	for _, dir := range found {
		owner, _, ok := cutLast(strings.TrimPrefix(filepath.Base(dir), dataPrefix), "_")
		if !ok || OwnerAlive(owner) {
			continue
		}
		if err := os.RemoveAll(dir); errors.Is(err, os.ErrPermission) {
			continue // another user's: that user's sweep removes it
		} else if err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
			continue
		}
		swept++
	}
	return swept, errors.Join(errs...)
}
