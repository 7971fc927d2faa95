package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/client"
	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/locks/deduct"
)

func TestMain(m *testing.M) {
	topology.RunGuardIfAsked()
	if client.Asked() {
		if err := client.Run(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bench is a started topology with a pool of clients, all ready.
type bench struct {
	t         testing.TB
	pool      *client.Pool
	collector *history.Collector
	path      string
	stock     *redis.Client
}

func start(t testing.TB, change func(*client.Config)) *bench {
	t.Helper()
	ctx := context.Background()
	rt, err := topology.NewProcess()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := fmt.Sprintf("client-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	cluster, err := rt.Start(ctx, topology.Plan{
		Run: run, Nodes: topology.Single("own", topology.PersistNone), Dir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	cfg := client.Config{
		Clients: 2, Workers: 2, Journal: filepath.Join(dir, "journal"), Lock: "uuid-lua", Deduct: "read-write",
		Locks: []string{"lock"}, Stock: "stock", Addrs: map[string]string{},
		TTL: 2 * time.Second, SKUs: 1, Initial: 1_000_000, Depth: 1, Think: 5 * time.Millisecond,
		AcquireTimeout: 10 * time.Second, RedisTimeout: time.Second, Seed: 1,
	}
	for _, n := range cluster.Nodes() {
		cfg.Addrs[n.Name()] = n.Addr()
	}
	if change != nil {
		change(&cfg)
	}
	if err := os.Mkdir(cfg.Journal, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, path: filepath.Join(dir, "history.jsonl")}
	b.stock = redis.NewClient(&redis.Options{Addr: cfg.Addrs["stock"], MaxRetries: -1})
	t.Cleanup(func() { _ = b.stock.Close() })
	skus := make([]string, cfg.SKUs)
	for i := range skus {
		skus[i] = client.SKU(i)
	}
	if err := deduct.Keys("").Prepare(ctx, b.stock, deduct.String, skus, cfg.Initial); err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(b.path)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.pool = client.NewPool(cfg, exe, run, dir)
	b.collector = history.NewCollector(cfg.Journal, w, b.pool.Watch)
	t.Cleanup(b.pool.Close)
	b.collector.Record(history.Event{Time: history.Now(), Type: history.Begin})
	if err := b.pool.Start(ctx, b.collector); err != nil {
		t.Fatal(err)
	}
	if err := b.pool.Go(); err != nil {
		t.Fatal(err)
	}
	return b
}

// sales waits until the ledger has n entries and polls the record meanwhile.
func (b *bench) sales(n int64) {
	b.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if err := b.collector.Poll(); err != nil {
			b.t.Fatal(err)
		}
		got, err := b.stock.LLen(context.Background(), deduct.Keys("").Ledger()).Result()
		if err != nil {
			b.t.Fatal(err)
		}
		if got >= n {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%d sales after 20 s, want %d: the clients do not work", got, n)
		}
		<-time.After(time.Millisecond)
	}
}

func (b *bench) finish() *history.History {
	b.t.Helper()
	killed, err := b.pool.Stop(context.Background(), 10*time.Second)
	if err != nil || killed != 0 {
		b.t.Fatalf("stop: %d clients had to be killed, error %v", killed, err)
	}
	if err := b.collector.Finish(history.Event{Time: history.Now(), Type: history.End}); err != nil {
		b.t.Fatal(err)
	}
	h, err := history.Load(b.path, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func (b *bench) holder() client.Holding {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		all, err := b.pool.Holders()
		if err != nil {
			b.t.Fatal(err)
		}
		if len(all) > 0 {
			return all[0]
		}
	}
	b.t.Fatal("nobody held the lock for 10 s")
	return client.Holding{}
}

func TestPoolSells(t *testing.T) {
	b := start(t, nil)
	b.sales(50)
	h := b.finish()
	if !h.Complete {
		t.Fatalf("the history is not whole: %s", h.Broken)
	}
	counts := map[history.Op]int{}
	byProcess := map[int64]int64{}
	for _, o := range h.Operations {
		if o.Outcome == history.OutcomeOK {
			counts[o.Op]++
		}
		if o.Return == history.Never {
			t.Errorf("operation %d (%s) has no completion although nobody was disturbed", o.ID, o.Op)
		}
		if o.Op == history.Acquire && o.Outcome == history.OutcomeOK && (o.From < o.Invoke || o.From > o.Return) {
			t.Errorf("acquire %d: its last attempt began at %d, outside [%d, %d]", o.ID, o.From, o.Invoke, o.Return)
		}
		if last := byProcess[o.Process]; o.Invoke < last {
			t.Errorf("process %d invokes operation %d before it completed the one before", o.Process, o.ID)
		}
		byProcess[o.Process] = o.Return
	}
	if counts[history.Acquire] < 50 || counts[history.Acquire] != counts[history.Release] || counts[history.Acquire] != counts[history.Deduct] {
		t.Errorf("got %v; want as many acquires as deductions and releases, at least 50", counts)
	}
	if len(byProcess) != 4 {
		t.Errorf("%d processes in the history, want one for each of the 4 workers", len(byProcess))
	}
}

func TestPauseIsProven(t *testing.T) {
	b := start(t, nil)
	b.sales(5)
	ctx := context.Background()
	proof, err := b.pool.Pause(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(proof, "client 0") || !strings.Contains(proof, "state T") {
		t.Errorf("the proof %q does not name the client and its state", proof)
	}
	if _, err := b.pool.Resume(ctx, 0); err != nil {
		t.Fatal(err)
	}
	b.finish()
}

func TestKillWhileHolding(t *testing.T) {
	b := start(t, func(c *client.Config) { c.TTL = 300 * time.Millisecond; c.Think = 20 * time.Millisecond })
	ctx := context.Background()
	var victim client.Holding
	for victim.Grant == 0 { // as the nemesis does: stop, and look whether it still holds
		h := b.holder()
		if _, err := b.pool.Pause(ctx, h.Client); err != nil {
			t.Fatal(err)
		}
		still, err := b.pool.Holders()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range still {
			if s.Client == h.Client {
				victim = s
			}
		}
		if victim.Grant == 0 {
			if _, err := b.pool.Resume(ctx, h.Client); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := history.Now()
	if _, err := b.pool.Kill(ctx, victim.Client, at, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pool.Restart(ctx, victim.Client); err != nil {
		t.Fatal(err)
	}
	before, err := b.stock.LLen(ctx, deduct.Keys("").Ledger()).Result()
	if err != nil {
		t.Fatal(err)
	}
	b.sales(before + 20)
	h := b.finish()
	if len(h.Deaths) != 1 || h.Deaths[0].Client != victim.Client || h.Deaths[0].Time != at {
		t.Fatalf("deaths %+v, want one of client %d at %d", h.Deaths, victim.Client, at)
	}
	old, young := map[int64]bool{}, map[int64]bool{}
	for _, o := range h.Operations {
		if o.Client != victim.Client {
			continue
		}
		if o.Invoke < at {
			old[o.Process] = true
		} else {
			young[o.Process] = true
		}
		if o.ID == victim.Grant && (o.Outcome != history.OutcomeOK || o.Return >= at) {
			t.Errorf("the grant that the victim died with reads %+v", o)
		}
		if o.Op == history.Release && o.Grant == victim.Grant {
			t.Errorf("the victim released the lock that it died with")
		}
	}
	if len(young) == 0 {
		t.Error("the restarted client did nothing")
	}
	for p := range young {
		if old[p] {
			t.Errorf("process %d goes on after its death", p)
		}
	}
}

// TestClientsEndWithTheHarness: the end of the pipe is the end of the client, also in
// the middle of a sale and while it waits for the lock.
func TestClientsEndWithTheHarness(t *testing.T) {
	b := start(t, func(c *client.Config) { c.Think = time.Hour; c.TTL = 5 * time.Second })
	b.holder()
	b.pool.Abandon()
	deadline := time.Now().Add(10 * time.Second)
	for b.pool.Alive(0) || b.pool.Alive(1) {
		if time.Now().After(deadline) {
			t.Fatal("clients live on 10 s after their pipe ended")
		}
		<-time.After(time.Millisecond)
	}
}

// BenchmarkRecording runs the same loop recorded and unrecorded, in turn, and reports
// their throughputs and the ratio. Neither thinks, so that nothing but the work counts.
func BenchmarkRecording(b *testing.B) {
	for b.Loop() {
		var rate [2][]float64
		for range 10 {
			for i, unrecorded := range []bool{false, true} {
				rate[i] = append(rate[i], throughput(b, unrecorded))
			}
		}
		b.ReportMetric(median(rate[0]), "recorded-sales/s")
		b.ReportMetric(median(rate[1]), "unrecorded-sales/s")
		var ratios []float64
		for i := range rate[0] {
			ratios = append(ratios, rate[0][i]/rate[1][i])
		}
		b.ReportMetric(median(ratios), "ratio")
	}
}

func throughput(b *testing.B, unrecorded bool) float64 {
	x := start(b, func(c *client.Config) {
		c.Clients, c.Workers, c.SKUs, c.Think, c.Unrecorded = 2, 1, 64, 0, unrecorded
		c.Lock, c.Deduct = "uuid-lua", "read-write"
	})
	defer x.pool.Close()
	x.sales(200)
	before, err := x.stock.LLen(b.Context(), deduct.Keys("").Ledger()).Result()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	for time.Since(began) < 2*time.Second {
		if err := x.collector.Poll(); err != nil {
			b.Fatal(err)
		}
		<-time.After(20 * time.Millisecond) // as the harness does
	}
	took := time.Since(began)
	after, err := x.stock.LLen(b.Context(), deduct.Keys("").Ledger()).Result()
	if err != nil {
		b.Fatal(err)
	}
	return float64(after-before) / took.Seconds()
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}
