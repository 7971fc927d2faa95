package wire_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"picklock/nemesis/wire"
)

// FuzzReader: the frames of a stream, whatever is in it and however it is cut, are its
// bytes in their order; where they end is what a plain recursive reader says.
func FuzzReader(f *testing.F) {
	for seed := range uint64(8) {
		f.Add([]byte("*1\r\n$4\r\nPING\r\n"), seed, seed%2 == 0)
		f.Add([]byte("|1\r\n+a\r\n:1\r\n%1\r\n$1\r\na\r\n*-1\r\n>2\r\n_\r\n#t\r\n"), seed, seed%2 == 0)
		f.Add([]byte{}, seed, seed%2 == 0)
	}
	f.Fuzz(checkStream)
}

// FuzzReader without a fuzzer: what the seeds alone draw.
func TestRandomStreams(t *testing.T) {
	for seed := range uint64(50_000) {
		checkStream(t, nil, seed, seed%2 == 0)
	}
}

// checkStream checks frames that the seed draws, and what is behind them.
func checkStream(t *testing.T, stream []byte, seed uint64, requests bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	if seed%3 != 0 { // frames that are sound, or nearly so, before what the fuzzer thought of
		stream = append(mutate(r, anyStream(r, requests)), stream...)
	}
	whole := wire.Scan(requests, [][]byte{bytes.Clone(stream)})
	got := append(bytes.Join(whole.Frames, nil), whole.Rest...)
	if !bytes.Equal(got, stream) {
		t.Fatalf("the frames are not the stream:\ngot  %q\nwant %q", got, stream)
	}
	cut := wire.Scan(requests, pieces(r, stream))
	if len(cut.Frames) != len(whole.Frames) || !errors.Is(cut.Err, whole.Err) || !bytes.Equal(cut.Rest, whole.Rest) {
		t.Fatalf("cut into pieces there are %d frames (%v), whole %d (%v): %q",
			len(cut.Frames), cut.Err, len(whole.Frames), whole.Err, stream)
	}
	rest := stream
	var pairs wire.Pairing
	for _, frame := range whole.Frames {
		if n := plainEnd(rest, requests); n != len(frame) {
			t.Fatalf("a frame ends after %d bytes, a plain reader says %d: %q", len(frame), n, rest)
		}
		rest = rest[len(frame):]
		if requests {
			pairs.Request(frame)
		} else if _, err := pairs.Reply(frame); err == nil && frame[0] != '-' && frame[0] != '>' && frame[0] != '|' {
			t.Fatalf("%q answers nothing, but was paired", frame)
		}
	}
	if n := plainEnd(rest, requests); n > 0 && whole.Err == nil {
		t.Fatalf("a plain reader finds a frame of %d bytes in the rest: %q", n, rest)
	}
	wire.ReadRequest(append([]byte("*"), rest...)) // whatever it says, it returns
}

// plainEnd tells where the first value of b ends: a reader that is as plain as can be.
// 0: it does not end, or is not RESP.
func plainEnd(b []byte, requests bool) int {
	line := bytes.IndexByte(b, '\n') + 1
	if line == 0 {
		return 0
	}
	if requests && b[0] != '*' {
		return line
	}
	if line < 3 || b[line-2] != '\r' {
		return 0
	}
	n, err := strconv.Atoi(string(b[1 : line-2]))
	switch b[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return line
	case '$', '=', '!':
		if err != nil || n < 0 || len(b) < line+n+2 {
			if err == nil && n == -1 {
				return line
			}
			return 0
		}
		return line + n + 2
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1
	}
	if err != nil {
		return 0
	}
	for ; n > 0; n-- {
		step := plainEnd(b[line:], false)
		if step == 0 {
			return 0
		}
		line += step
	}
	return line
}

// anyStream draws some frames.
func anyStream(r *rand.Rand, requests bool) []byte {
	var b []byte
	for range r.IntN(6) {
		if requests {
			b = append(b, anyRequest(r)...)
		} else {
			b = anyValue(r, b, 0)
		}
	}
	return b
}

var words = []string{
	"GET", "set", "EVAL", "evalsha", "0", "1", "2", "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "CLIENT", "REPLY", "OFF",
	"SKIP", "ON", "MULTI", "EXEC", "RESET", "MONITOR", "HELLO", "XREAD", "STREAMS", "k", "", "message", "subscribe", "a b",
}

func anyRequest(r *rand.Rand) []byte {
	n := r.IntN(6)
	if r.IntN(8) == 0 {
		var b []byte
		for range n {
			b = append(append(b, words[r.IntN(len(words))]...), ' ')
		}
		return append(b, "\r\n"...)
	}
	b := append([]byte{'*'}, strconv.Itoa(n)+"\r\n"...)
	for range n {
		b = anyBulk(r, b, '$')
	}
	return b
}

func anyBulk(r *rand.Rand, b []byte, kind byte) []byte {
	word := []byte(words[r.IntN(len(words))])
	if r.IntN(4) == 0 {
		word = make([]byte, r.IntN(40))
		for i := range word {
			word[i] = byte(r.Uint32())
		}
	}
	b = append(append(b, kind), strconv.Itoa(len(word))+"\r\n"...)
	return append(append(b, word...), "\r\n"...)
}

// anyValue appends a value of any type of RESP2 or RESP3.
func anyValue(r *rand.Rand, b []byte, depth int) []byte {
	const types = "+-:,(#_$$$!=*~%>|"
	kind := types[r.IntN(len(types))]
	if depth > 3 {
		kind = '$'
	}
	switch kind {
	case '$', '!', '=':
		if kind == '$' && r.IntN(8) == 0 {
			return append(b, "$-1\r\n"...)
		}
		return anyBulk(r, b, kind)
	case '*', '~', '%', '>', '|':
		if kind == '*' && r.IntN(8) == 0 {
			return append(b, "*-1\r\n"...)
		}
		n := r.IntN(4)
		b = append(append(b, kind), strconv.Itoa(n)+"\r\n"...)
		if kind == '%' || kind == '|' {
			n *= 2
		}
		if kind == '|' {
			n++
		}
		for range n {
			b = anyValue(r, b, depth+1)
		}
		return b
	default:
		return append(append(b, kind), words[r.IntN(len(words))]+"\r\n"...)
	}
}

// mutate leaves a stream as it is in two of three cases, and else changes, removes or
// adds a few bytes.
func mutate(r *rand.Rand, b []byte) []byte {
	if len(b) == 0 || r.IntN(3) != 0 {
		return b
	}
	for range 1 + r.IntN(3) {
		i := r.IntN(len(b))
		switch c := "*$+\r\n-1909%|?;"[r.IntN(14)]; r.IntN(3) {
		case 0:
			b[i] = c
		case 1:
			b = append(b[:i:i], b[i+1:]...)
		default:
			b = append(append(b[:i:i], c), b[i:]...)
		}
		if len(b) == 0 {
			break
		}
	}
	return b
}

// pieces cuts a stream as a network might.
func pieces(r *rand.Rand, stream []byte) [][]byte {
	var all [][]byte
	for rest := bytes.Clone(stream); len(rest) > 0; {
		n := 1 + r.IntN(min(len(rest), 1+r.IntN(64)))
		all = append(all, rest[:n])
		rest = rest[n:]
	}
	return all
}
