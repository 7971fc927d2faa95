// Package topology starts the servers of a test and lets the nemesis lay hands on them:
// kill, start, pause, cut and skew. Two runtimes do it behind one interface:
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

// Kind says what a node is for.
type Kind string

// The kinds of nodes.
const (
	LockNode     Kind = "lock"     // keeps locks: Redis or Valkey
	StockNode    Kind = "stock"    // keeps the stock; no fault touches it
	SentinelNode Kind = "sentinel" // watches the primary of the lock nodes
)

// NodeSpec is a node to be started.
type NodeSpec struct {
	Name        string // unique in the topology: "lock", "lock-1", "sentinel-2", "stock", ...
	Kind        Kind   // empty: LockNode
	Persistence Persistence
	ReplicaOf   string   // name of the node that it replicates when it is first started; empty: a primary
	Watches     string   // a Sentinel's: name of the node that is primary at first
	Args        []string // further redis-server options, e.g. "--maxmemory", "64mb"
}

// Plan is what a runtime starts.
type Plan struct {
	Run    string // the run's id, put on everything that is started
	Nodes  []NodeSpec
	Server string // "redis:7.0", "redis:8.0", "valkey:8"; empty: what the runtime has
	// Shim loads the clock shim into every server: SetClock and LosePower need it. The
	// docker runtime always does; the process runtime compiles it, which takes a C compiler.
	Shim bool
	// Cuts says that Block will be used: the process runtime then needs iptables and root,
	// and Start tells if they are not there.
	Cuts bool
	// Hands says that the test lays hands on the servers or on what they keep, beyond what
	// clients do: nobody is to use them after it (see Pool).
	Hands bool
	// DownAfter is how long a Sentinel waits for a node before it takes it for down, and
	// FailoverTimeout its failover-timeout: half of what it waits after a failed failover
	// before it tries again. Zero: DefaultDownAfter and DefaultFailoverTimeout.
	DownAfter       time.Duration
	FailoverTimeout time.Duration
	Dir             string // existing folder of the test's own: node logs go to Dir/<node>.log
	Data            string // existing folder, absolute, in which server processes store what they keep; empty: that for temporary files
	Log             *slog.Logger
	Report          func(string) // progress for a person ("building the image ..."); nil: none
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
	// Start starts a dead node again with the data and the configuration that it left on
	// disk: where Sentinel has moved roles, it comes back as its own file says, an old
	// primary as a primary for a moment. Start returns when the node is ready: a SET and a
	// DEL succeed, or it refuses them for what it is, e.g. a replica. Nothing is waited for
	// that other nodes must do: see AwaitReplication and AwaitSentinels.
	Start(ctx context.Context) error
	// State observes the node: its process or cgroup, not what was last asked of it. The
	// proof says what was seen, e.g. "process 4711 is in state T (stopped)".
	State(ctx context.Context) (s State, proof string, err error)

	Kind() Kind
	// Inside is the host:port by which other nodes know the node. It never changes while
	// the cluster lives, however many nodes die and start again in whatever order.
	Inside() string

	// Block drops every packet that arrives at this node from the node from: one
	// direction of a cut. Unblock undoes exactly that. Both are idempotent, and Close
	// leaves no rule behind. A cut outlives a restart of either node.
	Block(ctx context.Context, from Node) error
	Unblock(ctx context.Context, from Node) error
	// Hears observes whether packets from the node from arrive here: it lets from send one
	// and watches what becomes of it. The proof says what was seen.
	Hears(ctx context.Context, from Node) (heard bool, proof string, err error)

	// SetClock moves the server's clock, and nobody else's, to the true time plus offset
	// now; from there it runs at rate (1: as the true one). It works while the server
	// runs. SetClock(0, 1) sets it right. A restarted node shows the true time.
	SetClock(ctx context.Context, offset time.Duration, rate float64) error
	// Clock observes the server's clock: how far its TIME is ahead of the true time.
	Clock(ctx context.Context) (ahead time.Duration, proof string, err error)

	// LosePower is Kill, and the disk loses what was not synced: each append-only file is
	// cut at the length that the last successful fsync of it vouched for, as observed. The
	// proof says how many bytes were lost of how many. The node is dead afterwards.
	LosePower(ctx context.Context) (proof string, err error)
}

// Runtime starts clusters.
type Runtime interface {
	Name() string
	// Start starts all nodes and returns when all are ready: servers answer, replicas are
	// online, Sentinels see each other and all that they watch. After an error nothing is
	// left running. A server that is not there is ErrServer, cuts that cannot be made are
	// ErrNoCuts.
	Start(ctx context.Context, p Plan) (Cluster, error)
	// Sweep ends what dead runs left behind and says how many things that were. What
	// belongs to a live harness is left alone.
	Sweep(ctx context.Context) (int, error)
}

// ReadyTimeout bounds the wait for a started node.
const ReadyTimeout = 30 * time.Second
