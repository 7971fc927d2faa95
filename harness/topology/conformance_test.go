package topology_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// kind is one way to start nodes that the conformance suite runs over.
type kind struct {
	name   string
	engine *client.Client // nil: the process runtime
	make   func(t *testing.T) topology.Runtime
}

func kinds(t *testing.T) []kind {
	engine := dockerEngine(t)
	inDocker := func(reach topology.Reach) func(*testing.T) topology.Runtime {
		return func(t *testing.T) topology.Runtime {
			r, err := topology.NewDocker(topology.DockerOptions{Reach: reach})
			must(t, err)
			return r
		}
	}
	return []kind{
		{"process", nil, func(t *testing.T) topology.Runtime {
			r, err := topology.NewProcess()
			must(t, err)
			return r
		}},
		{"docker-container", engine, inDocker(topology.ReachContainer)},
		{"docker-published", engine, inDocker(topology.ReachPublished)},
	}
}

// bench is a cluster in a test.
type bench struct {
	topology.Cluster
	kind
	run, tmp, logs string
}

// place gives a test a run and folders of its own: tmp is for Plan.Data, so that leftovers
// can be seen.
func place(t *testing.T) (run, tmp, logs string) {
	t.Helper()
	tmp, logs = t.TempDir(), t.TempDir()
	return "test-" + uuid.NewString(), tmp, logs
}

func start(t *testing.T, k kind, nodes ...topology.NodeSpec) *bench {
	t.Helper()
	return startPlan(t, k, topology.Plan{Nodes: nodes})
}

// startPlan starts a plan, in a run and a place of its own.
func startPlan(t *testing.T, k kind, p topology.Plan) *bench {
	t.Helper()
	b := &bench{kind: k}
	b.run, b.tmp, b.logs = place(t)
	p.Run, p.Dir, p.Data, p.Report = b.run, b.logs, b.tmp, func(s string) { t.Log(s) }
	c, err := k.make(t).Start(t.Context(), p)
	wantNoErr(t, "start", err)
	b.Cluster = c
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func (b *bench) node(t *testing.T, name string) topology.Node {
	t.Helper()
	for _, n := range b.Nodes() {
		if n.Name() == name {
			return n
		}
	}
	t.Fatalf("the cluster has no node %q", name)
	return nil
}

// dial is a client without retries and with little patience.
func dial(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: 500 * time.Millisecond, ReadTimeout: 300 * time.Millisecond, WriteTimeout: 300 * time.Millisecond,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantState(t *testing.T, n topology.Node, want topology.State, proof string) {
	t.Helper()
	got, seen, err := n.State(t.Context())
	if err != nil || got != want || !strings.Contains(seen, proof) {
		t.Errorf("state of %s: got %q (%s), error %v; want %q with a proof that says %q: a fault counts only when its effect was seen",
			n.Name(), got, seen, err, want, proof)
	}
}

func TestNodesAnswerAtTheirAddresses(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, topology.Single("own", topology.PersistEverysec)...)
			seen := map[string]bool{}
			for _, n := range b.Nodes() {
				wantState(t, n, topology.Running, "")
				c := dial(t, n.Addr())
				wantNoErr(t, "SET on "+n.Name(), c.Set(t.Context(), "who", n.Name(), 0).Err())
				if seen[n.Addr()] {
					t.Errorf("two nodes have the address %s", n.Addr())
				}
				seen[n.Addr()] = true
			}
			for _, n := range b.Nodes() {
				if got := dial(t, n.Addr()).Get(t.Context(), "who").Val(); got != n.Name() {
					t.Errorf("node %s holds %q, want its own name: the nodes are one server", n.Name(), got)
				}
				log, err := os.ReadFile(filepath.Join(b.logs, n.Name()+".log"))
				if err != nil || !strings.Contains(string(log), "Ready to accept connections") {
					t.Errorf("log of %s: got %.200q, error %v; want the server's own words", n.Name(), log, err)
				}
			}
			about := b.About()
			if !strings.HasPrefix(about["redis"], "7.") || about["runtime"] != strings.Split(k.name, "-")[0] {
				t.Errorf("about: got %v, want the runtime and the version of Redis: a report must say what ran", about)
			}
		})
	}
}

