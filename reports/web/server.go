package web

import (
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// What a client may take: time for its request, to read an answer, and between requests;
// bytes of its request's head; and how many clients may be connected at once. More wait.
const (
	headWithin   = 5 * time.Second
	answerWithin = 30 * time.Second // files may take longer: see patient
	idleFor      = 2 * time.Minute
	maxHead      = 16 << 10
	maxClients   = 256
)

// Server gives a server for a Handler that slow clients and many of them cannot wear out. It
// listens to nothing yet; Serve wants a listener, best within Bounded.
func Server(h *Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headWithin, ReadTimeout: 2 * headWithin, WriteTimeout: answerWithin, IdleTimeout: idleFor, MaxHeaderBytes: maxHead,
		DisableGeneralOptionsHandler: true,                       // the Handler refuses OPTIONS itself
		ErrorLog:                     log.New(io.Discard, "", 0), // clients that break off are no news
	}
}

// Bounded lets so many clients connect at once as the server can bear.
func Bounded(l net.Listener) net.Listener {
	return &bounded{l, make(chan struct{}, maxClients), make(chan struct{}), sync.Once{}}
}

type bounded struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &boundedConn{Conn: c, free: sync.OnceFunc(func() { <-b.places })}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

type boundedConn struct {
	net.Conn
	free func()
}

func (c *boundedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
