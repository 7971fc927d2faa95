package nemesis_test

import (
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/nemesis"
)

// TestEnd: the fault that works is healed at once, the one whose time has not come and the
// one that finds no target are left out, and Run returns long before its deadline.
func TestEnd(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	r, rec := runner(w, nemesis.Planned{Kind: "pause-client", For: time.Hour}, nemesis.Planned{Kind: "kill-client", At: time.Hour})
	r.Overlap = true
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(t.Context(), history.Now(), history.Now()+int64(3*time.Hour))
		ended <- err
	}()
	for clients.count("pause client 2") == 0 {
		time.Sleep(time.Millisecond)
	}
	r.End()
	r.End()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on after its end")
	}
	if len(rec.faults) != 2 || !rec.faults[1].Landed || rec.faults[1].Healed == "" || rec.faults[1].Error != "" {
		t.Errorf("on record are %+v, want one fault that landed and was healed", rec.faults)
	}
	if clients.count("resume client 2") != 1 || clients.count("kill client 2") != 0 {
		t.Errorf("it did %q, want the pause undone and nothing else", clients.all())
	}
}

func TestEndOfASearch(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	clients.hold() // nobody
	r, rec := runner(w, nemesis.Planned{Kind: "kill-client"})
	time.AfterFunc(50*time.Millisecond, r.End)
	began := time.Now()
	if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(time.Hour)); err != nil || len(rec.faults) != 0 {
		t.Errorf("error %v, faults %+v; nothing was done, so nothing must be on record", err, rec.faults)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the search went on for %s", took)
	}
}
