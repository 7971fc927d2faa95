package history_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"picklock/harness/history"
)

const writeForever = "PICKLOCK_TEST_WRITE_JOURNAL"

// TestMain lets this binary play a worker that writes until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(writeForever); path != "" {
		j, err := history.CreateJournal(path)
		for i := int64(1); err == nil; i++ {
			err = j.Append(&history.Event{Time: i, Type: history.Info, ID: i, Error: strings.Repeat("x", int(i%300))})
			if i == 20_000 {
				fmt.Println("many")
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func follow(t *testing.T, path string) []history.Event {
	t.Helper()
	f, err := history.Follow(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []history.Event
	if err := f.Next(func(e *history.Event, _ []byte) error { all = append(all, *e); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestJournalAcrossWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, err := history.CreateJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	const n = 30_000 // some 4 MB: lines lie across the ends of windows
	for i := range int64(n) {
		e := history.Event{Time: i, Type: history.Info, ID: i + 1, Error: strings.Repeat("x", int(i%300))}
		if err := j.Append(&e); err != nil {
			t.Fatal(err)
		}
	}
	all := follow(t, path)
	if len(all) != n {
		t.Fatalf("got %d events, want %d", len(all), n)
	}
	for i, e := range all {
		if e.Time != int64(i) || len(e.Error) != i%300 {
			t.Fatalf("event %d came as %+v", i, e)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestJournalSurvivesSIGKILL kills a writer at full speed: what it had committed reads
// without a gap and without a torn line.
func TestJournalSurvivesSIGKILL(t *testing.T) {
	for round := range 10 {
		path := filepath.Join(t.TempDir(), "a.journal")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writeForever+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscanln(out, new(string)); err != nil {
			t.Fatalf("the writer did not get going: %v", err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the writer ended well although it was killed")
		}
		all := follow(t, path)
		if len(all) < 20_000 {
			t.Fatalf("round %d: %d events were kept, but 20000 had been committed", round, len(all))
		}
		for i, e := range all {
			if e.ID != int64(i+1) {
				t.Fatalf("round %d: event %d has id %d: there is a gap", round, i, e.ID)
			}
		}
	}
}

func TestFollowRefusesOtherFiles(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "short": "x", "long": strings.Repeat("x", 5000)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := history.Follow(path); !errors.Is(err, history.ErrNoJournal) {
			t.Errorf("%s file: %v; want ErrNoJournal", name, err)
		}
	}
}

func TestCollectorGathers(t *testing.T) {
	dir := t.TempDir()
	journals := filepath.Join(dir, "journal")
	if err := os.Mkdir(journals, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	c := history.NewCollector(journals, w, func(*history.Event) { seen++ })
	start := history.Now()
	c.Record(history.Event{Time: start, Type: history.Begin})
	for worker := range 3 {
		j, err := history.CreateJournal(filepath.Join(journals, fmt.Sprintf("%d.journal", worker)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(100) {
			id := int64(worker)*1000 + i + 1
			for _, e := range []history.Event{
				{Time: start + 2*i, Type: history.Invoke, Op: history.Acquire, ID: id, Worker: worker},
				{Time: start + 2*i + 1, Type: history.OK, Op: history.Acquire, ID: id, Worker: worker},
			} {
				if err := j.Append(&e); err != nil {
					t.Fatal(err)
				}
			}
			if i == 50 {
				if err := c.Poll(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// As if the harness died here: the file has a part, the journals have it all.
	h, err := history.Load(filepath.Join(dir, "history.jsonl"), journals)
	if err != nil {
		t.Fatal(err)
	}
	if h.Complete || h.Broken == "" {
		t.Error("a history without its closing event was taken for a whole one")
	}
	if len(h.Operations) != 300 {
		t.Errorf("salvaged %d operations, want 300", len(h.Operations))
	}
	if err := c.Finish(history.Event{Time: history.Now(), Type: history.End}); err != nil {
		t.Fatal(err)
	}
	if seen != 602 {
		t.Errorf("the watcher saw %d events, want each of 602 once", seen)
	}
	h, err = history.Load(filepath.Join(dir, "history.jsonl"), journals)
	if err != nil {
		t.Fatal(err)
	}
	if !h.Complete || len(h.Operations) != 300 {
		t.Errorf("complete %v with %d operations, want true with 300", h.Complete, len(h.Operations))
	}
	if _, err := os.Stat(journals); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journals are still there: %v", err)
	}
}

func BenchmarkRecord(b *testing.B) {
	j, err := history.CreateJournal(filepath.Join(b.TempDir(), "a.journal"))
	if err != nil {
		b.Fatal(err)
	}
	e := history.Event{Type: history.OK, Op: history.Acquire, ID: 17_000_005, Process: 17, Client: 3, Worker: 1,
		Object: "lock:sku-0", Token: "1b4e28ba-2fa1-11d2-883f-0016d3cca427", From: 1, Validity: 1_000_000_000, Attempts: 1}
	for b.Loop() {
		e.Time = history.Now()
		e.From = e.Time
		if err := j.Append(&e); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
}
