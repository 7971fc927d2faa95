package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"picklock/nemesis/wire/record"
)

// Messages reads what was on the wire of a stored test between two times (ns of the
// record's clock, both included). A test without a wire has none: the Log is then nil. A
// file that is damaged is record.ErrDamaged.
func (d Dir) Messages(from, to int64) (*record.Log, error) {
	f, err := os.Open(d.Path(WireFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	log, err := record.Read(f, from, to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Path(WireFile), err)
	}
	return &log, nil
}
