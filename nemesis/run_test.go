package nemesis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/nemesis"
)

// fakeWorld plays clients and a node and writes down what is done to them.
type fakeWorld struct {
	did     []string
	holding []nemesis.Holding
	slips   int // how often the holder has released by the time it is stopped
	fail    map[string]error
	state   topology.State
	stuck   bool // the node does not change its state, whatever is done
}

func (w *fakeWorld) do(what string) error {
	w.did = append(w.did, what)
	return w.fail[what]
}

func (w *fakeWorld) Count() int { return 3 }

func (w *fakeWorld) Holders() ([]nemesis.Holding, error) {
	if len(w.did) > 0 && strings.HasPrefix(w.did[len(w.did)-1], "pause client") && w.slips > 0 {
		w.slips--
		return nil, nil
	}
	return w.holding, w.do("look")
}

func (w *fakeWorld) Pause(_ context.Context, c int) (string, error) {
	return "state T", w.do(fmt.Sprintf("pause client %d", c))
}

func (w *fakeWorld) Resume(_ context.Context, c int) (string, error) {
	return "state S", w.do(fmt.Sprintf("resume client %d", c))
}

func (w *fakeWorld) Kill(_ context.Context, c int, _ int64, _ string) (string, error) {
	return "ended", w.do(fmt.Sprintf("kill client %d", c))
}

func (w *fakeWorld) Restart(_ context.Context, c int) (string, error) {
	return "works again", w.do(fmt.Sprintf("restart client %d", c))
}

func (w *fakeWorld) Name() string                    { return "lock" }
func (w *fakeWorld) Addr() string                    { return "127.0.0.1:1" }
func (w *fakeWorld) Start(ctx context.Context) error { return w.node("start", topology.Running) }

func (w *fakeWorld) node(what string, to topology.State) error {
	if err := w.do(what + " node"); err != nil {
		return err
	}
	if !w.stuck {
		w.state = to
	}
	return nil
}

// fakeNode gives the world the node's methods whose names the clients' have too.
type fakeNode struct{ *fakeWorld }

func (n fakeNode) Pause(context.Context) error  { return n.node("pause", topology.Paused) }
func (n fakeNode) Resume(context.Context) error { return n.node("resume", topology.Running) }
func (n fakeNode) Kill(context.Context) error   { return n.node("kill", topology.Dead) }
func (n fakeNode) State(context.Context) (topology.State, string, error) {
	return n.state, "seen " + string(n.state), nil
}

// unleash runs one fault of the kind on the world and returns what the record says of it.
func unleash(t *testing.T, ctx context.Context, kind string, w *fakeWorld, lasts time.Duration) (faults []history.Fault, err error) {
	t.Helper()
	r := nemesis.Runner{
		World: nemesis.World{
			Clients: w, Nodes: []topology.Node{fakeNode{w}}, Moved: func(string, string) { w.did = append(w.did, "moved") },
			Seconds: func(ns int64) float64 { return float64(ns) / 1e9 },
		},
		Plan: []nemesis.Planned{{Kind: kind, For: lasts}},
		Log:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Record: func(e history.Event) {
			if e.Type == history.FaultStart || e.Type == history.FaultEnd {
				faults = append(faults, *e.Fault)
			}
		},
	}
	_, err = r.Run(ctx, history.Now(), history.Now()+int64(2*time.Hour))
	return faults, err
}

func holder() []nemesis.Holding {
	return []nemesis.Holding{{Client: 2, Worker: 1, Object: "lock:a", Grant: 7, Since: 1}}
}

func TestFaultsLandAndHeal(t *testing.T) {
	for _, c := range []struct {
		kind string
		did  []string
	}{
		{"pause-client", []string{"look", "pause client 2", "look", "resume client 2"}},
		{"kill-client", []string{"look", "pause client 2", "look", "kill client 2", "restart client 2"}},
		{"pause-node", []string{"pause node", "resume node", "moved"}},
		{"kill-node", []string{"kill node", "start node", "moved"}},
	} {
		w := &fakeWorld{holding: holder(), state: topology.Running}
		faults, err := unleash(t, context.Background(), c.kind, w, time.Millisecond)
		if err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
		if !slices.Equal(w.did, c.did) {
			t.Errorf("%s did %q, want %q", c.kind, w.did, c.did)
		}
		if len(faults) != 2 || !faults[1].Landed || faults[1].Proof == "" || faults[1].Healed == "" || faults[1].End < faults[1].Start+int64(time.Millisecond) {
			t.Errorf("%s is on record as %+v; want a start and an end with both proofs", c.kind, faults)
		}
	}
}

