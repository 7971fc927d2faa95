// Package follow tells how a test or a matrix goes that another process runs, from what is
// in its folder: nothing is asked of that process, and nothing is written.
//
// In go the folder's files as they grow, out comes a State: what a person wants to see
// while it runs. What it counts as violations is a preview, as on the live line of
// picklock run; the verdict is for the checkers.
package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/locks"
	"picklock/models"
)

// Bounds of what one look costs, and of what is kept.
const (
	perLook   = 8 << 20  // bytes of the history
	perLog    = 16 << 10 // bytes of the log's end
	logLines  = 6
	maxFaults = 200
	maxTest   = 4 << 20
	maxS      = 24 * 60 * 60 // seconds for which operations are counted one by one
	// quiet is how long nothing may happen before the test's clock counts as another
	// machine's, whose clock says nothing here.
	quiet = 30 * time.Second
)

// State is how a test goes.
type State struct {
	store.Entry
	Phase      string        // what is being done, in words
	Began      bool          // the load did
	Ended      bool          // the record is whole
	Elapsed    time.Duration // since the load began
	Limit      time.Duration
	PerSecond  float64 // operations completed in the last two seconds
	Operations int     // completed
	Violations int     // seen so far, by a first look
	Faults     []Fault // that were injected, in order
	Behind     int64   // bytes of the history that are still to be read
	Damaged    int     // lines of it that are no events
	Seconds    []int   // operations completed in each of the last seconds, oldest first; at most 60
	Log        []string
}

// Fault is one fault, as the history tells it.
type Fault struct {
	N              int
	Kind, Target   string
	FromS, ToS     float64 // since the load began; ToS is 0 while it works
	Landed         bool
	Proof, Healing string
}

// Working names the faults that work now.
func (s *State) Working() string {
	var all []string
	for _, f := range s.Faults {
		if f.ToS == 0 && !s.Ended {
			all = append(all, f.Kind+" on "+f.Target)
		}
	}
	return strings.Join(all, ", ")
}

// Over says that nothing more is to come.
func (s *State) Over() bool { return s.State != store.Running }

// Test follows one test. It is used by one goroutine at a time.
type Test struct {
	dir    store.Dir
	folder *os.Root
	test   *store.Test
	file   *os.File // the history, once there is one
	at     int64    // read up to here
	buf    []byte

	live         *models.Live
	begin, last  int64 // ns
	began, ended bool
	done, broken int
	seconds      []int
	faults       []Fault
	index        map[int]int // of faults, by N
}

// ErrGone: the folder is no test's, or not any more.
var ErrGone = errors.New("there is no such test")

// Open follows the test in dir; folder is the same folder, opened, and closed by Close.
func Open(dir store.Dir, folder *os.Root) *Test {
	return &Test{dir: dir, folder: folder, index: map[int]int{}}
}

// Close ends the following.
func (t *Test) Close() error {
	if t.file != nil {
		return errors.Join(t.file.Close(), t.folder.Close())
	}
	return t.folder.Close()
}

// Look reads what is new, up to 8 MB of it, and tells how the test goes.
func (t *Test) Look() (State, error) {
	e, ok := store.Look(t.dir)
	if !ok {
		return State{}, fmt.Errorf("%s: %w", t.dir, ErrGone)
	}
	s := State{Entry: e}
	if err := t.plan(); err != nil {
		s.Phase = "starting"
		return s, nil // it is being written
	}
	behind, err := t.read()
	if err != nil {
		return s, err
	}
	s.Limit, s.Behind, s.Damaged = time.Duration(t.test.TimeLimit), behind, t.broken
	s.Began, s.Ended, s.Operations, s.Faults = t.began, t.ended, t.done, t.faults[:len(t.faults):len(t.faults)]
	if t.live != nil {
		s.Violations = t.live.Violations()
	}
	s.Elapsed = t.elapsed(&s)
	s.pace(t.seconds)
	s.Phase = s.phase()
	s.Log = t.log()
	return s, nil
}

// plan reads test.json, until there is one.
func (t *Test) plan() error {
	if t.test != nil {
		return nil
	}
	b, err := store.ReadIn(t.folder, store.TestFile, maxTest)
	if err != nil {
		return err
	}
	what := new(store.Test)
	if err := json.Unmarshal(b, what); err != nil {
		return err
	}
	p := models.Params{}
	if spec, ok := locks.Find(what.Lock); ok {
		for _, id := range spec.Promises {
			p.Promises = append(p.Promises, models.Property(id))
		}
	}
	t.test, t.live = what, models.NewLive(p)
	return nil
}