func TestKilledNodeKeepsWhatItsPersistencePromises(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k,
				topology.NodeSpec{Name: "none", Persistence: topology.PersistNone},
				topology.NodeSpec{Name: "everysec", Persistence: topology.PersistEverysec},
				topology.NodeSpec{Name: "always", Persistence: topology.PersistAlways, Args: []string{"--maxmemory", "64mb"}},
			)
			for _, n := range b.Nodes() {
				wantNoErr(t, "SET", dial(t, n.Addr()).Set(t.Context(), "key", "value", 0).Err())
				if n.Name() == "everysec" {
					// While a sync is under way Redis may hold back its writes, up to two
					// seconds, although it has answered: those a SIGKILL does lose.
					eventually(t, "the write leaves the server", func() bool {
						info := dial(t, n.Addr()).Info(t.Context(), "persistence").Val()
						return strings.Contains(info, "aof_buffer_length:0\r")
					})
				}
				wantNoErr(t, "kill", n.Kill(t.Context()))
				wantState(t, n, topology.Dead, "")
				if conn, err := net.DialTimeout("tcp", n.Addr(), 300*time.Millisecond); err == nil {
					_ = conn.Close()
					t.Errorf("%s takes connections after Kill", n.Name())
				}
				wantNoErr(t, "kill again", n.Kill(t.Context()))
				if err := n.Pause(t.Context()); !errors.Is(err, topology.ErrDead) {
					t.Errorf("pause of a dead node: got %v, want ErrDead", err)
				}
				wantNoErr(t, "start", n.Start(t.Context()))
				if err := n.Start(t.Context()); !errors.Is(err, topology.ErrAlive) {
					t.Errorf("start of a running node: got %v, want ErrAlive", err)
				}
				want := map[string]string{"none": "", "everysec": "value", "always": "value"}[n.Name()]
				c := dial(t, n.Addr())
				if got := c.Get(t.Context(), "key").Val(); got != want {
					t.Errorf("persistence %s after SIGKILL and start: got %q, want %q", n.Name(), got, want)
				}
				policy := c.ConfigGet(t.Context(), "appendfsync").Val()["appendfsync"]
				if n.Name() != "none" && policy != n.Name() {
					t.Errorf("appendfsync: got %q, want %q", policy, n.Name())
				}
				eventually(t, "both lives of "+n.Name()+" in its log, each once", func() bool {
					log, err := os.ReadFile(filepath.Join(b.logs, n.Name()+".log"))
					return err == nil && strings.Count(string(log), "Ready to accept connections") == 2
				})
			}
			if got := dial(t, b.node(t, "always").Addr()).ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "67108864" {
				t.Errorf("maxmemory: got %s, want 67108864: a node's own options must reach its server", got)
			}
		})
	}
}

