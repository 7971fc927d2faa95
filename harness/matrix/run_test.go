package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/models"
)

// pretend is a test that takes no time: what it shows is drawn from options and seed, and
// so the same each time.
func pretend(_ context.Context, o harness.Options) (harness.Outcome, error) {
	h := fnv.New64a()
	fmt.Fprint(h, o.Lock, o.TimeLimit, o.Seed)
	draw := h.Sum64() % 10
	if draw == 0 {
		return harness.Outcome{}, errors.New("the server\ndid not start")
	}
	verdict := map[bool]models.Verdict{true: models.Violated, false: models.Valid}[draw == 1]
	if draw == 2 {
		verdict = models.Unknown
	}
	r := &store.Result{Test: o.Test, Verdict: verdict, Vacuous: draw == 3,
		Properties: map[models.Property]*models.Judgement{models.Ownership: {Verdict: verdict}},
		Expected:   []store.Expected{{Property: string(models.Ownership), Expected: "valid", Met: verdict == models.Valid}}}
	r.Measures.DurationS = float64(draw)
	r.Test.About = map[string]string{"server": fmt.Sprintf("7.%d", draw%2)}
	return harness.Outcome{Dir: store.Dir(filepath.Join(o.Root, "test", fmt.Sprint(o.Seed))), Result: r}, nil
}

