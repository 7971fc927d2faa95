package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/nemesis/wire"
)

// world is a server, a proxy, a client through it and one beside it.
type world struct {
	proxy   *wire.Proxy
	redis   string // the server's address
	addr    string // the proxy's, for client 0
	through *redis.Client
	direct  *redis.Client
}

func newWorld(t *testing.T, options ...func(*redis.Options)) *world {
	w := &world{proxy: newProxy(t), redis: startRedis(t)}
	w.addr = listen(t, w.proxy, 0, "lock", w.redis)
	w.through = client(t, w.addr, options...)
	w.direct = client(t, w.redis)
	return w
}

func (w *world) get(t *testing.T, key string) string {
	t.Helper()
	v, err := w.direct.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("GET %s beside the proxy: %v", key, err)
	}
	return v
}

// impatient is the client through the proxy, connected already, with little patience for
// replies.
func (w *world) impatient(t *testing.T) *redis.Client {
	t.Helper()
	if err := w.through.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("PING: %v", err)
	}
	return w.through.WithTimeout(500 * time.Millisecond)
}

func TestNothingIsChangedWithoutRules(t *testing.T) {
	for name, options := range map[string][]func(*redis.Options){"RESP3": nil, "RESP2": {resp2}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options...)
			ctx := t.Context()
			if err := w.through.Set(ctx, "k", "v", 0).Err(); err != nil {
				t.Fatalf("SET: %v", err)
			}
			if got := w.get(t, "k"); got != "v" {
				t.Fatalf("the server has %q, want v", got)
			}
			large := make([]byte, 20<<20)
			for i := range large {
				large[i] = byte(i * 7)
			}
			if err := w.through.Set(ctx, "large", large, 0).Err(); err != nil {
				t.Fatalf("SET of 20 MB: %v", err)
			}
			got, err := w.through.Get(ctx, "large").Bytes()
			if err != nil || string(got) != string(large) {
				t.Fatalf("GET of 20 MB: %d bytes, %v; want what was set", len(got), err)
			}
			if n := w.proxy.NotUnderstood(); n != 0 {
				t.Fatalf("%d connections were not understood", n)
			}
		})
	}
}

func TestHoldStopsOneDirectionOfOneConnection(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	held, release := make(chan wire.Frame, 1), make(chan struct{})
	rule := w.proxy.Add(wire.Rule{
		Match: wire.Match{Commands: []wire.Command{{Name: "SET"}}, Limit: 1},
		Do: func(ctx context.Context, f wire.Frame) wire.Verdict {
			f.Raw = append([]byte(nil), f.Raw...)
			held <- f
			select {
			case <-release:
			case <-ctx.Done():
			}
			return wire.Verdict{}
		},
	})
	done := make(chan error, 1)
	before := history.Now()
	go func() { done <- w.through.Set(ctx, "a", "1", 0).Err() }()
	f := <-held
	if want := "*3\r\n$3\r\nset\r\n$1\r\na\r\n$1\r\n1\r\n"; string(f.Raw) != want {
		t.Errorf("held %q, want %q", f.Raw, want)
	}
	if f.Client != 0 || f.Node != "lock" || f.Side != wire.Request || f.Name != "SET" || f.Key != "a" || f.Push || f.Conn == 0 {
		t.Errorf("held %+v", f)
	}
	if f.At < before || f.At > history.Now() {
		t.Errorf("read at %d, want a time of the record in [%d, now]", f.At, before)
	}
	if err := w.through.Set(ctx, "b", "1", 0).Err(); err != nil { // another connection of the pool
		t.Fatalf("SET beside the hold: %v", err)
	}
	if got := w.get(t, "a"); got != "" {
		t.Errorf("the held SET was executed: a = %q", got)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatalf("the SET that was held: %v", err)
	}
	if rule.Hits() != 1 {
		t.Errorf("%d hits, want 1", rule.Hits())
	}
}

func TestHeldAndDelayedSetIsExecutedAfterTheClientHasGone(t *testing.T) {
	w := newWorld(t)
	gone := make(chan struct{})
	const delay = 100 * time.Millisecond
	at := make(chan int64, 1)
	w.proxy.Add(wire.Rule{
		Match: wire.Match{Commands: []wire.Command{{Name: "SET"}}},
		Do: func(ctx context.Context, f wire.Frame) wire.Verdict {
			select {
			case <-gone:
			case <-ctx.Done():
			}
			late := history.Now() - f.At
			at <- history.Now() + int64(delay)
			return wire.Verdict{Delay: time.Duration(late) + delay}
		},
	})
	if err := w.impatient(t).Set(t.Context(), "late", "1", 0).Err(); !isTimeout(err) {
		t.Fatalf("SET that is held: %v, want a timeout", err)
	}
	if err := w.through.Close(); err != nil { // the client is gone altogether
		t.Fatalf("close: %v", err)
	}
	if got := w.get(t, "late"); got != "" {
		t.Fatalf("late = %q while the SET was held", got)
	}
	close(gone)
	eventually(t, "the late SET is executed", func() bool { return w.get(t, "late") == "1" })
	if early := <-at - history.Now(); early > 0 {
		t.Errorf("executed %v before its time", time.Duration(early))
	}
	eventually(t, "the server's connection is closed after it", func() bool { return connections(t, w.direct) == 1 })
}

