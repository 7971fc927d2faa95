package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A history file holds one event a line, in the order in which they became known
// (nearly that of their times; readers sort). Each line ends with a running checksum:
// CRC-32C over this line and all lines before it, so that a changed, lost, doubled or
// moved line is found as well as a torn one.
const crcField = `,"crc":"`

const crcTail = len(crcField) + 8 + len(`"}`)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged says that a history is not as it was written, other than by a torn tail.
var ErrDamaged = errors.New("history is damaged")

// Writer writes a history file. It is used by one goroutine at a time.
type Writer struct {
	file *os.File
	buf  []byte
	sum  uint32
}

// Create starts a new history file; an existing one is an error.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &Writer{file: f}, nil
}

// Append adds an event; Flush hands it to the operating system.
func (w *Writer) Append(e *Event) {
	start := len(w.buf)
	w.buf = e.AppendJSON(w.buf)
	w.seal(start)
}

// AppendLine adds an event in the form that AppendJSON gave it.
func (w *Writer) AppendLine(line []byte) {
	start := len(w.buf)
	w.buf = append(w.buf, line...)
	w.seal(start)
}

// seal replaces the closing brace of the line that began at start by the checksum.
func (w *Writer) seal(start int) {
	w.buf = w.buf[:len(w.buf)-1]
	w.sum = crc32.Update(w.sum, castagnoli, w.buf[start:])
	w.buf = append(w.buf, crcField...)
	w.buf = appendSum(w.buf, w.sum)
	w.buf = append(w.buf, "\"}\n"...)
}

// appendSum writes a checksum as eight hexadecimal digits.
func appendSum(b []byte, sum uint32) []byte {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], sum)
	return hex.AppendEncode(b, raw[:])
}

// Flush writes what was appended; it then survives the end of this process.
func (w *Writer) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// written gives the file, and how many bytes of it were flushed.
func (w *Writer) written() (path string, size int64, err error) {
	info, err := w.file.Stat()
	if err != nil {
		return "", 0, err
	}
	return w.file.Name(), info.Size(), nil
}

// Sync flushes and waits for the disk; it then survives the end of the machine.
func (w *Writer) Sync() error {
	if err := w.Flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

// Close syncs and closes the file.
func (w *Writer) Close() error {
	return errors.Join(w.Sync(), w.file.Close())
}

// ReadEvents reads a history file to its end or to its torn tail. broken is empty for a
// file that reads to its last byte; otherwise it says how the tail is torn and how much
// was read. Damage anywhere else is ErrDamaged with the line.
func ReadEvents(r io.Reader) (events []Event, broken string, err error) {
	broken, err = eachEvent(r, func(e *Event, _ int64, _ int) { events = append(events, *e) })
	if err != nil {
		return nil, "", err
	}
	return events, broken, nil
}

// eachEvent gives each event of a history file with its line's place and length in bytes,
// without the newline. Otherwise it is ReadEvents.
func eachEvent(r io.Reader, each func(e *Event, at int64, length int)) (broken string, err error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var sum uint32
	var long []byte
	at := int64(0)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long[:0], line...)
			for errors.Is(err, bufio.ErrBufferFull) && len(long) < 64<<20 {
				line, err = in.ReadSlice('\n')
				long = append(long, line...)
			}
			line = long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("line %d: %w", n, err)
		}
		last := err != nil // no newline: the file ends here
		if last && len(bytes.TrimRight(line, "\x00")) == 0 {
			if len(line) > 0 {
				return fmt.Sprintf("after line %d come %d zero bytes", n-1, len(line)), nil
			}
			return "", nil
		}
		text := bytes.TrimSuffix(line, []byte("\n"))
		e, next, lineErr := parseLine(text, sum)
		switch {
		case lineErr == nil:
			each(&e, at, len(text))
			sum = next
		case last:
			return fmt.Sprintf("line %d, the last, is torn after %d bytes", n, len(line)), nil
		default:
			return "", fmt.Errorf("%w: line %d: %w", ErrDamaged, n, lineErr)
		}
		if last {
			return "", nil
		}
		at += int64(len(line))
	}
}

func parseLine(line []byte, sum uint32) (Event, uint32, error) {
	cut := len(line) - crcTail
	if cut < 1 || string(line[cut:cut+len(crcField)]) != crcField || string(line[len(line)-2:]) != `"}` {
		return Event{}, 0, fmt.Errorf("%w: it does not end with a checksum", errShape)
	}
	sum = crc32.Update(sum, castagnoli, line[:cut])
	var want [8]byte
	if got := line[cut+len(crcField) : len(line)-2]; !bytes.Equal(got, appendSum(want[:0], sum)) {
		return Event{}, 0, fmt.Errorf("the checksum is %s, but these lines have %08x", got, sum)
	}
	// The brace that the checksum took the place of comes back for the parser.
	saved := line[cut]
	line[cut] = '}'
	e, err := ParseEvent(line[:cut+1])
	line[cut] = saved
	return e, sum, err
}
