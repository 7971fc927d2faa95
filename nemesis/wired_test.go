package nemesis_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/nemesis"
	"picklock/nemesis/wire"
)

// redisServer starts a redis-server of the test's own and tells its address.
func redisServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer c.Close()
	waitFor(t, "redis-server to answer", func() bool { return c.Ping(t.Context()).Err() == nil })
	return addr
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// wiredWorld is the fake world with a real server behind a real proxy, for both its nodes.
type wiredWorld struct {
	nemesis.World
	clients *fakeClients
	direct  *redis.Client // past the proxy
	ways    []map[string]string
}

// steps are those of the locks that these tests play.
func steps(step string) []wire.Command {
	return map[string][]wire.Command{
		"acquire": {{Name: "SETNX"}}, "compare": {{Name: "GET"}}, "release": {{Name: "DEL"}},
		"stock-read": {{Name: "HGET"}}, "stock-write": {{Name: "HSET"}},
	}[step]
}

func newWiredWorld(t *testing.T) *wiredWorld {
	t.Helper()
	w, clients, node := fakeWorld(t)
	addr := redisServer(t)
	node.addr = addr
	w.Wire, w.Steps = wire.New(slog.New(slog.DiscardHandler)), steps
	t.Cleanup(func() {
		if err := w.Wire.Close(); err != nil {
			t.Error(err)
		}
	})
	out := &wiredWorld{World: w, clients: clients, direct: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})}
	t.Cleanup(func() { _ = out.direct.Close() })
	for i := range clients.Count() {
		ways := map[string]string{}
		for _, name := range []string{"lock", "stock"} {
			way, err := w.Wire.Listen(i, name, func() string { return addr })
			if err != nil {
				t.Fatal(err)
			}
			ways[name] = way
		}
		out.ways = append(out.ways, ways)
	}
	return out
}

// connect connects a client to a node through the proxy. It waits for a reply for as long
// as its context says.
func (w *wiredWorld) connect(t *testing.T, client int, node string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: w.ways[client][node], PoolSize: 1, MaxRetries: -1, Protocol: 2, DisableIdentity: true,
		ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// unleash starts a run of one fault and returns when its trigger is armed, with what waits
// for the end of the run.
func (w *wiredWorld) unleash(t *testing.T, p nemesis.Planned) (rec *record, end func()) {
	t.Helper()
	r, rec := runner(w.World, p)
	armed := make(logged, 1)
	r.Log = slog.New(slog.NewTextHandler(armed, nil))
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(20*time.Second)); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(done.Wait)
	select {
	case <-armed:
	case <-time.After(20 * time.Second):
		t.Fatal("the trigger was not armed")
	}
	return rec, done.Wait
}

// logged hears when a trigger is armed.
type logged chan struct{}

func (l logged) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("trigger armed")) {
		l <- struct{}{}
	}
	return len(line), nil
}

// traffic lets every client play a lock and a sale, again and again, until the test ends.
func (w *wiredWorld) traffic(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); all.Wait() })
	for i := range w.clients.Count() {
		lock, stock := w.connect(t, i, "lock"), w.connect(t, i, "stock")
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				once, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				key := fmt.Sprintf("lock:%d:%d", i, n)
				// Faults make some of these fail: that is what they are for.
				_ = lock.Do(once, "setnx", key, 1).Err()
				_ = stock.HGet(once, "stock", "a").Err()
				_ = stock.HSet(once, "stock", "a", n).Err()
				_ = lock.Get(once, key).Err()
				_ = lock.Del(once, key).Err()
				cancel()
				time.Sleep(time.Millisecond)
			}
		})
	}
}
