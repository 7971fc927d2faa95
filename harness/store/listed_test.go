package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/harness/store"
	"picklock/models"
)

// morning is when the tests of a store begin that a test makes.
var morning = time.Date(2026, 1, 31, 6, 0, 0, 0, time.UTC)

// failer is what the helpers need of a test; rapid's tests have it as well.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// made describes a stored test to be made.
type made struct {
	lock, fault string
	after       time.Duration // started so long after morning
	verdict     models.Verdict
	vacuous     bool
	bulk        int // bytes of a log
}

// put makes a stored test. Without a verdict it was not judged.
func put(t failer, root string, m made) store.Dir {
	t.Helper()
	var nemesis []string
	if m.fault != "" {
		nemesis = strings.Split(m.fault, "+")
	}
	what := &store.Test{Run: fmt.Sprint(m.lock, m.after), Started: morning.Add(m.after), Lock: m.lock, Deduct: "read-write", Topology: "single",
		Nemesis: nemesis, Seed: uint64(m.after), Server: "redis:7.0", Runtime: "process", Name: store.TestName(m.lock, "read-write", "single", nemesis)}
	d, err := store.Create(root, what)
	if err != nil {
		t.Fatal(err)
	}
	if m.bulk > 0 {
		write(t, d.Path(store.NodeLogs, "lock.log"), strings.Repeat("x", m.bulk))
	}
	if m.verdict == "" {
		return d
	}
	r := &store.Result{Verdict: m.verdict, Vacuous: m.vacuous, Test: *what, Properties: map[models.Property]*models.Judgement{
		models.Liveness: {Verdict: models.Valid}, models.MutualExclusion: {Verdict: m.verdict, Violations: story(m.verdict)},
	}, Expected: []store.Expected{{Property: "liveness", Expected: "valid", Met: true}, {Property: "mutual-exclusion", Expected: "valid", Met: m.verdict == models.Valid}}}
	r.Measures.DurationS = 12.5
	if err := d.WriteResult(r); err != nil {
		t.Fatal(err)
	}
	return d
}

// story is a violation of the size that they have.
func story(v models.Verdict) []models.Violation {
	if v != models.Violated {
		return nil
	}
	var all []models.Violation
	for i := range 10 {
		all = append(all, models.Violation{Kind: "overlap", Operations: []int64{1, 2}, Story: []string{
			strings.Repeat(fmt.Sprintf("client %d enters; ", i), 20), strings.Repeat("another one enters as well; ", 20)}})
	}
	return all
}

func write(t failer, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// many makes n stored tests of 50 names, one in four violated.
func many(t failer, root string, n int) {
	t.Helper()
	for i := range n {
		m := made{lock: fmt.Sprintf("lock-%d", i%50), fault: "pause-client", after: time.Duration(i) * time.Second, verdict: models.Valid}
		if i%4 == 0 {
			m.verdict = models.Violated
		}
		d := put(t, root, m)
		for j := range 3 {
			write(t, d.Path(store.NodeLogs, fmt.Sprintf("n-%d.log", j)), "ready\n")
		}
	}
}

// BenchmarkList lists 10,000 stored tests: from their summaries, from their results (as of
// an older version, whose folders have no summary), again and again by one Lister, and with
// the sizes of all folders.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	many(b, root, 10_000)
	list := func(b *testing.B, l func() ([]store.Entry, error)) {
		for b.Loop() {
			got, err := l()
			if err != nil || len(got) != 10_000 {
				b.Fatalf("%d tests, %v", len(got), err)
			}
		}
	}
	kept := store.NewLister(root)
	b.Run("summaries", func(b *testing.B) {
		list(b, func() ([]store.Entry, error) { return store.List(root, store.Options{}) })
	})
	b.Run("lister", func(b *testing.B) {
		list(b, func() ([]store.Entry, error) { return kept.List(store.Options{}) })
	})
	b.Run("sizes", func(b *testing.B) {
		list(b, func() ([]store.Entry, error) { return store.List(root, store.Options{Use: true}) })
	})
	b.Run("plan", func(b *testing.B) {
		keep := 5
		for b.Loop() {
			if _, err := store.PlanPrune(root, store.Policy{Keep: &keep}, morning); err != nil {
				b.Fatal(err)
			}
		}
	})
	summaries, err := filepath.Glob(filepath.Join(root, "*", "*", "summary.json"))
	if err != nil || len(summaries) != 10_000 {
		b.Fatalf("%d summaries, %v", len(summaries), err)
	}
	for _, s := range summaries {
		if err := os.Remove(s); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("results", func(b *testing.B) {
		list(b, func() ([]store.Entry, error) { return store.List(root, store.Options{}) })
	})
}
