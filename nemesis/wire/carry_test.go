package wire_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"picklock/nemesis/wire"
)

// script is an end of a connection that sends the pieces that it was given and notes what
// it gets.
type script struct {
	pieces [][]byte

	mu     sync.Mutex
	got    bytes.Buffer
	ended  bool
	closed bool
}

var _ wire.End = (*script)(nil)

func (s *script) Read(b []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func (s *script) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ended {
		return 0, net.ErrClosed
	}
	return s.got.Write(b)
}

func (s *script) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return nil
}

func (s *script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *script) SetLinger(int) error { return nil }

// FuzzCarry: with any bytes in both directions, cut in any way, and rules that only hold
// and delay, what arrives is what was sent, in its order, and the end is passed on.
func FuzzCarry(f *testing.F) {
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"), []byte("+PONG\r\n"), uint64(1))
	f.Add([]byte("SUBSCRIBE a b\r\nPING\r\n"), []byte("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"), uint64(2))
	f.Add([]byte("PSYNC ? -1\r\n\x00\x01"), []byte("+FULLRESYNC\r\n$5\r\nREDIS\x00"), uint64(3))
	f.Add([]byte("\x16\x03\x01"), []byte("\x16\x03\x03"), uint64(4))
	f.Fuzz(func(t *testing.T, requests, replies []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		requests = append(mutate(r, anyStream(r, true)), requests...)
		replies = append(mutate(r, anyStream(r, false)), replies...)
		p := wire.New(nil)
		defer p.Close()
		for range r.IntN(3) {
			p.Add(delaying(r))
		}
		near, far := &script{pieces: pieces(r, requests)}, &script{pieces: pieces(r, replies)}
		p.Carry(near, far)
		if !bytes.Equal(far.got.Bytes(), requests) || !bytes.Equal(near.got.Bytes(), replies) {
			t.Fatalf("requests: got %q\nsent %q\nreplies: got %q\nsent %q", far.got.Bytes(), requests, near.got.Bytes(), replies)
		}
		if !near.ended || !far.ended {
			t.Fatalf("the end was passed on to the client: %t, to the node: %t; want both", near.ended, far.ended)
		}
	})
}

// delaying draws a rule that loses nothing.
func delaying(r *rand.Rand) wire.Rule {
	m := wire.Match{Side: wire.Side(r.IntN(2)), Both: r.IntN(2) == 0, Skip: r.IntN(3), Limit: r.IntN(3)}
	for range r.IntN(3) {
		m.Commands = append(m.Commands, wire.Command{Name: []string{"GET", "SET", "EVAL", "MESSAGE", "PING"}[r.IntN(5)]})
	}
	delay := time.Duration(r.IntN(30)) * time.Microsecond
	return wire.Rule{Match: m, Do: func(context.Context, wire.Frame) wire.Verdict { return wire.Verdict{Delay: delay} }}
}
