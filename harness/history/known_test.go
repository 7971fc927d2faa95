package history_test

import (
	"os"
	"path/filepath"
	"testing"

	"picklock/harness/history"
)

// recording is a collector with the journals of some workers, a client each.
type recording struct {
	t         *testing.T
	collector *history.Collector
	journals  []*history.Journal
}

func newRecording(t *testing.T, workers int) *recording {
	t.Helper()
	dir := t.TempDir()
	w, err := history.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{t: t, collector: history.NewCollector(filepath.Join(dir, "journals"), w, nil)}
	if err := os.Mkdir(filepath.Join(dir, "journals"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		j, err := history.CreateJournal(filepath.Join(dir, "journals", string(rune('a'+i))+".journal"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = j.Close() })
		r.journals = append(r.journals, j)
	}
	t.Cleanup(func() { _ = r.collector.Finish(history.Event{Type: history.End}) })
	return r
}

func (r *recording) write(worker int, events ...history.Event) {
	r.t.Helper()
	for _, e := range events {
		e.Client = worker
		if err := r.journals[worker].Append(&e); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *recording) known(until int64) *history.History {
	r.t.Helper()
	h, err := r.collector.Known(until)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

func mark(at int64) history.Event {
	return history.Event{Time: at, Type: history.ClientTold, Note: history.Mark}
}

func invoke(at, id int64, op history.Op, grant int64) history.Event {
	return history.Event{Time: at, Type: history.Invoke, Op: op, ID: id, Grant: grant, Object: "lock"}
}

func done(at, id int64, op history.Op, grant int64) history.Event {
	e := invoke(at, id, op, grant)
	e.Type = history.OK
	return e
}

// TestKnownWaitsForTheStopped: a worker that was stopped between reading the clock and
// committing its release makes its hold look open, while another's has begun. Nothing of
// that time may be believed before the worker has vouched for it.
func TestKnownWaitsForTheStopped(t *testing.T) {
	r := newRecording(t, 2)
	r.write(0, invoke(10, 1, history.Acquire, 0), done(20, 1, history.Acquire, 0), mark(30))
	r.write(1, invoke(15, 2, history.Acquire, 0), done(60, 2, history.Acquire, 0), mark(70))
	h := r.known(1000)
	if h.End != 30 {
		t.Fatalf("it is known up to %d, want 30: worker 0 vouches for no more", h.End)
	}
	if len(h.Operations) != 2 || h.Operations[0].Return != 20 || h.Operations[1].Return != history.Never || h.Operations[1].Outcome != history.OutcomeInfo {
		t.Errorf("got %+v, want the first grant, and the second acquire still under way", h.Operations)
	}
	r.write(0, invoke(50, 3, history.Release, 1), mark(80)) // it goes on: it had released before the other was granted
	if h = r.known(1000); h.End != 70 || len(h.Operations) != 3 || h.Operations[1].Return != 60 || h.Operations[2].Invoke != 50 {
		t.Errorf("up to %d got %+v, want up to 70 with the release at 50", h.End, h.Operations)
	}
	if h = r.known(55); h.End != 55 || h.Operations[1].Return != history.Never {
		t.Errorf("asked for 55, got up to %d: %+v", h.End, h.Operations)
	}
}

// TestKnownGoesOnWithoutTheDead: a dead worker marks nothing any more, and need not.
func TestKnownGoesOnWithoutTheDead(t *testing.T) {
	r := newRecording(t, 2)
	r.write(0, invoke(10, 1, history.Acquire, 0), mark(20))
	if h := r.known(1000); h.End != 0 {
		t.Errorf("it is known up to %d, want nothing: worker 1 has vouched for nothing", h.End)
	}
	r.write(1, mark(90))
	r.write(0, done(40, 1, history.Acquire, 0))
	if h := r.known(1000); h.End != 20 {
		t.Errorf("it is known up to %d, want 20", h.End)
	}
	r.collector.Record(history.Event{Time: 45, Type: history.ClientDeath, Client: 0, Worker: -1, Process: -1})
	h := r.known(1000)
	if h.End != 90 || h.Operations[0].Return != 40 || len(h.Deaths) != 1 {
		t.Errorf("up to %d got %+v and %v, want all that the dead had written, up to 90", h.End, h.Operations, h.Deaths)
	}
}

// TestAtCutsTheLedger: it ends with the last write of what had ended, so that each completed
// sale has its entry, and nothing is taken for written that may have come later.
func TestAtCutsTheLedger(t *testing.T) {
	entry := func(seq, op int64) history.Event {
		return history.Event{Time: 900, Type: history.LedgerEntry, Object: "sku", Ledger: &history.Ledger{Seq: seq, Op: op}}
	}
	h, err := history.Assemble([]history.Event{
		invoke(10, 1, history.Deduct, 0), done(20, 1, history.Deduct, 0),
		invoke(30, 2, history.Deduct, 0), done(60, 2, history.Deduct, 0),
		invoke(50, 3, history.Deduct, 0), done(55, 3, history.Deduct, 0),
		entry(0, 1), entry(1, 3), entry(2, 2),
		{Time: 5, Type: history.FaultStart, Fault: &history.Fault{N: 1, Start: 5}},
		{Time: 45, Type: history.FaultEnd, Fault: &history.Fault{N: 1, Start: 5, End: 45, Healed: "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at                int64
		operations, lines int
		healed            bool
	}{{15, 1, 0, false}, {40, 2, 1, false}, {50, 2, 1, true}, {51, 3, 1, true}, {56, 3, 2, true}, {61, 3, 3, true}} {
		cut := h.At(c.at)
		if len(cut.Operations) != c.operations || len(cut.Ledger) != c.lines || (cut.Faults[0].End != 0) != c.healed {
			t.Errorf("at %d: %d operations, %d ledger lines, fault %+v; want %+v", c.at, len(cut.Operations), len(cut.Ledger), cut.Faults[0], c)
		}
	}
	if len(h.Ledger) != 3 || h.Faults[0].End != 45 || h.Operations[1].Return != 60 {
		t.Error("the history that was cut has changed")
	}
}
