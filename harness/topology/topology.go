// Package topology starts the servers of a test and lets the nemesis lay hands on them:
// kill, start, pause, and later cut and skew. Two runtimes do it behind one interface:
// docker (containers on a network of their own) and process (redis-server from PATH,
// each node on an address of its own in 127.0.0.0/8).
//
// In goes a Plan, out comes a Cluster. The package knows nothing of locks, workers or
// histories. Whatever it starts carries the run's id and its owner (the harness process),
// so that a later run can sweep what a dead one left behind.
package topology

import (
	"context"
	"log/slog"
	"time"
)

// Persistence of a node.
type Persistence string

// The persistences.
const (
	PersistNone     Persistence = "none"     // memory only: a restart loses everything
	PersistEverysec Persistence = "everysec" // append-only file, synced each second
	PersistAlways   Persistence = "always"   // append-only file, synced before each reply
)

// NodeSpec is a node to be started.
type NodeSpec struct {
	Name        string // unique in the topology: "lock", "stock", ...
	Persistence Persistence
	Args        []string // further redis-server options, e.g. "--maxmemory", "64mb"
}

// Plan is what a runtime starts.
type Plan struct {
	Run    string // the run's id, put on everything that is started
	Nodes  []NodeSpec
	Dir    string // existing folder of the test's own: node logs go to Dir/<node>.log
	Log    *slog.Logger
	Report func(string) // progress for a person ("building the image ..."); nil: none
}

// State of a node, as observed from outside it.
type State string

// The states.
const (
	Running State = "running"
	Paused  State = "paused"
	Dead    State = "dead"
)

// Cluster is a started topology.
type Cluster interface {
	Nodes() []Node
	// About says what runs: runtime, server version, image digest, how nodes are reached.
	About() map[string]string
	// Close ends everything that the cluster started, paused or not, and removes it. It may
	// be called at any time, more than once, and from another goroutine.
	Close(ctx context.Context) error
}

// Node is one server. Its methods may be called from several goroutines.
type Node interface {
	Name() string
	// Addr is the host:port at which clients on this machine reach the node now. It may
	// change when the node is started again.
	Addr() string
	// Pause freezes the node; its sockets stay open. Resume thaws it.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Kill ends the node with SIGKILL, without warning, and returns when it is dead. A
	// paused node can be killed.
	Kill(ctx context.Context) error
	// Start starts a dead node again with the data that it left on disk, and returns when
	// it is ready: a SET and a DEL succeed.
	Start(ctx context.Context) error
	// State observes the node: its process or cgroup, not what was last asked of it. The
	// proof says what was seen, e.g. "process 4711 is in state T (stopped)".
	State(ctx context.Context) (s State, proof string, err error)
}

// Runtime starts clusters.
type Runtime interface {
	Name() string
	// Start starts all nodes and returns when all are ready. After an error nothing is
	// left running.
	Start(ctx context.Context, p Plan) (Cluster, error)
	// Sweep ends what dead runs left behind and says how many things that were. What
	// belongs to a live harness is left alone.
	Sweep(ctx context.Context) (int, error)
}

// ReadyTimeout bounds the wait for a started node.
const ReadyTimeout = 30 * time.Second
