package topology

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The table of what was synced, as sync.h of the shim lays it out.
const (
	syncedRecord = 2048 // bytes
	syncedPath   = 1020 // bytes of a path, with its closing NUL
)

// errSyncedTable says that a table cannot be what the shim wrote.
var errSyncedTable = errors.New("not a table of what was synced")

// syncedLength is what the last successful sync of a file vouched for.
type syncedLength struct {
	path   string // absolute, as the server saw it
	moving string // not empty: a rename to this path was under way
	length int64  // bytes
}

// parseSynced reads a table.
func parseSynced(b []byte) ([]syncedLength, error) {
	if len(b)%syncedRecord != 0 {
		return nil, fmt.Errorf("%w: %d bytes are no whole number of records", errSyncedTable, len(b))
	}
	var table []syncedLength
	for at := 0; at < len(b); at += syncedRecord {
		r := b[at : at+syncedRecord]
		path, ok1 := cString(r[8 : 8+syncedPath])
		moving, ok2 := cString(r[8+syncedPath:])
		length := int64(binary.LittleEndian.Uint64(r))
		if !ok1 || !ok2 || length < 0 {
			return nil, fmt.Errorf("%w: the record at %d", errSyncedTable, at)
		}
		if path != "" { // else it is free
			table = append(table, syncedLength{path, moving, length})
		}
	}
	return table, nil
}

// cString reads a string up to its NUL, which must be there.
func cString(b []byte) (string, bool) {
	s, _, ok := bytes.Cut(b, []byte{0})
	return string(s), ok
}

// byPath says for each file how many bytes of it were synced. A rename that a SIGKILL cut
// off has happened if nothing is at the old path any more, which exists is asked.
func byPath(table []syncedLength, exists func(path string) (bool, error)) (map[string]int64, error) {
	lengths, moved := map[string]int64{}, map[string]int64{}
	for _, r := range table {
		if r.moving != "" {
			there, err := exists(r.path)
			if err != nil {
				return nil, err
			}
			if !there {
				moved[r.moving] = r.length
				continue
			}
		}
		lengths[r.path] = r.length
	}
	for path, length := range moved { // what was there before is gone
		lengths[path] = length
	}
	return lengths, nil
}
