package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Recording stands before a server and writes down the commands that clients send to it.
type Recording struct {
	Addr     string
	mu       sync.Mutex
	commands [][]string
}

// Record starts one before the server at that address. A command is written down before
// it goes on. It ends with the test.
func Record(tb testing.TB, server string) *Recording {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	r, f := &Recording{Addr: l.Addr().String()}, &fake{conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				_ = c.Close()
				continue
			}
			f.add(c)
			f.add(up)
			wg.Go(func() { defer c.Close(); _, _ = io.Copy(c, up) })
			wg.Go(func() { defer up.Close(); r.forward(up, bufio.NewReader(c)) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		f.closeAll()
		wg.Wait()
	})
	return r
}

func (r *Recording) forward(to io.Writer, from *bufio.Reader) {
	for {
		args, err := readCommand(from)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.commands = append(r.commands, args)
		r.mu.Unlock()
		var b strings.Builder
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
		if _, err := io.WriteString(to, b.String()); err != nil {
			return
		}
	}
}

// Take returns the commands since the last Take.
func (r *Recording) Take() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := slices.Clone(r.commands)
	r.commands = nil
	return taken
}
