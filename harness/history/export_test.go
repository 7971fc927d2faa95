package history

import (
	"bytes"
	"io"
	"slices"
)

// LoadBytes is Load for a file with these bytes, read in chunks of this size.
func LoadBytes(b []byte, journals string, chunk int64) (*History, error) {
	return load(bytes.NewReader(b), int64(len(b)), journals, chunk)
}

// LoadOneByOne is the reference: one line after the other, one event after the other.
func LoadOneByOne(b []byte, journals string) (*History, error) {
	return loadStrange(bytes.NewReader(b), int64(len(b)), journals)
}

// LoadAt is Load for a file that cannot be read everywhere.
func LoadAt(in io.ReaderAt, size int64) (*History, error) { return load(in, size, "", chunkSize) }

// Scan reads a line as Load does where it is in the usual form.
func Scan(line []byte) (e Event, usual bool) {
	if len(line) == 0 || line[len(line)-1] != '}' {
		return e, false
	}
	usual = new(scanner).scan(line[:len(line)-1], &e)
	return e, usual
}

// SortStragglers sorts pairs by their first.
func SortStragglers(s [][2]int64) { sortStragglers(s, func(x *[2]int64) int64 { return x[0] }) }

// SealLines gives each line its checksum, as Writer does.
func SealLines(lines [][]byte) []byte {
	w := &Writer{}
	for _, l := range lines {
		w.AppendLine(l)
	}
	return slices.Clone(w.buf)
}

// ForgetIndex drops what only some ways of reading make.
func (h *History) ForgetIndex() { h.index = nil }
