package topology_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// poolBench is a pool in a test, over one kind of runtime, with the tests that borrow of it.
type poolBench struct {
	*topology.Pool
	t    testing.TB
	tmp  string
	why  *strings.Builder // why clusters were not used again
	loan int
}

func newPool(t testing.TB, r topology.Runtime, idle int) *poolBench {
	t.Helper()
	b := &poolBench{t: t, tmp: t.TempDir(), why: &strings.Builder{}}
	t.Setenv("TMPDIR", b.tmp)
	var err error
	b.Pool, err = topology.NewPool(r, topology.PoolOptions{Idle: idle, Log: slog.New(slog.NewTextHandler(b.why, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close the pool: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(b.tmp, "*")); len(left) > 0 {
			t.Errorf("the closed pool left %v", left)
		}
	})
	return b
}

// borrow starts a test's servers; its logs are in the folder.
func (b *poolBench) borrow(p topology.Plan) (c topology.Cluster, logs string) {
	b.t.Helper()
	b.loan++
	p.Run, p.Dir = fmt.Sprintf("test-%d", b.loan), b.t.TempDir()
	c, err := b.Start(b.t.Context(), p)
	if err != nil {
		b.t.Fatalf("borrow: %v", err)
	}
	return c, p.Dir
}

func (b *poolBench) giveBack(c topology.Cluster) {
	b.t.Helper()
	if err := c.Close(b.t.Context()); err != nil {
		b.t.Fatalf("give back: %v", err)
	}
}

func on(n topology.Node) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: n.Addr(), MaxRetries: -1, DisableIdentity: true})
}

// ask runs commands on a node, each a line of words, and gives the last answer.
func ask(t testing.TB, n topology.Node, lines ...string) string {
	t.Helper()
	c := on(n)
	defer c.Close()
	said := ""
	for _, l := range lines {
		words := []any{}
		for _, w := range strings.Fields(l) {
			words = append(words, w)
		}
		v, err := c.Do(t.Context(), words...).Result()
		if err != nil {
			t.Fatalf("%s: %s: %v", n.Name(), l, err)
		}
		said = fmt.Sprint(v)
	}
	return said
}

