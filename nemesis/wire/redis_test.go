package wire_test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/nemesis/wire"
	"picklock/nemesis/wire/record"
)

// limit bounds every wait in these tests. It is never reached on a sound run.
const limit = 20 * time.Second

// startRedis starts a redis-server that keeps nothing on disk, and returns its address
// when it works. It ends with the test.
func startRedis(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	addr := l.Addr().String()
	_ = l.Close() // the server takes the port next
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", tb.TempDir())
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()         // killed: an error by definition
	})
	eventually(tb, "the new redis-server listens", func() bool {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			_ = nc.Close() // it was a question only
		}
		return err == nil
	})
	c := client(tb, addr)
	eventually(tb, "a SET on the new redis-server works", func() bool {
		return c.Set(tb.Context(), "ready", 1, 0).Err() == nil && c.Del(tb.Context(), "ready").Err() == nil
	})
	_ = c.Close() // it has served; nothing is lost with it
	return addr
}

// client makes a client without hidden retries.
func client(tb testing.TB, addr string, options ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	o := &redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, DisableIdentity: true,
		DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit,
	}
	for _, set := range options {
		set(o)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return c
}

func resp2(o *redis.Options) { o.Protocol = 2 }

// newProxy makes a proxy that is closed with the test.
func newProxy(tb testing.TB) *wire.Proxy {
	tb.Helper()
	p := wire.New(nil)
	w, err := record.Create(filepath.Join(tb.TempDir(), "wire.jsonl"), record.Options{Now: history.Now})
	if err != nil {
		tb.Fatal(err)
	}
	p.Record(w)
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Errorf("close the proxy: %v", err)
		}
		if err := w.Close(); err != nil {
			tb.Errorf("close the record: %v", err)
		}
	})
	return p
}

// listen opens the way of a client to a node.
func listen(tb testing.TB, p *wire.Proxy, number int, node, upstream string) string {
	tb.Helper()
	addr, err := p.Listen(number, node, func() string { return upstream })
	if err != nil {
		tb.Fatalf("Listen: %v", err)
	}
	return addr
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			tb.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// always is a rule's Do that gives one verdict.
func always(v wire.Verdict) func(context.Context, wire.Frame) wire.Verdict {
	return func(context.Context, wire.Frame) wire.Verdict { return v }
}
