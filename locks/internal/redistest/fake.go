package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What a fake server may do with a command, apart from answering it.
const (
	Hold   = "hold"    // never answer
	HangUp = "hang up" // close the connection
)

// Fake starts a server that answers as reply says: a RESP reply without its line end, Hold,
// HangUp, or "" for an error reply like that to an unknown command (a client whose HELLO
// is answered so goes on without). It returns the address.
func Fake(tb testing.TB, reply func(args []string) string) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	f := &fake{reply: reply, conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.add(c)
			wg.Go(func() { f.serve(c) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		f.closeAll()
		wg.Wait()
	})
	return l.Addr().String()
}

type fake struct {
	reply func([]string) string
	mu    sync.Mutex
	conns map[net.Conn]bool
	ended bool
}

func (f *fake) add(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = true
	if f.ended {
		_ = c.Close()
	}
}

func (f *fake) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for c := range f.conns {
		_ = c.Close()
	}
}

func (f *fake) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		answer := f.reply(args)
		switch answer {
		case "":
			answer = "-ERR unknown command"
		case Hold:
			_, _ = io.Copy(io.Discard, in) // until the connection ends
			return
		case HangUp:
			return
		}
		if _, err := fmt.Fprintf(c, "%s\r\n", answer); err != nil {
			return
		}
	}
}

func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readNumber(in, '*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readNumber(in, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	return args, nil
}

func readNumber(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("got %q, want a line that begins with %q", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
