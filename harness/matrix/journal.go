package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// JournalFile has a line for each sitting and each run, in the order in which they began
// and ended.
const JournalFile = "runs.jsonl"

// ErrDamaged: a journal is wrong other than at its end. It wraps harness.ErrUsage.
var ErrDamaged error = &fileError{"damaged"}

// entry is one line of a journal: a sitting, or a run that ended.
type entry struct {
	At      time.Time         `json:"at"`
	Sitting int               `json:"sitting,omitempty"` // a picklock begins to run so many tests side by side
	Cell    string            `json:"cell,omitempty"`    // its ID
	Run     *Run              `json:"run,omitempty"`
	About   map[string]string `json:"about,omitempty"` // what the run's test says of versions, image and host
}

// parseJournal reads the lines of a journal and tells how long the sound part is. A last
// line that is cut off, or nonsense, is what a crash leaves: it is no part of it. Nonsense
// elsewhere is ErrDamaged.
func parseJournal(text []byte) (all []entry, sound int, err error) {
	for line := 1; sound < len(text); line++ {
		end := bytes.IndexByte(text[sound:], '\n')
		if end < 0 {
			return all, sound, nil
		}
		var e entry
		err := json.Unmarshal(text[sound:sound+end], &e)
		sitting, run := e.Sitting > 0, e.Run != nil && e.Cell != ""
		if err == nil && sitting == run {
			err = errors.New("it is neither a sitting nor a run")
		}
		if err != nil {
			if sound+end+1 == len(text) {
				return all, sound, nil
			}
			return nil, 0, fmt.Errorf("line %d: %w: %w", line, ErrDamaged, err)
		}
		all = append(all, e)
		sound += end + 1
	}
	return all, sound, nil
}

// journal is an open journal. Its methods are called from one goroutine at a time.
type journal struct {
	file *os.File
	lax  bool // lines may still be on their way to the disk when add returns: for tests of many runs
}

// openJournal opens the journal for more lines, which begin where the sound part ends.
func openJournal(path string) (*journal, []entry, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	all, sound, err := parseJournal(text)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	if err := f.Truncate(int64(sound)); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(int64(sound), io.SeekStart); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return &journal{file: f}, all, nil
}

// add appends a line. It is on the disk when add returns.
func (j *journal) add(e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(b, '\n')); err != nil {
		return err
	}
	if j.lax {
		return nil
	}
	return j.file.Sync()
}

func (j *journal) close() error { return j.file.Close() }