// essence is what must be the same of two matrices of one plan, however they were run.
func essence(t fatal, m *Matrix) string {
	t.Helper()
	for i := range m.Cells {
		for n := range m.Cells[i].Runs {
			r := &m.Cells[i].Runs[n]
			if r.Started.IsZero() || r.TookS < 0 {
				t.Fatalf("run of %s: started %s, took %g s", m.Cells[i].Cell.ID(), r.Started, r.TookS)
			}
		}
	}
	b, err := json.MarshalIndent(struct {
		Name, Plan, Outcome any
		Missing             int
		About               any
		Cells               []Result
	}{m.Name, m.Plan, m.Outcome, m.Missing, m.About, m.Cells}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, `"started"`) && !strings.Contains(line, `"took_s"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// fatal is a test, of testing or of rapid.
type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// whole runs a plan in one sitting.
func whole(t fatal, root string, p *Plan, s Shard, jobs int) (*Matrix, string) {
	t.Helper()
	st, err := Begin(root, p, s)
	if err != nil {
		t.Fatal(err)
	}
	st.journal.lax = true
	m, err := Runner{Jobs: jobs, Test: pretend}.Run(context.Background(), st)
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	return m, st.Dir
}

// TestInterruptedAndResumed: a matrix that is broken off at any moments, by Ctrl-C or as if
// the machine had died, and resumed each time, comes to the same as one that is not. No
// run that ended is run again, and none is lost.
func TestInterruptedAndResumed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, clean := tempDir(t)
		defer clean()
		p := plans(12).Draw(t, "plan")
		jobs := rapid.IntRange(1, 4).Draw(t, "jobs")
		want, _ := whole(t, filepath.Join(root, "a"), p, Shard{}, jobs)

		var ran sync.Map // runs that ended: how often
		sit, sittings := Begin, 0
		for {
			st, err := sit(filepath.Join(root, "b"), p, Shard{})
			if err != nil {
				t.Fatal(err)
			}
			st.journal.lax = true
			sit, sittings = Resume, sittings+1
			stopAt := int64(rapid.IntRange(1, max(1, len(p.Jobs()))).Draw(t, "stop at"))
			if sittings > 20 {
				stopAt = 1 << 40
			}
			ctx, stop := context.WithCancel(context.Background())
			var begun atomic.Int64
			m, err := Runner{Jobs: jobs, Test: func(ctx context.Context, o harness.Options) (harness.Outcome, error) {
				if begun.Add(1) == stopAt {
					stop()
				}
				if ctx.Err() != nil {
					return harness.Outcome{}, harness.ErrInterrupted
				}
				return pretend(ctx, o)
			}, Tell: func(r Told) {
				n, _ := ran.LoadOrStore(runID{r.Cell.ID(), r.Run.Seed}, new(atomic.Int64))
				n.(*atomic.Int64).Add(1)
			}}.Run(ctx, st)
			stop()
			if cerr := st.Close(); cerr != nil {
				t.Fatal(cerr)
			}
			if err == nil {
				if got, want := essence(t, m), essence(t, want); got != want {
					t.Fatalf("after %d sittings it comes to\n%s\nwant\n%s", sittings, got, want)
				}
				break
			}
			if !errors.Is(err, harness.ErrInterrupted) || m.Missing == 0 || m.Missing != st.Left() || len(m.Cells) != len(p.Rows) {
				t.Fatalf("broken off: %v, %d missing, %d left, %d cells", err, m.Missing, st.Left(), len(m.Cells))
			}
			if on, err := Read(st.Dir); err != nil || on.Missing != m.Missing {
				t.Fatalf("matrix.json of the broken-off matrix: %v, %v", on, err)
			}
			if rapid.Bool().Draw(t, "torn") {
				tear(t, filepath.Join(st.Dir, JournalFile), rapid.IntRange(1, 40).Draw(t, "bytes"))
			}
		}
		ended := 0
		ran.Range(func(id, n any) bool {
			if n := n.(*atomic.Int64).Load(); n != 1 {
				t.Fatalf("the run %v ended %d times", id, n)
			}
			ended++
			return true
		})
		if ended != len(p.Jobs()) {
			t.Fatalf("%d runs ended, want %d", ended, len(p.Jobs()))
		}
		if _, err := Resume(filepath.Join(root, "b"), p, Shard{}); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "finished") {
			t.Fatalf("a finished matrix is resumed: %v", err)
		}
	})
}

// tear leaves the beginning of one more line at the end of a journal.
func tear(t fatal, path string, n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if err := os.WriteFile(path, append(text, first[:min(n, len(first)-1)]...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tempDir(t fatal) (dir string, clean func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "picklock-matrix-")
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// TestResumeRefuses: only a matrix of the same plan and shard goes on, and only in one
// process at a time.
func TestResumeRefuses(t *testing.T) {
	const text = "name: m\ngroups:\n- {locks: [uuid-lua, setnx], nemeses: [none], seeds: 2}\n"
	p, q := mustPlan(t, text, Choices{}), mustPlan(t, text, Choices{Seeds: 3})
	root := filepath.Join(t.TempDir(), "a[b]*") // no pattern
	refused := func(p *Plan, s Shard, says string) {
		t.Helper()
		if st, err := Resume(root, p, s); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, %v; want wrong usage that says %q", st, err, says)
		}
	}
	refused(p, Shard{}, "no broken-off matrix m")
	st, err := Begin(root, p, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	refused(p, Shard{}, "another picklock")
	refused(q, Shard{}, "another plan")
	refused(p, Shard{1, 2}, "another plan or shard")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	// A newer one of another plan does not hide it.
	newer, err := Begin(root, q, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	if st, err = Resume(root, p, Shard{}); err != nil || st.Left() != 4 {
		t.Fatalf("%v, %v", st, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(st.Dir, JournalFile), []byte("{}\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(p, Shard{}, JournalFile)
	if _, err := Begin(filepath.Join(st.Dir, PlanFile), p, Shard{}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a store in a file: %v, want wrong usage", err)
	}
}

// TestNothingCanBeTested: where no test can begin at all, the matrix ends and says why, and
// counts no run as one in which picklock failed.
func TestNothingCanBeTested(t *testing.T) {
	p := mustPlan(t, "name: m\ngroups:\n- {locks: [uuid-lua, setnx], nemeses: [none], seeds: 9}\n", Choices{})
	st, err := Begin(t.TempDir(), p, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var begun atomic.Int64
	m, err := Runner{Jobs: 2, Test: func(ctx context.Context, o harness.Options) (harness.Outcome, error) {
		if begun.Add(1) == 3 {
			return harness.Outcome{}, misuse("start the topology: no Docker")
		}
		return pretend(ctx, o)
	}}.Run(t.Context(), st)
	if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "no Docker") || errors.Is(err, harness.ErrInterrupted) {
		t.Errorf("%v, want why nothing can be tested", err)
	}
	if m.Missing == 0 || begun.Load() > 5 {
		t.Errorf("%d runs missing, %d begun: want that it ends there", m.Missing, begun.Load())
	}
}

// TestOverriddenExpectation: the expectation of the file is what a run is judged by, and
// what its test keeps.
func TestOverriddenExpectation(t *testing.T) {
	for verdict, want := range map[string]Outcome{"valid": UnexpectedViolation, "violated": AsExpected, "either": AsExpected} {
		p := mustPlan(t, "name: m\ngroups:\n- {locks: [uuid-lua], nemeses: [none], expect: [{property: ownership, verdict: "+verdict+", why: because}]}\n", Choices{})
		st, err := Begin(t.TempDir(), p, Shard{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Runner{Jobs: 1, Test: func(_ context.Context, o harness.Options) (harness.Outcome, error) {
			return harness.Outcome{Result: &store.Result{Test: o.Test, Verdict: models.Violated,
				Properties: map[models.Property]*models.Judgement{models.Ownership: {Verdict: models.Violated}},
				Expected:   []store.Expected{{Property: string(models.Ownership), Expected: "valid"}}}}, nil
		}, Keep: func(out harness.Outcome) error {
			if e := out.Result.Expected[0]; e.Expected != verdict || e.Why != "because" || e.Met != (want == AsExpected) {
				t.Errorf("the test keeps %+v", e)
			}
			return nil
		}}.Run(t.Context(), st)
		if err := errors.Join(err, st.Close()); err != nil {
			t.Fatal(err)
		}
		if got := m.Cells[0].Runs[0].Properties[models.Ownership].Outcome; got != want {
			t.Errorf("violated, expected %s: %s, want %s", verdict, got, want)
		}
	}
}

// FuzzJournal: whatever a journal has in it, the sound part is one, and reading it again
// gives the same.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","sitting":4}` + "\n" + `{"at":"2026-01-02T03:04:05Z","cell":"a","run":{"seed":1}}` + "\n"))
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","sitting":4}` + "\n" + `{"at":"2026-`))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, sound, err := parseJournal(text)
		if err != nil {
			if !errors.Is(err, ErrDamaged) || sound != 0 || len(all) != 0 {
				t.Errorf("%v with %d entries, %d bytes", err, len(all), sound)
			}
			return
		}
		again, same, err := parseJournal(text[:sound])
		if err != nil || same != sound || len(again) != len(all) || len(all) != bytes.Count(text[:sound], []byte("\n")) {
			t.Errorf("the sound part of %d bytes reads as %d entries of %d bytes, %v; want %d", sound, len(again), same, err, len(all))
		}
	})
}
