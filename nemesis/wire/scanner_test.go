package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"picklock/nemesis/wire"
)

func TestScanner(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("*1\r\n", n) + ":1\r\n" }
	for _, c := range []struct {
		requests bool
		stream   string
		frames   int
		rest     string
		err      error
	}{
		{true, "*2\r\n$3\r\nGET\r\n$0\r\n\r\n*0\r\n*-1\r\n\r\nPING\nPING\r\n", 6, "", nil},
		{true, "*1\r\n$4\r\nPI", 0, "*1\r\n$4\r\nPI", nil},
		{true, "*1\r\n$-1\r\n", 0, "*1\r\n$-1\r\n", wire.ErrProtocol},
		{true, "*1\r\n*1\r\n", 0, "*1\r\n*1\r\n", wire.ErrProtocol},
		{true, "*1\r\n+OK\r\n", 0, "*1\r\n+OK\r\n", wire.ErrProtocol},
		{true, "*x\r\n", 0, "*x\r\n", wire.ErrProtocol},
		{true, "*\r\n", 0, "*\r\n", wire.ErrProtocol},
		{true, "*1\r\n$2\r\nabc\r\n", 0, "*1\r\n$2\r\nabc\r\n", wire.ErrProtocol},
		{true, "*12345678901\r\n", 0, "*12345678901\r\n", wire.ErrProtocol},
		{true, "\x16\x03", 0, "\x16\x03", wire.ErrProtocol},
		{true, strings.Repeat("a", wire.MaxInline-2) + "\r\n", 1, "", nil},
		{true, strings.Repeat("a", wire.MaxInline-1) + "\r\n", 0, "=", wire.ErrProtocol},
		{false, "+OK\r\n-ERR a\r\n:-1\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5\r\n(123\r\n!3\r\nERR\r\n=7\r\ntxt:abc\r\n", 11, "", nil},
		{false, "*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n~2\r\n+b\r\n+c\r\n>1\r\n+d\r\n", 2, "", nil},
		{false, "|1\r\n+a\r\n+b\r\n:1\r\n*1\r\n|1\r\n+a\r\n:2\r\n:3\r\n|0\r\n:4\r\n", 3, "", nil},
		{false, "%0\r\n~0\r\n*0\r\n", 3, "", nil},
		{false, "PING\r\n", 0, "PING\r\n", wire.ErrProtocol},
		{false, "+OK\n", 0, "+OK\n", wire.ErrProtocol},
		{false, "%-1\r\n", 0, "%-1\r\n", wire.ErrProtocol},
		{false, "$?\r\n", 0, "$?\r\n", wire.ErrProtocol},
		{false, "$-\r\n", 0, "$-\r\n", wire.ErrProtocol},
		{false, fmt.Sprintf("$%d\r\n", wire.MaxBulk), 0, "=", nil},
		{false, fmt.Sprintf("$%d\r\n", wire.MaxBulk+1), 0, "=", wire.ErrProtocol},
		{false, "*2147483648\r\n", 0, "=", wire.ErrProtocol},
		{false, deep(wire.MaxDepth), 1, "", nil},
		{false, deep(wire.MaxDepth + 1), 0, "=", wire.ErrProtocol},
	} {
		got := wire.Scan(c.requests, [][]byte{[]byte(c.stream)})
		if c.rest == "=" {
			c.rest = c.stream
		}
		if len(got.Frames) != c.frames || string(got.Rest) != c.rest || !errors.Is(got.Err, c.err) {
			t.Errorf("%.60q (requests: %t): %d frames, rest %.60q, %v; want %d, %.60q, %v",
				c.stream, c.requests, len(got.Frames), got.Rest, got.Err, c.frames, c.rest, c.err)
		}
	}
}

func TestReadRequest(t *testing.T) {
	for _, c := range []struct {
		raw, name, script, key string
		known                  bool
	}{
		{"*3\r\n$3\r\nsEt\r\n$1\r\nk\r\n$1\r\nv\r\n", "SET", "", "k", true},
		{"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\nv", "SET", "", "k", true},
		{"*3\r\n$3\r\nSET\r\n$4\r\nk", "SET", "", "", false},
		{"*3\r\n$3\r\nS", "", "", "", false},
		{"*3\r\n$4\r\nEVAL\r\n$9\r\nret", "EVAL", "", "", false},
		{"*2\r\n$4\r\nECHO\r\n$9\r\nret", "ECHO", "", "", true},
		{"*0\r\n", "", "", "", true},
		{"EVAL 'return 1' 1 key\r\n", "EVAL", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "key", true},
		{"evalsha E0E1 0 arg\n", "EVALSHA", "e0e1", "", true},
		{"FCALL myFunction 1 key\n", "FCALL", "myFunction", "key", true},
		{"XREADGROUP GROUP g c COUNT 1 BLOCK 0 NOACK STREAMS s >\n", "XREADGROUP", "", "s", true},
		{"object encoding k\n", "OBJECT", "", "k", true},
		{"a.very.long.command.of.a.module k\n", "A.VERY.LONG.COMMAND.OF.A.MODULE", "", "", true},
		{`SET "a\x20\n\"" 'it\'s'` + "\n", "SET", "", "a \n\"", true},
		{`SET "a`, "", "", "", false},
		{`SET "a` + "\n", "", "", "", true},
		{`SET "a"b` + "\n", "", "", "", true},
	} {
		got, key, known := wire.ReadRequest([]byte(c.raw))
		if got.Name != c.name || got.Script != c.script || key != c.key || known != c.known {
			t.Errorf("%q: %q, script %q, key %q, known %t; want %q, %q, %q, %t",
				c.raw, got.Name, got.Script, key, known, c.name, c.script, c.key, c.known)
		}
	}
}
