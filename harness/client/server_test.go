package client

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
)

// on is a connection as go-redis tells of it.
type on struct{ net.Addr }

func (c on) RemoteAddr() net.Addr { return c.Addr }
func (on) PoolName() string       { return "" }

// node is a connection to the lock node with a number.
func node(n uint8) redis.ConnInfo { return on{numberedAddr{&net.TCPAddr{}, n}} }

// failed is an answer of the server that it did nothing.
type failed struct{ error }

func (failed) RedisError() {}

func TestServerOfAnOperation(t *testing.T) {
	type command struct {
		on  redis.ConnInfo
		err error
	}
	noscript := failed{errors.New("NOSCRIPT")}
	for name, c := range map[string]struct {
		commands []command
		want     uint8
	}{
		"none was sent":                {nil, history.ServerUnknown},
		"no connection":                {[]command{{nil, net.ErrClosed}}, history.ServerUnknown},
		"another node":                 {[]command{{on{&net.TCPAddr{}}, nil}}, history.ServerUnknown},
		"one":                          {[]command{{node(2), nil}}, 2},
		"two on one":                   {[]command{{node(2), nil}, {node(2), redis.Nil}}, 2},
		"one without an answer":        {[]command{{node(1), context.DeadlineExceeded}}, 1},
		"a try that may have worked":   {[]command{{node(1), context.DeadlineExceeded}, {node(2), nil}}, history.ServerSeveral},
		"there and back":               {[]command{{node(1), nil}, {node(2), nil}, {node(1), nil}}, history.ServerSeveral},
		"refused by one":               {[]command{{node(1), noscript}, {node(2), nil}}, 2},
		"answered with nothing by one": {[]command{{node(1), redis.Nil}, {node(2), nil}}, history.ServerSeveral},
	} {
		var s server
		for _, x := range c.commands {
			answers{}.RecordOperationDuration(s.of(t.Context()), 0, nil, 1, x.err, x.on, 0)
		}
		if got := s.number(); got != c.want {
			t.Errorf("%s: got server %d, want %d", name, got, c.want)
		}
	}
	// What decides is what is sent last, where the lock says that it begins anew; and what is
	// sent on behalf of nobody is nobody's.
	var s server
	heard(s.of(t.Context()), nil, node(1))
	s.forget()
	heard(s.of(t.Context()), nil, node(2))
	heard(t.Context(), nil, node(3))
	if got := s.number(); got != 2 {
		t.Errorf("after a new beginning: got server %d, want 2", got)
	}
}
