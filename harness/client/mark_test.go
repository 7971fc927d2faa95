package client

import (
	"sync"
	"testing"

	"picklock/harness/history"
)

// TestMarksVouch: whatever stands behind a mark in the journal is not earlier than the mark,
// though operations and renewals go on beside it.
func TestMarksVouch(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Clients: 1, Workers: 1, Journal: dir, Epochs: []int{0}}
	r, err := newRecorder(cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	over := make(chan struct{})
	for _, op := range []history.Op{history.Acquire, history.Extend} {
		all.Go(func() {
			for range 20_000 {
				e := r.invoke(op, "lock", 0)
				e.Type = history.OK
				r.complete(e)
			}
		})
	}
	marking := make(chan struct{})
	go func() {
		defer close(marking)
		for {
			select {
			case <-over:
				return
			default:
				r.mark()
			}
		}
	}()
	all.Wait()
	close(over)
	<-marking
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	f, err := history.Follow(cfg.journal(0))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	marks, vouched := 0, int64(0)
	err = f.Next(func(e *history.Event, _ []byte) error {
		if e.Time < vouched {
			t.Errorf("%s of %s at %d stands behind a mark of %d", e.Type, e.Op, e.Time, vouched)
		}
		if e.Note == history.Mark {
			marks, vouched = marks+1, e.Time
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if marks == 0 {
		t.Error("there was no mark: the test proves nothing")
	}
}