// pidOf is the node's process, as it says itself.
func pidOf(t testing.TB, n topology.Node) int {
	t.Helper()
	_, rest, _ := strings.Cut(ask(t, n, "INFO server"), "process_id:")
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func pids(t testing.TB, c topology.Cluster) (all []int) {
	for _, n := range c.Nodes() {
		all = append(all, pidOf(t, n))
	}
	return all
}

func shapes() map[string][]topology.NodeSpec {
	return map[string][]topology.NodeSpec{
		"single":   topology.Single("own", topology.PersistEverysec),
		"redlock":  topology.Redlock(3, "own", topology.PersistNone),
		"failover": topology.Failover(2, "own", topology.PersistEverysec),
	}
}

// runIDs tell one life of a server from any other.
func runIDs(t testing.TB, c topology.Cluster) (all []string) {
	for _, n := range c.Nodes() {
		_, rest, _ := strings.Cut(ask(t, n, "INFO server"), "run_id:")
		all = append(all, strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	}
	return all
}

func TestPoolLendsServersAgain(t *testing.T) {
	for _, k := range kinds(t) {
		for name, nodes := range shapes() {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				b := newPool(t, k.make(t), 0)
				c, logs := b.borrow(topology.Plan{Nodes: nodes})
				first := runIDs(t, c)
				if got := c.About()["servers"]; got != "new" {
					t.Errorf("the first servers are %q, want new", got)
				}
				lock := c.Nodes()[0]
				ask(t, lock, "SET lock:a 1", "EVAL return(1) 0", "SELECT 3", "HSET other f v")
				b.giveBack(c)
				whole := len(readFile(t, filepath.Join(logs, lock.Name()+".log")))
				if whole == 0 {
					t.Error("the first test has no log of its node")
				}

				c, logs = b.borrow(topology.Plan{Nodes: nodes})
				if got := runIDs(t, c); fmt.Sprint(got) != fmt.Sprint(first) || c.About()["servers"] != "reused" {
					t.Fatalf("got servers %v (%s), want those of before, %v: %s", got, c.About()["servers"], first, b.why)
				}
				for _, n := range c.Nodes() {
					if n.Kind() == topology.SentinelNode {
						continue
					}
					if got := ask(t, n, "INFO keyspace"); strings.Contains(got, "keys=") {
						t.Errorf("%s has keys of the test before: %s", n.Name(), got)
					}
				}
				if got := ask(t, lock, "SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db"); got != "[0]" {
					t.Errorf("a script of the test before is there: %s", got)
				}
				b.giveBack(c)
				if log := readFile(t, filepath.Join(logs, lock.Name()+".log")); strings.Contains(log, "Ready to accept") || len(log) >= whole {
					t.Errorf("the second test's log of %d bytes has the start of the servers, which was before it", len(log))
				}
			})
		}
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// TestPoolReplaces: servers that are not as new are closed, and the next test gets others.
func TestPoolReplaces(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []topology.NodeSpec
		plan  topology.Plan
		spoil func(t *testing.T, c topology.Cluster)
		why   string
	}{
		"a hand on a node": {
			spoil: func(t *testing.T, c topology.Cluster) {
				must(t, c.Nodes()[0].Pause(t.Context()))
				must(t, c.Nodes()[0].Resume(t.Context()))
			},
			why: "hand",
		},
		"a test that says so": {plan: topology.Plan{Hands: true}, spoil: func(*testing.T, topology.Cluster) {}},
		"a setting":           {spoil: func(t *testing.T, c topology.Cluster) { ask(t, c.Nodes()[0], "CONFIG SET maxmemory 64mb") }, why: "maxmemory"},
		"a user": {
			spoil: func(t *testing.T, c topology.Cluster) { ask(t, c.Nodes()[0], "ACL SETUSER stranger on nopass +@all") },
			why:   "users",
		},
		"a connection": {
			spoil: func(t *testing.T, c topology.Cluster) {
				r := on(c.Nodes()[0])
				must(t, r.Ping(t.Context()).Err())
				t.Cleanup(func() { _ = r.Close() })
			},
			why: "connected",
		},
		"a restart": {
			spoil: func(t *testing.T, c topology.Cluster) { must(t, syscall.Kill(pidOf(t, c.Nodes()[0]), syscall.SIGKILL)) },
			why:   "lock",
		},
		"another role": {
			nodes: topology.Failover(1, "own", topology.PersistNone),
			spoil: func(t *testing.T, c topology.Cluster) { ask(t, c.Nodes()[1], "REPLICAOF NO ONE") },
			why:   "node lock-",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := topology.NewProcess()
			must(t, err)
			b := newPool(t, r, 0)
			if c.plan.Nodes = c.nodes; c.nodes == nil {
				c.plan.Nodes = topology.Single("own", topology.PersistNone)
			}
			cluster, _ := b.borrow(c.plan)
			first := pids(t, cluster)
			c.spoil(t, cluster)
			b.giveBack(cluster)
			for _, pid := range first {
				if err := syscall.Kill(pid, 0); err == nil {
					t.Errorf("the spoilt server %d still runs", pid)
				}
			}
			if !strings.Contains(b.why.String(), c.why) {
				t.Errorf("the pool says %q, want a word of %q", b.why, c.why)
			}
			cluster, _ = b.borrow(c.plan)
			if got := cluster.About()["servers"]; got == "reused" {
				t.Error("the next test was given servers that were used")
			}
			b.giveBack(cluster)
		})
	}
}

// TestPoolIdle: servers that died, or were changed, while nobody used them are not lent.
func TestPoolIdle(t *testing.T) {
	r, err := topology.NewProcess()
	must(t, err)
	b := newPool(t, r, 0)
	plan := topology.Plan{Nodes: topology.Single("own", topology.PersistNone)}
	for name, spoil := range map[string]func(n topology.Node, pid int){
		"died":    func(_ topology.Node, pid int) { must(t, syscall.Kill(pid, syscall.SIGKILL)) },
		"written": func(n topology.Node, _ int) { ask(t, n, "SET a 1") },
	} {
		c, _ := b.borrow(plan)
		pid := pidOf(t, c.Nodes()[0])
		b.giveBack(c)
		spoil(c.Nodes()[0], pid)
		c, _ = b.borrow(plan)
		if got := pidOf(t, c.Nodes()[0]); got == pid || c.About()["servers"] != "new" {
			t.Errorf("%s: got the server %d (%s) again", name, got, c.About()["servers"])
		}
		b.giveBack(c)
	}
}

// TestPoolIsExclusive: two tests at once never have the same servers, another shape is not
// lent, and no more are kept than was said.
func TestPoolIsExclusive(t *testing.T) {
	r, err := topology.NewProcess()
	must(t, err)
	b := newPool(t, r, 1)
	plan := topology.Plan{Nodes: topology.Single("own", topology.PersistNone)}
	one, _ := b.borrow(plan)
	two, _ := b.borrow(plan)
	first, second := pids(t, one), pids(t, two)
	if first[0] == second[0] {
		t.Fatal("two tests have the same servers")
	}
	b.giveBack(one)
	b.giveBack(one) // as often as one likes: it is given back once
	b.giveBack(two)
	if err := syscall.Kill(first[0], 0); err == nil {
		t.Error("two clusters are idle, want one: the older was to be closed")
	}
	other := plan
	other.Nodes = topology.Single("own", topology.PersistAlways)
	three, _ := b.borrow(other)
	if got := three.About()["servers"]; got != "new" {
		t.Errorf("another shape was given %s servers", got)
	}
	four, _ := b.borrow(plan)
	if got := pids(t, four); got[0] != second[0] {
		t.Errorf("got %v, want the idle %v", got, second)
	}
	must(t, b.Close(t.Context()))
	for _, pid := range append(pidsKnown(three, t), second...) {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("server %d runs after the pool was closed", pid)
		}
	}
	b.giveBack(four)
	if _, err := b.Start(t.Context(), topology.Plan{Run: "late", Dir: t.TempDir(), Nodes: plan.Nodes}); err == nil {
		t.Error("a closed pool lends")
	}
}