// read takes in what the history has got since, and tells how much there is beyond.
func (t *Test) read() (behind int64, err error) {
	if t.file == nil {
		if t.file, _, err = store.OpenIn(t.folder, store.HistoryFile); err != nil {
			return 0, nil // there is none yet
		}
	}
	info, err := t.file.Stat()
	if err != nil {
		return 0, err
	}
	n := min(info.Size()-t.at, perLook)
	if n <= 0 {
		return 0, nil
	}
	if int64(cap(t.buf)) < n {
		t.buf = make([]byte, n)
	}
	b := t.buf[:n]
	got, err := t.file.ReadAt(b, t.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	b = b[:got]
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		t.line(b[:end])
		b = b[end+1:]
		t.at += int64(end) + 1
	}
	if len(b) == perLook { // no line is that long
		t.broken++
		t.at += perLook
	}
	if info.Size()-t.at <= int64(len(b)) {
		return 0, nil // a line that is being written
	}
	return info.Size() - t.at, nil
}

// line takes in one line, of which the checksum is left to those who judge.
func (t *Test) line(line []byte) {
	at := bytes.LastIndex(line, []byte(`,"crc":"`))
	if at < 0 {
		t.broken++
		return
	}
	line[at] = '}'
	e, err := history.ParseEvent(line[:at+1])
	if err != nil {
		t.broken++
		return
	}
	t.event(&e)
}

func (t *Test) event(e *history.Event) {
	t.last = max(t.last, e.Time)
	t.live.Add(*e)
	switch e.Type {
	case history.Begin:
		t.begin, t.began = e.Time, true
	case history.End:
		t.ended = true
	case history.OK, history.Fail, history.Info:
		t.done++
		if s := (e.Time - t.begin) / 1e9; t.began && s >= 0 && s < maxS {
			for int64(len(t.seconds)) <= s {
				t.seconds = append(t.seconds, 0)
			}
			t.seconds[s]++
		}
	case history.FaultStart, history.FaultEnd:
		if e.Fault != nil {
			t.fault(e.Fault)
		}
	}
}

func (t *Test) fault(f *history.Fault) {
	at, known := t.index[f.N]
	if !known {
		if len(t.faults) == maxFaults {
			return
		}
		at = len(t.faults)
		t.index[f.N] = at
		t.faults = append(t.faults, Fault{N: f.N})
	}
	was := Fault{N: f.N, Kind: f.Kind, Target: f.Target, FromS: float64(f.Start-t.begin) / 1e9, Landed: f.Landed, Proof: f.Proof, Healing: f.Healed}
	if f.End > 0 {
		was.ToS = float64(f.End-t.begin) / 1e9
	}
	faults := append([]Fault(nil), t.faults...) // those who were told of the others keep them
	faults[at] = was
	t.faults = faults
}

// elapsed is the time since the load began: by this machine's clock while the test runs on
// it, otherwise by the last event.
func (t *Test) elapsed(s *State) time.Duration {
	if !t.began {
		return 0
	}
	until := t.last
	if now := history.Now(); s.State == store.Running && !t.ended && s.Behind == 0 && now > until && now-until < int64(quiet) {
		until = now
	}
	return time.Duration(until - t.begin)
}

// pace tells how many operations there were in the last seconds.
func (s *State) pace(seconds []int) {
	now := int(s.Elapsed / time.Second)
	at := func(i int) int {
		if i < 0 || i >= len(seconds) {
			return 0
		}
		return seconds[i]
	}
	for i := max(0, now-60); i < now && i < maxS; i++ {
		s.Seconds = append(s.Seconds, at(i))
	}
	switch {
	case s.Elapsed < time.Second && s.Elapsed > 0:
		s.PerSecond = float64(at(0)) / s.Elapsed.Seconds()
	case now == 1:
		s.PerSecond = float64(at(0))
	default:
		s.PerSecond = float64(at(now-1)+at(now-2)) / 2
	}
}

func (s *State) phase() string {
	switch {
	case s.State == store.Judged:
		return "judged"
	case s.State != store.Running:
		return string(s.State) + ": " + s.Why
	case s.Behind > 0:
		return "reading what was recorded so far"
	case s.Ended:
		return "judging"
	case !s.Began:
		return "starting servers and clients"
	case s.Elapsed > s.Limit && s.Limit > 0:
		return "after the load"
	}
	return "under load"
}

// log is the end of harness.log.
func (t *Test) log() []string {
	f, info, err := store.OpenIn(t.folder, store.LogFile)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	from := max(0, info.Size()-perLog)
	b, err := io.ReadAll(io.NewSectionReader(f, from, perLog))
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if from > 0 {
		lines = lines[1:] // it began before
	}
	return lines[max(0, len(lines)-logLines):]
}
