package historytest

import (
	"os"
	"path/filepath"
	"testing"

	"picklock/harness/history"
)

// Lines gives events in the form of a history file.
func Lines(tb testing.TB, events ...history.Event) []byte {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range events {
		w.Append(&events[i])
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