// helpWithPool is a harness with a pool of two clusters, one idle and one in use.
func helpWithPool(ctx context.Context) (addrs []string, err error) {
	r, err := topology.NewProcess()
	if err != nil {
		return nil, err
	}
	p, err := topology.NewPool(r, topology.PoolOptions{})
	if err != nil {
		return nil, err
	}
	var all []topology.Cluster
	for range 2 {
		c, err := p.Start(ctx, topology.Plan{Run: "dead", Dir: os.Getenv("HELPER_DIR"), Nodes: topology.Single("own", topology.PersistNone)})
		if err != nil {
			return nil, err
		}
		for _, n := range c.Nodes() {
			addrs = append(addrs, n.Addr())
		}
		all = append(all, c)
	}
	return addrs, all[0].Close(ctx)
}

// TestPoolEndsWithItsHarness: when the harness is killed, its idle servers end as those do
// that a test uses, and a sweep removes the rest.
func TestPoolEndsWithItsHarness(t *testing.T) {
	_, tmp, logs := place(t)
	t.Setenv("TMPDIR", tmp) // for the helper and the sweep
	got, kill := startHelper(t, "pool", "HELPER_DIR="+logs)
	if got.Err != "" || len(got.Addrs) != 4 {
		t.Fatalf("the helper has servers at %q: %s", got.Addrs, got.Err)
	}
	for _, addr := range got.Addrs {
		wantNoErr(t, "PING", dial(t, addr).Ping(t.Context()).Err())
	}
	kill()
	eventually(t, "no server of the pool answers", func() bool {
		return !slices.ContainsFunc(got.Addrs, func(addr string) bool {
			c, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
	})
	r, err := topology.NewProcess()
	must(t, err)
	swept, err := r.Sweep(t.Context())
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); err != nil || swept < 5 || len(left) > 0 {
		t.Errorf("the sweep took %d things (%v) and left %q, want the folders of four nodes and of the logs gone", swept, err, left)
	}
}

// pidsKnown are the pids that State tells, of nodes that may be dead.
func pidsKnown(c topology.Cluster, t *testing.T) (all []int) {
	t.Helper()
	for _, n := range c.Nodes() {
		var pid int
		if _, proof, err := n.State(t.Context()); err != nil {
			t.Fatal(err)
		} else if _, err := fmt.Sscanf(proof, "process %d", &pid); err != nil {
			t.Fatalf("%s: %v", proof, err)
		}
		all = append(all, pid)
	}
	return all
}

// BenchmarkPool is what a test waits for its servers, to be given them and to give them
// back: new ones, and ones that are used again.
//
//	go test ./harness/topology -run '^$' -bench Pool -benchtime 5x
func BenchmarkPool(b *testing.B) {
	runtimes := map[string]func() (topology.Runtime, error){
		"process": func() (topology.Runtime, error) { return topology.NewProcess() },
		"docker":  func() (topology.Runtime, error) { return topology.NewDocker(topology.DockerOptions{}) },
	}
	for name, make := range runtimes {
		for shape, nodes := range shapes() {
			for _, hands := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/%s/reused=%t", name, shape, !hands), func(b *testing.B) {
					if only := os.Getenv("PICKLOCK_BENCH_RUNTIME"); only != "" && only != name || only == "" && name != "process" {
						b.Skip("PICKLOCK_BENCH_RUNTIME says which runtime is measured: process or docker")
					}
					r, err := make()
					if err != nil {
						b.Fatal(err)
					}
					p := newPool(b, r, 0)
					plan := topology.Plan{Nodes: nodes, Hands: hands}
					c, _ := p.borrow(plan)
					p.giveBack(c)
					var given, back time.Duration
					for b.Loop() {
						began := time.Now()
						c, _ := p.borrow(plan)
						given += time.Since(began)
						if !hands && c.About()["servers"] != "reused" {
							b.Fatalf("the servers are not used again: %s", p.why)
						}
						began = time.Now()
						p.giveBack(c)
						back += time.Since(began)
					}
					b.ReportMetric(float64(given.Milliseconds())/float64(b.N), "ms-to-get")
					b.ReportMetric(float64(back.Milliseconds())/float64(b.N), "ms-to-return")
				})
			}
		}
	}
}
