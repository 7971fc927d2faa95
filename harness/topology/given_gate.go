package topology

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// gate is a listener on loopback that leads to one server: each connection is made with
// TLS and the password where the server wants them, and is then a plain one. Bytes go
// through unchanged.
type gate struct {
	access Access
	target string
	listen net.Listener
	done   sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	shut  bool
	cause error // why the last connection could not be made
}

// gateTimeout bounds the making of a connection.
const gateTimeout = 5 * time.Second

func openGate(a Access, target string) (*gate, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a way to %s: %w", target, err)
	}
	g := &gate{access: a, target: target, listen: l, open: map[net.Conn]bool{}}
	g.done.Go(g.accept)
	return g, nil
}

func (g *gate) addr() string { return g.listen.Addr().String() }

func (g *gate) lastError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

func (g *gate) accept() {
	for {
		c, err := g.listen.Accept()
		if err != nil {
			return // it was closed
		}
		if !g.keep(c) {
			continue
		}
		g.done.Go(func() {
			defer g.drop(c)
			if err := g.lead(c); err != nil {
				g.mu.Lock()
				g.cause = err
				g.mu.Unlock()
			}
		})
	}
}

// keep remembers a connection for close; after that it takes none.
func (g *gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		_ = c.Close()
		return false
	}
	g.open[c] = true
	return true
}

func (g *gate) drop(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c)
	_ = c.Close()
}

// lead makes the connection to the server and carries bytes until either end closes.
func (g *gate) lead(c net.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), gateTimeout)
	defer cancel()
	up, err := g.connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", g.target, err)
	}
	if !g.keep(up) {
		return nil
	}
	defer g.drop(up)
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(c, up) // either end may close at any time
		_ = c.Close()
	}()
	_, _ = io.Copy(up, c)
	_ = up.Close()
	<-back
	return nil
}

func (g *gate) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", g.target)
	if err != nil {
		return nil, err
	}
	if g.access.TLS != nil {
		conf := g.access.TLS.Clone()
		if conf.ServerName == "" {
			conf.ServerName, _, _ = net.SplitHostPort(g.target)
		}
		secure := tls.Client(c, conf)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c = secure
	}
	if err := g.login(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// login sends AUTH and reads its one line, byte by byte, so that nothing of what follows
// is taken away.
func (g *gate) login(ctx context.Context, c net.Conn) error {
	if g.access.Password == "" {
		return nil
	}
	words := []string{"AUTH", g.access.Password}
	if g.access.User != "" {
		words = []string{"AUTH", g.access.User, g.access.Password}
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(c, command(words)); err != nil {
		return err
	}
	line, one := []byte{}, []byte{0}
	for len(line) < 512 && !strings.HasSuffix(string(line), "\r\n") {
		if _, err := io.ReadFull(c, one); err != nil {
			return err
		}
		line = append(line, one[0])
	}
	if answer := strings.TrimSpace(string(line)); answer != "+OK" {
		return fmt.Errorf("the server refuses the password: %s", strings.TrimPrefix(answer, "-"))
	}
	return c.SetDeadline(time.Time{})
}

// command is a RESP command.
func command(words []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// close ends all connections. It may be called twice.
func (g *gate) close() error {
	g.mu.Lock()
	shut := g.shut
	g.shut = true
	for c := range g.open {
		_ = c.Close()
	}
	g.mu.Unlock()
	if shut {
		return nil
	}
	err := g.listen.Close()
	g.done.Wait()
	return err
}
