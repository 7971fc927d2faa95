package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"picklock/nemesis/wire"
)

// goroutines waits until there are no more than before.
func goroutines(t *testing.T, before int) {
	t.Helper()
	end := time.Now().Add(limit)
	for runtime.NumGoroutine() > before {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCloseEndsHeldAndDelayedFrames(t *testing.T) {
	redis := startRedis(t)
	before := runtime.NumGoroutine()
	p := wire.New(nil)
	addr, err := p.Listen(0, "lock", func() string { return redis })
	if err != nil {
		t.Fatal(err)
	}
	hold := p.Add(wire.Rule{
		Match: wire.Match{Commands: []wire.Command{{Name: "SET"}}},
		Do:    func(ctx context.Context, _ wire.Frame) wire.Verdict { <-ctx.Done(); return wire.Verdict{} },
	})
	slow := p.Add(wire.Rule{
		Match: wire.Match{Both: true, Commands: []wire.Command{{Name: "GET"}}}, Do: always(wire.Verdict{Delay: time.Hour}),
	})
	idle, held, delayed := dial(t, addr), dial(t, addr), dial(t, addr)
	write(t, idle, "PING\r\n")
	expect(t, idle, "+PONG\r\n")
	write(t, held, "SET k 1\r\n")
	write(t, delayed, "GET k\r\n")
	eventually(t, "one frame is held, one delayed", func() bool { return hold.Hits() == 1 && slow.Hits() == 1 })
	hold.Remove()
	slow.Remove()
	if err := p.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	for _, nc := range []net.Conn{idle, held, delayed} {
		if _, err := io.ReadAll(nc); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a client reads %v, want the end", err)
		}
	}
	if _, err := p.Listen(0, "lock", func() string { return redis }); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("Listen after Close: %v, want ErrClosed", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	goroutines(t, before)
}

func TestResetAllAndRemoveLeaveNothing(t *testing.T) {
	w := newWorld(t)
	stock := listen(t, w.proxy, 0, "stock", w.redis)
	second := listen(t, w.proxy, 1, "lock", w.redis)
	nobody := dial(t, w.redis) // the goroutines of the test itself
	write(t, nobody, "PING\r\n")
	expect(t, nobody, "+PONG\r\n")
	if err := w.direct.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	conns := map[string]*net.TCPConn{}
	for name, addr := range map[string]string{"lock": w.addr, "stock": stock, "second": second} {
		conns[name] = dial(t, addr)
		write(t, conns[name], "PING\r\n")
		expect(t, conns[name], "+PONG\r\n")
	}
	if n := w.proxy.ResetAll(wire.Match{Clients: []int{0}, Nodes: []string{"lock", "other"}}); n != 1 {
		t.Errorf("reset %d connections, want 1", n)
	}
	if _, err := conns["lock"].Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client reads %v, want a reset", err)
	}
	for _, name := range []string{"stock", "second"} {
		write(t, conns[name], "PING\r\n")
		expect(t, conns[name], "+PONG\r\n")
	}
	if n := w.proxy.ResetAll(wire.Match{}); n != 2 {
		t.Errorf("reset %d connections, want the other 2", n)
	}
	goroutines(t, before)
	if n := w.proxy.ResetAll(wire.Match{}); n != 0 {
		t.Errorf("reset %d connections, want none", n)
	}
}

func TestRefusedUpstreamResets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close() // nobody listens there now
	p := newProxy(t)
	upstream := make(chan string, 2)
	upstream <- addr
	way, err := p.Listen(0, "lock", func() string { return <-upstream })
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", way)
	if err == nil { // else the reset came before Dial had looked
		t.Cleanup(func() { _ = nc.Close() }) // it was reset
		_, err = nc.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the client sees %v, want a reset", err)
	}
	upstream <- startRedis(t) // the node has moved
	nc = dial(t, way)
	write(t, nc, "PING\r\n")
	expect(t, nc, "+PONG\r\n")
}

// node is a node that the test plays.
func node(t *testing.T, p *wire.Proxy) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near = dial(t, listen(t, p, 0, "lock", l.Addr().String()))
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() }) // the test may have closed it
	if err := nc.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	return near, nc.(*net.TCPConn)
}

