package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"picklock/nemesis/wire/record"
)

const (
	// dialTimeout bounds the way to a node. The client believes that it is connected by
	// then, so what it sends after a longer cut would be older than any client's patience.
	dialTimeout = 2 * time.Second
	// closeTimeout bounds how long Close waits for rules that do not heed their context.
	closeTimeout = 5 * time.Second
)

// Proxy is the wire of one test: a listener for each client and node. Its methods may be
// called at any time from any goroutine.
type Proxy struct {
	log     *slog.Logger
	to      Recorder // nil: nothing is recorded
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // accepting and connections
	rules   atomic.Pointer[[]*Active]
	numbers atomic.Int64 // of connections
	unread  atomic.Int64

	mu        sync.Mutex // of what follows, and of changes to rules
	closed    bool
	listeners []net.Listener
	conns     map[*conn]struct{}
}

// New makes a proxy without listeners. A nil log is silent.
func New(log *slog.Logger) *Proxy {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{log: log, conns: make(map[*conn]struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.rules.Store(new([]*Active))
	return p
}

// Record tells what passes to a recorder. It is called before the first Listen.
func (p *Proxy) Record(to Recorder) { p.to = to }

// Listen opens the way of one client to one node and tells the address, on loopback, at
// which the client reaches it. upstream is asked for the node's address at each
// connection, from several goroutines at once. A node that refuses resets the client.
func (p *Proxy) Listen(client int, node string, upstream func() string) (addr string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", ErrClosed
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for client %d on its way to %s: %w", client, node, err)
	}
	p.listeners = append(p.listeners, l)
	p.running.Go(func() { p.accept(l, client, node, upstream) })
	return l.Addr().String(), nil
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept(l net.Listener, client int, node string, upstream func() string) {
	for {
		nc, err := l.Accept()
		if err != nil {
			if p.ctx.Err() != nil {
				return
			}
			p.log.Warn("wire: accept", "client", client, "node", node, "error", err)
			select { // no descriptors left, perhaps: others may end
			case <-p.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		c := newConn(p, nc.(*net.TCPConn), client, node)
		if !p.enter(c) {
			_ = nc.Close() // nothing was promised on it
			return
		}
		go c.run(upstream)
	}
}

// enter puts a connection on the list; not when the proxy is closed.
func (p *Proxy) enter(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	p.conns[c] = struct{}{}
	return true
}

// leave takes it off the list.
func (p *Proxy) leave(c *conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	p.running.Done()
}

// ResetAll resets the connections that exist now and match (clients, nodes), and tells
// how many those were. Those that their client has closed already do not count.
func (p *Proxy) ResetAll(m Match) int {
	p.mu.Lock()
	var matching []*conn
	for c := range p.conns {
		if m.on(c.client, c.node) {
			matching = append(matching, c)
		}
	}
	p.mu.Unlock()
	n := 0
	for _, c := range matching {
		if c.reset() {
			n++
			c.note(record.Reset)
		}
	}
	return n
}

// NotUnderstood counts the connections that had bytes on them which are not RESP, and were
// forwarded as they are from there on.
func (p *Proxy) NotUnderstood() int { return int(p.unread.Load()) }

// Close ends all connections and listeners and waits for what they were doing. The
// contexts of all Do end; an error tells of one that does not return all the same.
func (p *Proxy) Close() error {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	var errs []error
	for _, l := range p.listeners {
		if err := l.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the wire: %w", err))
		}
	}
	p.listeners = nil
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		p.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
		errs = append(errs, fmt.Errorf("close the wire: a rule has not returned within %v", closeTimeout))
	}
	return errors.Join(errs...)
}