func TestPausedNodeIsSilentUntilResumed(t *testing.T) {
	proofs := map[string]string{"process": "state T", "docker-container": "is paused", "docker-published": "is paused"}
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, topology.Single("own", topology.PersistNone)...)
			lock, stock := b.node(t, "lock"), b.node(t, "stock")
			c := dial(t, lock.Addr())
			wantNoErr(t, "SET", c.Set(t.Context(), "key", "1", 0).Err())
			wantNoErr(t, "pause", lock.Pause(t.Context()))
			wantState(t, lock, topology.Paused, proofs[k.name])
			wantNoErr(t, "pause again", lock.Pause(t.Context()))
			var timeout net.Error
			if err := c.Get(t.Context(), "key").Err(); !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("GET on a paused node: got %v, want a timeout: its sockets stay open", err)
			}
			wantNoErr(t, "PING of the other node", dial(t, stock.Addr()).Ping(t.Context()).Err())
			wantState(t, stock, topology.Running, "")
			wantNoErr(t, "resume", lock.Resume(t.Context()))
			wantState(t, lock, topology.Running, "")
			if got, err := c.Get(t.Context(), "key").Result(); got != "1" {
				t.Errorf("GET after resume: got %q, %v; want 1", got, err)
			}

			wantNoErr(t, "pause before kill", lock.Pause(t.Context()))
			wantNoErr(t, "kill while paused", lock.Kill(t.Context()))
			wantState(t, lock, topology.Dead, "")
			if err := lock.Resume(t.Context()); !errors.Is(err, topology.ErrDead) {
				t.Errorf("resume of a dead node: got %v, want ErrDead", err)
			}
			wantNoErr(t, "start", lock.Start(t.Context()))
			wantNoErr(t, "SET after start", dial(t, lock.Addr()).Set(t.Context(), "key", "2", 0).Err())
		})
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, append(topology.Single("own", topology.PersistEverysec), topology.NodeSpec{Name: "dead", Persistence: topology.PersistNone})...)
			wantNoErr(t, "pause", b.node(t, "lock").Pause(t.Context()))
			wantNoErr(t, "kill", b.node(t, "dead").Kill(t.Context()))
			if len(leftovers(t, b.run, b.tmp, b.engine)) == 0 {
				t.Fatal("nothing was found while the cluster runs: this test could not fail")
			}
			var volumes []string
			if b.engine != nil {
				if volumes = volumesOf(t, b.run, b.engine); len(volumes) != len(b.Nodes()) {
					t.Errorf("volumes: got %q, want one per node: an append-only file must not lie in a layer", volumes)
				}
			}
			// A start is under way when the cluster is closed.
			started := make(chan error, 1)
			go func() { started <- b.node(t, "dead").Start(t.Context()) }()
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			wantNoErr(t, "close with a cancelled context", b.Close(cancelled))
			if err := <-started; err != nil && !errors.Is(err, topology.ErrClosed) {
				t.Errorf("start during close: got %v, want none or ErrClosed", err)
			}
			wantNothingLeft(t, b.run, b.tmp, b.engine)
			for _, v := range volumes {
				if _, err := b.engine.VolumeInspect(t.Context(), v, client.VolumeInspectOptions{}); !errdefs.IsNotFound(err) {
					t.Errorf("volume %s after close: got error %v, want not found", v, err)
				}
			}
			wantNoErr(t, "close again", b.Close(t.Context()))
			if err := b.node(t, "stock").Pause(t.Context()); !errors.Is(err, topology.ErrClosed) {
				t.Errorf("pause after close: got %v, want ErrClosed", err)
			}
		})
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	bad := topology.NodeSpec{Name: "bad", Persistence: topology.PersistNone, Args: []string{"--no-such-option", "1"}}
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			run, tmp, logs := place(t)
			plan := topology.Plan{Run: run, Dir: logs, Data: tmp, Nodes: append(topology.Single("own", topology.PersistNone), bad)}
			c, err := k.make(t).Start(t.Context(), plan)
			if err == nil {
				_ = c.Close(t.Context())
				t.Fatal("a server with a wrong option started")
			}
			for _, want := range []string{"node bad", "no-such-option"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error: got %q, want it to say %q: the reason must not be lost", err, want)
				}
			}
			wantNothingLeft(t, run, tmp, k.engine)

			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			plan.Nodes = plan.Nodes[:2]
			if c, err := k.make(t).Start(cancelled, plan); !errors.Is(err, context.Canceled) {
				t.Errorf("start with a cancelled context: got %v, %v; want context.Canceled", c, err)
			}
			wantNothingLeft(t, run, tmp, k.engine)
		})
	}
}