func TestHolderThatSlipsAwayIsLetGo(t *testing.T) {
	w := &fakeWorld{holding: holder(), slips: 2}
	faults, err := unleash(t, context.Background(), "pause-client", w, time.Millisecond)
	if err != nil || len(faults) != 2 || !faults[1].Landed {
		t.Fatalf("error %v, faults %+v; want one that landed on the third try", err, faults)
	}
	if n := count(w.did, "pause client 2"); n != 3 || count(w.did, "resume client 2") != 3 {
		t.Errorf("it did %q: each stop in vain must be undone", w.did)
	}
}

func TestNoHolderIsNoFault(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // instead of waiting for the whole search
	w := &fakeWorld{}
	if faults, err := unleash(t, ctx, "kill-client", w, 0); err != nil || len(faults) != 0 {
		t.Errorf("error %v, faults %+v; nothing was done, so nothing must be on record", err, faults)
	}
}

func TestFaultWithoutEffectIsOnRecordAsSuch(t *testing.T) {
	for _, kind := range []string{"pause-node", "kill-node"} {
		w := &fakeWorld{state: topology.Running, stuck: true}
		faults, _ := unleash(t, context.Background(), kind, w, time.Millisecond)
		if len(faults) != 2 || faults[0].Landed || faults[1].Landed || faults[0].Error == "" {
			t.Errorf("%s had no effect and is on record as %+v; a fault without proof did not land", kind, faults)
		}
	}
}

func TestHealedWhenTheTestIsBrokenOff(t *testing.T) {
	for kind, heal := range map[string]string{
		"pause-client": "resume client 2", "kill-client": "restart client 2", "pause-node": "resume node", "kill-node": "start node",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		w := &fakeWorld{holding: holder(), state: topology.Running}
		began := time.Now()
		_, err := unleash(t, ctx, kind, w, time.Hour)
		cancel()
		if err != nil || count(w.did, heal) != 1 || time.Since(began) > 10*time.Second {
			t.Errorf("%s, broken off: error %v, did %q in %s; want it healed at once", kind, err, w.did, time.Since(began))
		}
	}
}

func TestHealingThatFailsIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for kind, heal := range map[string]string{"pause-client": "resume client 2", "kill-node": "start node"} {
		w := &fakeWorld{holding: holder(), state: topology.Running, fail: map[string]error{heal: broken}}
		faults, err := unleash(t, context.Background(), kind, w, 0)
		if !errors.Is(err, broken) || len(faults) != 2 || faults[1].End != 0 {
			t.Errorf("%s: error %v, record %+v; want the error, and a fault without an end", kind, err, faults)
		}
	}
}

func TestFaultIsLeftOutBeforeTheTail(t *testing.T) {
	w := &fakeWorld{state: topology.Running}
	r := nemesis.Runner{
		World: nemesis.World{Nodes: []topology.Node{fakeNode{w}}}, Plan: []nemesis.Planned{{Kind: "kill-node", For: time.Second}},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Record: func(history.Event) { t.Error("something is on record") },
	}
	if _, err := r.Run(context.Background(), history.Now(), history.Now()+int64(time.Millisecond)); err != nil || len(w.did) > 0 {
		t.Errorf("error %v, did %q; a fault that would reach into the tail must not begin", err, w.did)
	}
}

func TestQuietTimeBetweenFaultsIsKept(t *testing.T) {
	const gap = 40 * time.Millisecond
	w := &fakeWorld{state: topology.Running}
	var faults []history.Fault
	slow := time.Now().Add(60 * time.Millisecond)
	r := nemesis.Runner{
		World: nemesis.World{Nodes: []topology.Node{slowNode{fakeNode{w}, slow}}, Moved: func(string, string) {}},
		Plan: []nemesis.Planned{{Kind: "kill-node", At: 0, For: time.Millisecond},
			{Kind: "kill-node", At: time.Millisecond + gap, For: time.Millisecond}},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Record: func(e history.Event) {
			if e.Type == history.FaultEnd {
				faults = append(faults, *e.Fault)
			}
		},
	}
	if _, err := r.Run(context.Background(), history.Now(), history.Now()+int64(time.Minute)); err != nil || len(faults) != 2 {
		t.Fatalf("error %v, faults %+v", err, faults)
	}
	if quiet := time.Duration(faults[1].Start - faults[0].End); quiet < gap {
		t.Errorf("the second fault came %s after the first, which was late; planned were %s", quiet, gap)
	}
}

// slowNode takes its time to start.
type slowNode struct {
	fakeNode
	until time.Time
}

func (n slowNode) Start(ctx context.Context) error {
	<-time.After(time.Until(n.until))
	return n.fakeNode.Start(ctx)
}

func count(all []string, s string) (n int) {
	for _, x := range all {
		if x == s {
			n++
		}
	}
	return n
}
