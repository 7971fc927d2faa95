package follow_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/follow"
	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/harness/matrix"
	"picklock/harness/store"
)

// begun makes the folder of a test that runs, and follows it.
func begun(t *testing.T) (store.Dir, *follow.Test) {
	t.Helper()
	d, err := store.Create(t.TempDir(), &store.Test{Run: "r", Started: store.Now(), Lock: "uuid-lua", Topology: "single", Name: "uuid-lua+read-write_single_none",
		TimeLimit: store.Duration(15 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	mark, err := d.Hold()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mark.Release)
	root, err := os.OpenRoot(string(d))
	if err != nil {
		t.Fatal(err)
	}
	f := follow.Open(d, root)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, f
}

func look(t *testing.T, f *follow.Test) follow.State {
	t.Helper()
	s, err := f.Look()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// completions are n operations that ended, one each time, after start.
func completions(start int64, n int, each time.Duration) (all []history.Event) {
	for i := range n {
		all = append(all, history.Event{Time: start + int64(i)*int64(each), Type: history.Fail, Op: history.Acquire, ID: int64(i + 1), Object: "stock:1", Code: history.CodeNotAcquired})
	}
	return all
}

func add(t *testing.T, d store.Dir, text []byte) {
	t.Helper()
	f, err := os.OpenFile(d.Path(store.HistoryFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestPhases: the words for what is being done follow the record.
func TestPhases(t *testing.T) {
	d, f := begun(t)
	if s := look(t, f); s.Phase != "starting servers and clients" || s.Over() || s.Began {
		t.Errorf("without a history: %+v", s)
	}
	now := history.Now()
	add(t, d, historytest.Lines(t, history.Event{Time: now, Type: history.Begin}))
	if s := look(t, f); s.Phase != "under load" || !s.Began || s.Limit != 15*time.Second {
		t.Errorf("after the beginning: %+v", s)
	}
	add(t, d, historytest.Lines(t, history.Event{Time: now + 1, Type: history.End}))
	if s := look(t, f); s.Phase != "judging" || !s.Ended {
		t.Errorf("after the end: %+v", s)
	}
	test, err := d.ReadTest()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteResult(&store.Result{Verdict: "valid", Test: *test}); err != nil {
		t.Fatal(err)
	}
	if s := look(t, f); s.Phase != "judged" || !s.Over() {
		t.Errorf("after the verdict: %+v", s)
	}
	if err := os.RemoveAll(string(d)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Look(); !errors.Is(err, follow.ErrGone) {
		t.Errorf("a folder that is gone: %v", err)
	}
}

// TestTorn: wherever a line is cut, the rest is taken in with the next look, and once.
func TestTorn(t *testing.T) {
	start := history.Now() - int64(10*time.Second)
	text := historytest.Lines(t, append([]history.Event{{Time: start, Type: history.Begin}}, completions(start, 3, time.Second)...)...)
	for cut := range len(text) {
		d, f := begun(t)
		add(t, d, text[:cut])
		first := look(t, f).Operations
		add(t, d, text[cut:])
		s := look(t, f)
		if s.Operations != 3 || s.Damaged != 0 || first > 3 || s.Behind != 0 {
			t.Fatalf("cut at %d: %d, then %d operations, %d damaged lines", cut, first, s.Operations, s.Damaged)
		}
		if again := look(t, f); again.Operations != 3 {
			t.Fatalf("cut at %d: looked at again there are %d operations", cut, again.Operations)
		}
	}
}

// TestPace: operations per second come from the events' times.
func TestPace(t *testing.T) {
	d, f := begun(t)
	start := history.Now() - int64(5500*time.Millisecond)
	add(t, d, historytest.Lines(t, append([]history.Event{{Time: start, Type: history.Begin}}, completions(start, 500, 10*time.Millisecond)...)...))
	s := look(t, f)
	if s.PerSecond != 100 || !slices.Equal(s.Seconds[:5], []int{100, 100, 100, 100, 100}) || s.Elapsed < 5500*time.Millisecond || s.Elapsed > time.Minute {
		t.Errorf("%v operations per second after %v: %v", s.PerSecond, s.Elapsed, s.Seconds)
	}
	// Of another machine, whose clock is far off, the last event tells the time.
	d, f = begun(t)
	add(t, d, historytest.Lines(t, append([]history.Event{{Time: 1000, Type: history.Begin}}, completions(1000, 300, 10*time.Millisecond)...)...))
	if s := look(t, f); s.Elapsed != 2990*time.Millisecond {
		t.Errorf("by another machine's clock %v went by", s.Elapsed)
	}
}

// TestBehind: a long history is read piece by piece, and what is no event is counted.
func TestBehind(t *testing.T) {
	d, f := begun(t)
	start := history.Now()
	text := historytest.Lines(t, append([]history.Event{{Time: start, Type: history.Begin}}, completions(start, 100_000, 10*time.Microsecond)...)...)
	add(t, d, text)
	add(t, d, []byte("no event\n{\"t\":1,\"crc\":\"00000000\"}\n"))
	s, looks := look(t, f), 1
	if s.Behind == 0 || s.Phase != "reading what was recorded so far" || s.Operations == 0 || s.Operations >= 100_000 {
		t.Errorf("the first look at %d bytes: %d operations, %d bytes behind, %s", len(text), s.Operations, s.Behind, s.Phase)
	}
	for ; s.Behind > 0 && looks < 100; looks++ {
		s = look(t, f)
	}
	if s.Operations != 100_000 || s.Damaged != 2 {
		t.Errorf("after %d looks: %d operations, %d damaged lines", looks, s.Operations, s.Damaged)
	}
	// A line that never ends does not stop it for good.
	add(t, d, []byte(strings.Repeat("x", 20<<20)+"\n"))
	add(t, d, historytest.Lines(t, history.Event{Time: start + 1, Type: history.OK, Op: history.Deduct, ID: 1, Object: "s"}))
	for range 10 {
		s = look(t, f)
	}
	if s.Operations != 100_001 || s.Behind != 0 {
		t.Errorf("after a line of 20 MB: %d operations, %d bytes behind", s.Operations, s.Behind)
	}
}

// TestFaults: what works and what ended, by the number of the fault.
func TestFaults(t *testing.T) {
	d, f := begun(t)
	start := history.Now() - int64(5*time.Second)
	fault := func(n int, typ history.Type, end int64) history.Event {
		return history.Event{Time: start + int64(time.Second), Type: typ, Fault: &history.Fault{N: n, Kind: "pause-client", Target: fmt.Sprintf("client %d", n), Start: start + int64(time.Second), End: end, Landed: true}}
	}
	add(t, d, historytest.Lines(t, history.Event{Time: start, Type: history.Begin}, fault(1, history.FaultStart, 0), fault(2, history.FaultStart, 0)))
	before := look(t, f)
	if w := before.Working(); w != "pause-client on client 1, pause-client on client 2" {
		t.Errorf("at work: %q", w)
	}
	add(t, d, historytest.Lines(t, fault(1, history.FaultEnd, start+int64(2*time.Second))))
	after := look(t, f)
	if w := after.Working(); w != "pause-client on client 2" || len(after.Faults) != 2 || after.Faults[0].FromS != 1 || after.Faults[0].ToS != 2 {
		t.Errorf("at work: %q of %+v", w, after.Faults)
	}
	if before.Faults[0].ToS != 0 {
		t.Error("what was told before has changed")
	}
	var many []history.Event
	for n := range 1000 {
		many = append(many, fault(n+1, history.FaultStart, 0))
	}
	add(t, d, historytest.Lines(t, many...))
	if s := look(t, f); len(s.Faults) > 200 {
		t.Errorf("%d faults are kept", len(s.Faults))
	}
}

// TestMatrix: runs are counted once each, also when the matrix is gone on with.
func TestMatrix(t *testing.T) {
	load := store.Test{TimeLimit: store.Duration(15 * time.Second)}
	p := &matrix.Plan{Name: "nightly", Rows: []matrix.Row{{Cell: matrix.Cell{Lock: "uuid-lua"}, Seeds: []uint64{1, 2, 3, 4, 5, 6}, Test: load}}}
	for i := range 9 {
		p.Rows = append(p.Rows, matrix.Row{Cell: matrix.Cell{Lock: fmt.Sprint("setnx", i)}, Seeds: []uint64{1}, Test: load})
	}
	jobs, err := p.Shard(matrix.Shard{K: 1, N: 2})
	if err != nil {
		t.Fatal(err)
	}
	st, err := matrix.Begin(t.TempDir(), p, matrix.Shard{K: 1, N: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	root, err := os.OpenRoot(st.Dir)
	if err != nil {
		t.Fatal(err)
	}
	m := follow.OpenMatrix(root)
	defer func() { _ = m.Close() }()
	journal := filepath.Join(st.Dir, matrix.JournalFile)
	at := func(text string) follow.MatrixState {
		t.Helper()
		f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := m.Look()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	run := func(seed int, o matrix.Outcome) string {
		return fmt.Sprintf(`{"at":"2026-01-31T06:00:00Z","cell":"c","run":{"seed":%d,"outcome":"%s"}}`+"\n", seed, o)
	}
	if s := at(`{"at":"2026-01-31T06:00:00Z","sitting":2}` + "\n"); s.Total != len(jobs) || s.Total == 15 || s.Done != 0 || s.Over() || s.Still || s.Shard != "1/2" {
		t.Errorf("at the beginning: %+v", s)
	}
	one := run(1, matrix.Error)
	if s := at(one[:20]); s.Done != 0 {
		t.Errorf("half a line is a run: %+v", s)
	}
	if s := at(one[20:] + run(1, matrix.AsExpected) + "nonsense\n"); s.Done != 1 || s.Counts[matrix.AsExpected] != 1 || s.Counts[matrix.Error] != 0 || len(s.Last) != 2 {
		t.Errorf("a run that was made again: %+v", s)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(journal, long, long); err != nil {
		t.Fatal(err)
	}
	if s, err := m.Look(); err != nil || !s.Still {
		t.Errorf("an hour later: %+v, %v", s, err)
	}
	if err := (&matrix.Matrix{Name: "nightly"}).Write(st.Dir); err != nil {
		t.Fatal(err)
	}
	if s, err := m.Look(); err != nil || !s.Over() || s.Still {
		t.Errorf("with its result: %+v, %v", s, err)
	}
	empty, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	none := follow.OpenMatrix(empty)
	defer func() { _ = none.Close() }()
	if _, err := none.Look(); !errors.Is(err, matrix.ErrNotAMatrix) {
		t.Errorf("a folder of nobody: %v", err)
	}
}
