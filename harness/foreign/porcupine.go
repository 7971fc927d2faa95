package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
)

// maxLine is how many bytes a line may have.
const maxLine = maxForm

// etcdLine is a line of Jepsen's log of an etcd register, as porcupine's test data has it:
//
//	INFO  jepsen.util - 3	:invoke	:cas	[1 2]
//	INFO  jepsen.util - 3	:info	:cas	:timed-out
//
// Of a completion the value is that of the invocation, for reads what was found, or
// :timed-out. nil was never written.
var etcdLine = regexp.MustCompile(`^INFO\s+jepsen\.util\s+-\s+(\d+|:nemesis)\s+:([a-z-]+)\s+:([a-z-]+)\s+(.*?)\s*$`)

// readPorcupine reads either of the formats of porcupine's test data. The key-value log is
// EDN with a :key.
func readPorcupine(in *bufio.Reader, b *builder) error {
	first, err := in.Peek(5)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasPrefix(first, []byte("INFO")) {
		return readEDN(in, b)
	}
	return eachLine(in, b.h, func(line []byte, n int, whole bool) error {
		m := etcdLine.FindSubmatch(line)
		switch {
		case m == nil && !whole:
			return b.h.errorf(n, "the file ends within this line: it was cut")
		case m == nil:
			return b.h.errorf(n, "this is no line of Jepsen's log: %.60q", line)
		case !whole:
			return b.h.errorf(n, "the last line has no end: it may be cut")
		}
		e := event{line: n, typ: b.word(m[2]), f: b.word(m[3])}
		if e.process, err = b.value(m[1]); err != nil {
			return b.h.errorf(n, "%v", err)
		}
		if e.nemesis() {
			return nil
		}
		if e.f != "read" && e.f != "write" && e.f != "cas" {
			return b.h.errorf(n, "unknown :f %s", e.f)
		}
		p := parser{in: m[4]}
		value, err := p.next()
		if err == nil {
			e.value, err = b.value(value)
		}
		if err == nil {
			if _, more := p.next(); more == nil || !errors.Is(more, errEnd) {
				err = errors.New("something follows it")
			}
		}
		if err != nil {
			return b.h.errorf(n, "the value %.40q: %v", m[4], err)
		}
		if e.value == ":timed-out" {
			e.value, e.err = "", e.value
		}
		return b.add(&e)
	})
}

// eachLine hands over the lines of a text without their ends; empty ones are left out.
// whole is false for a last line without an end.
func eachLine(in *bufio.Reader, h *History, do func(line []byte, n int, whole bool) error) error {
	var long []byte
	for n := 1; ; {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxLine {
				return h.errorf(n, "the line is longer than 1 MiB")
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line := part
		if len(long) > 0 {
			line = append(long, part...)
			long = line[:0]
		}
		whole := len(line) > 0 && line[len(line)-1] == '\n'
		if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) > 0 {
			if err := do(line, n, whole); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
		n++
	}
}
