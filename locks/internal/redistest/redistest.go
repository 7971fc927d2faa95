// Package redistest gives tests the two servers that they need: a real redis-server of
// their own, and a fake one that answers, holds back or hangs up as the test says. Both
// listen on loopback addresses and end with the test.
package redistest

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a real redis-server that keeps nothing on disk.
type Server struct {
	Addr string
	tb   testing.TB
	cmd  *exec.Cmd
}

// startTimeout bounds the wait for a server to answer.
const startTimeout = 20 * time.Second

// Start starts a server and returns when a SET works. It is killed when tb ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	addr := freeAddr(tb)
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", host, "--port", port,
		"--save", "", "--appendonly", "no", "--dir", tb.TempDir())
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	s := &Server{Addr: addr, tb: tb, cmd: cmd}
	tb.Cleanup(s.Kill)
	c := s.Client(func(o *redis.Options) { o.DialerRetries = 1 })
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	Eventually(tb, startTimeout, "a SET on the new redis-server works", func() bool {
		return c.Set(ctx, "redistest:ready", 1, 0).Err() == nil && c.Del(ctx, "redistest:ready").Err() == nil
	})
	return s
}

// Kill ends the server. It may be called more than once.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended already
	_ = s.cmd.Wait()         // killed: an error by definition
	s.cmd = nil
}

// Client makes a client for the server, closed when the test ends.
func (s *Server) Client(options ...func(*redis.Options)) *redis.Client {
	return Client(s.tb, s.Addr, options...)
}

// Client makes a client without hidden retries, closed when tb ends.
func Client(tb testing.TB, addr string, options ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, DisableIdentity: true,
		DialTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
	}
	for _, set := range options {
		set(o)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return c
}

// Eventually waits until ok, and fails the test when that takes longer than the limit.
func Eventually(tb testing.TB, limit time.Duration, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
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

// freeAddr finds a free port on an address of its own within the loopback network, where
// nothing else is likely to take it before the server does.
func freeAddr(tb testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0."+strconv.Itoa(100+time.Now().Nanosecond()/1000%100)+":0")
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().String()
}

// DeadAddr is an address at which nobody listens.
func DeadAddr(tb testing.TB) string { return freeAddr(tb) }
