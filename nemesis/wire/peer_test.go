package wire_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// dial opens a plain connection that ends with the test.
func dial(tb testing.TB, addr string) *net.TCPConn {
	tb.Helper()
	nc, err := net.DialTimeout("tcp", addr, limit)
	if err != nil {
		tb.Fatalf("dial: %v", err)
	}
	tb.Cleanup(func() { _ = nc.Close() }) // the test may have closed it
	if err := nc.SetDeadline(time.Now().Add(limit)); err != nil {
		tb.Fatal(err)
	}
	return nc.(*net.TCPConn)
}

func write(tb testing.TB, nc net.Conn, s string) {
	tb.Helper()
	if _, err := io.WriteString(nc, s); err != nil {
		tb.Fatalf("write %.80q: %v", s, err)
	}
}

// expect reads exactly these bytes.
func expect(tb testing.TB, nc net.Conn, want string) {
	tb.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(nc, got); err != nil || string(got) != want {
		tb.Fatalf("read %.200q, %v; want %.200q", got[:n], err, want)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// connections counts the server's clients.
func connections(tb testing.TB, c *redis.Client) int {
	tb.Helper()
	list, err := c.ClientList(tb.Context()).Result()
	if err != nil {
		tb.Fatalf("CLIENT LIST: %v", err)
	}
	return strings.Count(list, "id=")
}
