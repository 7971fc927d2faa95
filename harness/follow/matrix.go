package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"picklock/harness/matrix"
	"picklock/harness/store"
)

// Bounds of a matrix's files.
const (
	maxPlan = 256 << 20
	maxLast = 12
	// still is how long no run may end before a matrix that is not whole counts as broken off.
	still = 2 * time.Minute
)

// MatrixState is how a matrix goes.
type MatrixState struct {
	Name    string
	Started time.Time
	Shard   string
	Total   int // runs that are to be made
	Done    int
	Counts  map[matrix.Outcome]int // of the runs that ended
	Last    []MatrixRun            // that ended last, newest first
	Whole   bool                   // matrix.json is there: it is over
	Still   bool                   // it is not whole, and no run has ended for some time
	Behind  int64                  // bytes of the journal that are still to be read
}

// Over says that nothing more is to come.
func (s *MatrixState) Over() bool { return s.Whole }

// MatrixRun is one run that ended.
type MatrixRun struct {
	Cell    string
	Seed    uint64
	Dir     string // of the test, relative to the store's root, with slashes; may be empty
	Outcome matrix.Outcome
	Why     string
	Ended   time.Time
}

// Matrix follows one matrix. It is used by one goroutine at a time.
type Matrix struct {
	folder *os.Root
	plan   *matrix.Stored
	total  int
	at     int64
	buf    []byte
	runs   map[runKey]MatrixRun
	last   []MatrixRun
}

type runKey struct {
	cell string
	seed uint64
}

// OpenMatrix follows the matrix whose folder this is; Close closes it.
func OpenMatrix(folder *os.Root) *Matrix {
	return &Matrix{folder: folder, runs: map[runKey]MatrixRun{}}
}

// Close ends the following.
func (m *Matrix) Close() error { return m.folder.Close() }

// Look reads what is new and tells how the matrix goes. An error that wraps
// matrix.ErrNotAMatrix says that the folder is none's.
func (m *Matrix) Look() (MatrixState, error) {
	var s MatrixState
	if err := m.readPlan(); err != nil {
		return s, err
	}
	changed, behind, err := m.read()
	if err != nil {
		return s, err
	}
	s = MatrixState{Name: m.plan.Name, Started: m.plan.Started, Shard: m.plan.Shard.String(), Total: m.total, Done: len(m.runs), Behind: behind,
		Counts: map[matrix.Outcome]int{}, Last: slices.Clone(m.last)}
	for _, r := range m.runs {
		s.Counts[r.Outcome]++
	}
	slices.Reverse(s.Last)
	// It is written also when a matrix is interrupted, which then can go on.
	info, err := store.LookIn(m.folder, matrix.File)
	s.Whole = err == nil && info.Mode().IsRegular() && !info.ModTime().Before(changed.Add(-time.Second))
	s.Still = !s.Whole && time.Since(changed) > still
	return s, nil
}

func (m *Matrix) readPlan() error {
	if m.plan != nil {
		return nil
	}
	b, err := store.ReadIn(m.folder, matrix.PlanFile, maxPlan)
	if err != nil {
		return fmt.Errorf("%w: it has no %s: %w", matrix.ErrNotAMatrix, matrix.PlanFile, err)
	}
	p := new(matrix.Stored)
	if err := json.Unmarshal(b, p); err != nil {
		return fmt.Errorf("%w: %s: %w", matrix.ErrNotAMatrix, matrix.PlanFile, err)
	}
	jobs, err := p.Plan.Shard(p.Shard)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", matrix.ErrNotAMatrix, matrix.PlanFile, err)
	}
	m.plan, m.total = p, len(jobs)
	return nil
}

// read takes in what the journal has got since, and tells when it was last written.
func (m *Matrix) read() (changed time.Time, behind int64, err error) {
	f, info, err := store.OpenIn(m.folder, matrix.JournalFile)
	if errors.Is(err, fs.ErrNotExist) {
		return m.plan.Started, 0, nil // it is just beginning
	}
	if err != nil {
		return changed, 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	n := min(info.Size()-m.at, perLook)
	if n > int64(cap(m.buf)) {
		m.buf = make([]byte, n)
	}
	b := m.buf[:max(0, n)]
	got, err := f.ReadAt(b, m.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return changed, 0, err
	}
	b = b[:got]
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		m.line(b[:end])
		b = b[end+1:]
		m.at += int64(end) + 1
	}
	return info.ModTime(), max(0, info.Size()-m.at-int64(len(b))), nil
}

// line takes in one line of the journal; those that are no run's say nothing here.
func (m *Matrix) line(line []byte) {
	var l struct {
		At   time.Time `json:"at"`
		Cell string    `json:"cell"`
		Run  *struct {
			Seed    uint64         `json:"seed"`
			Dir     string         `json:"dir"`
			Outcome matrix.Outcome `json:"outcome"`
			Why     string         `json:"why"`
		} `json:"run"`
	}
	if json.Unmarshal(line, &l) != nil || l.Run == nil || l.Cell == "" {
		return
	}
	r := MatrixRun{Cell: l.Cell, Seed: l.Run.Seed, Dir: l.Run.Dir, Outcome: l.Run.Outcome, Why: l.Run.Why, Ended: l.At}
	m.runs[runKey{r.Cell, r.Seed}] = r
	m.last = append(m.last, r)
	if len(m.last) > maxLast {
		m.last = slices.Delete(m.last, 0, 1)
	}
}