func TestHalfCloseIsPassedOn(t *testing.T) {
	near, far := node(t, newProxy(t))
	write(t, near, "GET a\r\nGET b") // the last one is cut off
	if err := near.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(far); err != nil || string(got) != "GET a\r\nGET b" {
		t.Fatalf("the node reads %q, %v", got, err)
	}
	write(t, far, "$1\r\n1\r\n$5\r\nha")
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(near); err != nil || string(got) != "$1\r\n1\r\n$5\r\nha" {
		t.Fatalf("the client reads %q, %v", got, err)
	}
}

func TestResetOfTheNodeIsPassedOn(t *testing.T) {
	p := newProxy(t)
	rule := p.Add(wire.Rule{Match: wire.Match{Side: wire.Reply}, Do: always(wire.Verdict{Delay: 20 * time.Millisecond})})
	near, far := node(t, p)
	write(t, near, "GET a\r\n")
	expect(t, far, "GET a\r\n")
	write(t, far, "+1\r\n")
	eventually(t, "the reply is on its way", func() bool { return rule.Hits() == 1 })
	if err := far.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(near); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the client reads %v, want a reset", err)
	}
}

// Bytes that are not RESP go through as they are, and rules for all frames still hold.
func TestWhatIsNotUnderstoodGoesThrough(t *testing.T) {
	for name, c := range map[string]struct{ request, reply string }{
		"TLS":        {"\x16\x03\x01\x02\x00\x01", "\x16\x03\x03\x00\x7a"},
		"streamed":   {"*?\r\n$4\r\nPING\r\n.\r\n", "$?\r\n;2\r\nab\r\n;0\r\n"},
		"only reply": {"GET a\r\n", "HTTP/1.1 400\r\n"},
		"too large":  {"*1\r\n$536870913\r\nab", "$536870913\r\nab"},
		"bare LF":    {"*1\n$4\nPING\n", "+PONG\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t)
			named := p.Add(wire.Rule{Match: wire.Match{Both: true, Commands: []wire.Command{{Name: "PING"}}}, Do: always(wire.Verdict{})})
			near, far := node(t, p)
			for range 3 {
				write(t, near, c.request)
				expect(t, far, c.request)
				write(t, far, c.reply)
				expect(t, near, c.reply)
			}
			if p.NotUnderstood() != 1 || named.Hits() != 0 {
				t.Errorf("%d connections not understood, %d hits; want 1 and 0", p.NotUnderstood(), named.Hits())
			}
			cut := p.Add(wire.Rule{Match: wire.Match{Both: true}, Do: always(wire.Verdict{Action: wire.Reset})})
			write(t, near, c.request)
			if _, err := io.ReadAll(near); !errors.Is(err, syscall.ECONNRESET) || cut.Hits() != 1 {
				t.Errorf("the client reads %v after %d hits; want a reset after 1", err, cut.Hits())
			}
		})
	}
}

// A frame that no rule wants streams; one that a rule wants comes to it whole.
func TestLargeFrames(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		p := newProxy(t)
		size := make(chan int, 1)
		name := map[bool]string{false: "GET", true: "SET"}[wanted]
		p.Add(wire.Rule{
			Match: wire.Match{Commands: []wire.Command{{Name: name}}},
			Do:    func(_ context.Context, f wire.Frame) wire.Verdict { size <- len(f.Raw); return wire.Verdict{} },
		})
		near, far := node(t, p)
		head, value := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8388608\r\n", bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
		write(t, near, head+string(value[:1<<20]))
		if !wanted {
			expect(t, far, head+string(value[:1<<19])) // before the rest is sent
			value = value[1<<19:]
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			write(t, near, string(bytes.Repeat([]byte("0123456789abcdef"), 7<<20/16))+"\r\n")
		}()
		if wanted {
			expect(t, far, head)
			if got := <-size; got != len(head)+8<<20+2 {
				t.Errorf("the rule saw %d bytes, want the whole frame", got)
			}
		}
		expect(t, far, string(value)+"\r\n")
		<-sent
		write(t, far, "+OK\r\n")
		expect(t, near, "+OK\r\n")
	}
}
