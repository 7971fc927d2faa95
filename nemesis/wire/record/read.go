package record

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxLine bounds a line: all texts at their longest, each byte escaped.
const maxLine = 8 * 6 * MaxText

// Read reads the messages that were on the wire between two times (ns, both included): from
// when they came to when they went on, or never did. A last line that is not whole is a
// torn tail, which is left out; anything else that picklock would not write is ErrDamaged
// and named by its line. All lines are looked at, whatever their time.
func Read(r io.Reader, from, to int64) (Log, error) {
	var log Log
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF): // what has no newline was not written to its end
			slices.SortStableFunc(log.Messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
			return log, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return log, fmt.Errorf("%w: line %d is longer than any message", ErrDamaged, n)
		case err != nil:
			return log, fmt.Errorf("read the record of the wire: %w", err)
		case log.Whole:
			return log, fmt.Errorf("%w: line %d follows its end", ErrDamaged, n)
		}
		if err := log.take(line, n, from, to); err != nil {
			return log, fmt.Errorf("%w: line %d: %w", ErrDamaged, n, err)
		}
	}
}

// readLine reads a line, without its newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) > maxLine {
		return nil, bufio.ErrBufferFull
	}
	return line[:len(line)-1], nil
}

func (l *Log) take(line []byte, n int, from, to int64) error {
	if n == 1 {
		if string(line) != header {
			return fmt.Errorf("a record of the wire begins with %s", header)
		}
		return nil
	}
	if bytes.HasPrefix(line, []byte(`{"end":`)) {
		e, err := parseEnding(line)
		l.Left, l.Cut, l.Whole = e.left, e.cut, err == nil
		return err
	}
	m, err := ParseMessage(line)
	if err == nil && m.At <= to && (m.Out == 0 && m.At >= from || m.Out >= from) {
		l.Messages = append(l.Messages, m)
	}
	return err
}