// A slow line, not a narrow one: each of a hundred requests is late by the delay, and all
// of them together too.
func TestDelayKeepsOrderAndRate(t *testing.T) {
	w := newWorld(t)
	const delay = 50 * time.Millisecond
	rule := w.proxy.Add(wire.Rule{Match: wire.Match{Side: wire.Reply}, Do: always(wire.Verdict{Delay: delay})})
	nc := dial(t, w.addr)
	start := history.Now()
	var sent, want string
	for i := range 100 {
		sent += fmt.Sprintf("ECHO %02d\r\n", i)
		want += fmt.Sprintf("$2\r\n%02d\r\n", i)
	}
	write(t, nc, sent)
	expect(t, nc, want)
	took := time.Duration(history.Now() - start)
	if took < delay {
		t.Errorf("the replies took %v, less than their delay of %v", took, delay)
	}
	if narrow := 100 * delay; took >= narrow {
		t.Errorf("the replies took %v: one after the other, not side by side", took)
	}
	if rule.Hits() != 100 {
		t.Errorf("%d hits, want 100", rule.Hits())
	}
	rule.Remove()
	write(t, nc, "PING\r\n")
	expect(t, nc, "+PONG\r\n")
}

func TestDroppedReplyTimesOutWhileTheServerExecuted(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	impatient := w.impatient(t)
	w.proxy.Add(wire.Rule{
		Match: wire.Match{Side: wire.Reply, Commands: []wire.Command{{Name: "SET"}}, Limit: 1},
		Do: func(_ context.Context, f wire.Frame) wire.Verdict {
			if string(f.Raw) != "+OK\r\n" || f.Key != "k" {
				t.Errorf("the reply to SET k is %q, key %q", f.Raw, f.Key)
			}
			return wire.Verdict{Action: wire.Discard}
		},
	})
	err := impatient.Set(ctx, "k", "1", 0).Err()
	if !isTimeout(err) {
		t.Fatalf("SET without a reply: %v, want a timeout", err)
	}
	if got := w.get(t, "k"); got != "1" {
		t.Fatalf("k = %q, want 1: the server did execute it", got)
	}
	if err := w.through.Set(ctx, "k", "2", 0).Err(); err != nil {
		t.Fatalf("SET after the rule is done: %v", err)
	}
}

func TestDiscardedRequestNeverArrives(t *testing.T) {
	w := newWorld(t)
	nc := dial(t, w.addr)
	w.proxy.Add(wire.Rule{
		Match: wire.Match{Commands: []wire.Command{{Name: "SET"}}},
		Do:    always(wire.Verdict{Action: wire.Discard}),
	})
	write(t, nc, "INCR before\r\nSET k 1\r\nINCR behind\r\n")
	expect(t, nc, ":1\r\n")
	write(t, nc, "INCR behind\r\n")
	if err := nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := nc.Read(make([]byte, 1)); n != 0 || !isTimeout(err) {
		t.Fatalf("read %d bytes, %v; want silence on an open connection", n, err)
	}
	if k, behind := w.get(t, "k"), w.get(t, "behind"); k != "" || behind != "" {
		t.Fatalf("k = %q, behind = %q; want none: a stream has no holes", k, behind)
	}
	if n := w.proxy.ResetAll(wire.Match{}); n != 1 {
		t.Errorf("ResetAll reset %d connections, want the silent one", n)
	}
}

func TestReset(t *testing.T) {
	for _, side := range []wire.Side{wire.Request, wire.Reply} {
		t.Run(side.String(), func(t *testing.T) {
			w := newWorld(t)
			w.proxy.Add(wire.Rule{
				Match: wire.Match{Side: side, Commands: []wire.Command{{Name: "SET"}}},
				Do:    always(wire.Verdict{Action: wire.Reset}),
			})
			nc := dial(t, w.addr)
			write(t, nc, "PING\r\n")
			expect(t, nc, "+PONG\r\n")
			write(t, nc, "SET k 1\r\n")
			if _, err := io.ReadAll(nc); !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("the client reads %v, want a reset", err)
			}
			want := map[wire.Side]string{wire.Request: "", wire.Reply: "1"}[side]
			if got := w.get(t, "k"); got != want {
				t.Fatalf("k = %q, want %q", got, want)
			}
			eventually(t, "the server has closed the connection too", func() bool { return connections(t, w.direct) == 1 })
		})
	}
}
