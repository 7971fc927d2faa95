package wire

import (
	"errors"
	"io"
	"net"
	"sync"

	"picklock/nemesis/wire/record"
)

// end is one end of a connection as it is used here: a *net.TCPConn.
type end interface {
	io.ReadWriteCloser
	CloseWrite() error
	SetLinger(sec int) error
}

// conn is one connection of a client, and the one to the node that belongs to it.
type conn struct {
	proxy  *Proxy
	client int
	node   string
	number int64
	pairs  pairing
	done   chan struct{} // closed with the connection

	mu     sync.Mutex
	near   end // to the client
	far    end // to the node; nil: not yet
	closed bool
	left   bool // the client has ended its side
	ended  bool // the node has ended its side, and the client was told
	broken bool // the node takes no bytes any more
	silent bool // the client hears nothing of the node any more
	unread bool // bytes on it were not understood
}

func newConn(p *Proxy, near end, client int, node string) *conn {
	return &conn{
		proxy: p, client: client, node: node, number: p.numbers.Add(1), near: near, done: make(chan struct{}),
	}
}

// run connects to the node and carries bytes until both sides have ended.
func (c *conn) run(upstream func() string) {
	defer c.proxy.leave(c)
	defer c.close()
	dialer := net.Dialer{Timeout: dialTimeout}
	far, err := dialer.DialContext(c.proxy.ctx, "tcp", upstream())
	if err != nil {
		c.proxy.log.Debug("wire: the node cannot be reached", "client", c.client, "node", c.node, "error", err)
		c.note(record.Refused)
		c.reset()
		return
	}
	if c.reached(far.(*net.TCPConn)) {
		c.carry()
	}
}

// carry carries bytes in both directions until both have ended.
func (c *conn) carry() {
	replies := make(chan struct{})
	go func() {
		defer close(replies)
		newLane(c, Reply).run()
	}()
	newLane(c, Request).run()
	<-replies
}

// reached notes the connection to the node; not when it has all ended meanwhile. Neither
// connection waits for more bytes before it sends: TCP_NODELAY is Go's default.
func (c *conn) reached(far end) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = far.Close() // nothing was sent on it
		return false
	}
	c.far = far
	return true
}

// clientEnded notes that the client sends nothing more, and passes it on. Replies may
// still come: the node decides when it is over.
func (c *conn) clientEnded(pass bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	if pass {
		_ = c.far.CloseWrite() // fails when the node has gone; the lane of replies sees that
	}
}

// nodeEnded passes on that the node sends nothing more: as an end if it closed, as a reset
// if it did not.
func (c *conn) nodeEnded(closed bool) {
	c.mu.Lock()
	c.ended = true
	closed = closed && !c.broken
	if closed {
		_ = c.near.CloseWrite() // fails when the client has gone
	}
	c.mu.Unlock()
	if !closed {
		c.reset()
	}
}

// nodeGone notes that the node does not take bytes any more. The client is told after all
// that the node has sent.
func (c *conn) nodeGone() {
	c.mu.Lock()
	c.broken = true
	tell := c.ended && !c.silent
	c.mu.Unlock()
	if tell {
		c.reset()
	}
}

// silence says that the client hears nothing more of the node.
func (c *conn) silence() {
	c.pairs.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

// lost notes that the connection is not RESP any more, or cannot be paired.
func (c *conn) lost(side Side, err error) {
	if errors.Is(err, errReplica) {
		return
	}
	c.mu.Lock()
	first := !c.unread
	c.unread = true
	c.mu.Unlock()
	if first {
		c.proxy.unread.Add(1)
		c.proxy.log.Warn("wire: forwarding bytes that are not understood",
			"client", c.client, "node", c.node, "side", side.String(), "error", err)
	}
}

// reset ends the connection with a reset to the client. It tells whether the client had
// one still.
func (c *conn) reset() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	_ = c.near.SetLinger(0) // makes its close a reset
	c.closeLocked()
	return !c.left
}

// close ends both connections.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closeLocked()
	}
}

func (c *conn) closeLocked() {
	c.closed = true
	close(c.done)
	_ = c.near.Close() // its peer sees the end; there is nobody to tell of an error
	if c.far != nil {
		_ = c.far.Close()
	}
}
