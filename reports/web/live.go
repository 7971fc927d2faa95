package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"picklock/harness/follow"
	"picklock/harness/matrix"
	"picklock/harness/store"
)

// liveFile is, below the page of what is running, how it goes: small, asked for every second.
const liveFile = "live.json"

// How often what is running is looked at, however many watch; how many are followed at once;
// and how long after the last who watched.
const (
	lookEvery  = 500 * time.Millisecond
	followMost = 16
	followFor  = time.Minute
)

// looker is what package follow has.
type looker[S any] interface {
	Look() (S, error)
	Close() error
}

// followers follow what is watched, each once.
type followers[S any] struct {
	now  func() time.Time
	open func(path string) (looker[S], error)
	mu   sync.Mutex
	all  map[string]*follower[S]
}

type follower[S any] struct {
	used time.Time // guarded by followers.mu

	mu     sync.Mutex
	look   looker[S]
	at     time.Time
	last   S
	err    error
	closed bool
}

// get tells how that at path goes, as of half a second ago at most.
func (f *followers[S]) get(path string) (S, error) {
	w, dropped, err := f.find(path)
	for _, d := range dropped {
		_ = d.close() // it was only read
	}
	if err != nil {
		var none S
		return none, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := f.now(); !w.closed && (w.at.IsZero() || now.Sub(w.at) >= lookEvery) {
		w.last, w.err = w.look.Look()
		w.at = f.now()
	}
	return w.last, w.err
}

// find gives the follower of path, and those that nobody needs any more, to be closed.
func (f *followers[S]) find(path string) (w *follower[S], dropped []*follower[S], err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	oldest := ""
	for p, x := range f.all {
		if p == path {
			continue
		}
		if now.Sub(x.used) > followFor {
			dropped = append(dropped, x)
			delete(f.all, p)
		} else if oldest == "" || x.used.Before(f.all[oldest].used) {
			oldest = p
		}
	}
	if w = f.all[path]; w == nil {
		look, err := f.open(path)
		if err != nil {
			return nil, dropped, err
		}
		if len(f.all) >= followMost {
			dropped = append(dropped, f.all[oldest])
			delete(f.all, oldest)
		}
		if f.all == nil {
			f.all = map[string]*follower[S]{}
		}
		w = &follower[S]{look: look}
		f.all[path] = w
	}
	w.used = now
	return w, dropped, nil
}

func (w *follower[S]) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.look.Close()
}

func (f *followers[S]) close() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.all {
		if e := w.close(); err == nil {
			err = e
		}
	}
	clear(f.all)
	return err
}

func (h *Handler) follow(path string) (looker[follow.State], error) {
	folder, err := h.root.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return follow.Open(store.Dir(filepath.Join(h.dir, filepath.FromSlash(path))), folder), nil
}

func (h *Handler) followMatrix(path string) (looker[follow.MatrixState], error) {
	folder, err := h.root.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return follow.OpenMatrix(folder), nil
}

// liveView is how something goes, ready to be shown: a page's script replaces what the page
// showed first by what it asks for later.
type liveView struct {
	Address string            `json:"-"`
	Over    bool              `json:"over"` // the page shows more by now
	Fields  map[string]string `json:"fields"`
	Faults  []string          `json:"faults,omitempty"`
	Log     []string          `json:"log,omitempty"`
	Line    string            `json:"line,omitempty"` // points of the operations per second, in a box of 600 × 60
	Share   float64           `json:"share"`          // that is done, 0 to 1
}

func viewLive(s *follow.State, address string) *liveView {
	v := &liveView{Address: address, Over: s.Over(), Fields: map[string]string{
		"phase": s.Phase, "elapsed": clock(s.Elapsed), "limit": clock(s.Limit), "rate": number(s.PerSecond),
		"operations": thousands(s.Operations), "violations": thousands(s.Violations), "fault": s.Working(),
	}}
	if v.Fields["fault"] == "" {
		v.Fields["fault"] = "none"
	}
	if s.Behind > 0 {
		v.Fields["phase"] += fmt.Sprintf(" (%d MB to go)", s.Behind>>20)
	}
	for _, f := range slices.Backward(s.Faults) {
		text := fmt.Sprintf("%.1f s: %s on %s", f.FromS, f.Kind, f.Target)
		switch {
		case f.ToS > 0:
			text += fmt.Sprintf(", until %.1f s", f.ToS)
		case !s.Ended:
			text += ", works now"
		}
		if !f.Landed {
			text += ", not proven to have landed"
		}
		v.Faults = append(v.Faults, clip(text, 200))
		if len(v.Faults) == 20 {
			break
		}
	}
	for _, line := range s.Log {
		v.Log = append(v.Log, clip(line, 300))
	}
	if s.Limit > 0 {
		v.Share = min(1, s.Elapsed.Seconds()/s.Limit.Seconds())
	}
	v.Line = polyline(s.Seconds)
	return v
}

// polyline draws figures into a box of 600 × 60.
func polyline(all []int) string {
	if len(all) < 2 {
		return ""
	}
	top := max(1, slices.Max(all))
	var b strings.Builder
	for i, n := range all {
		fmt.Fprintf(&b, "%.1f,%.1f ", float64(i)*600/float64(len(all)-1), 58-float64(n)*56/float64(top))
	}
	return strings.TrimSpace(b.String())
}

func (h *Handler) testLive(w http.ResponseWriter, _ *http.Request, name, start string) error {
	e, err := h.entry(name, start)
	if err != nil {
		return err
	}
	whole := h.reported(e.Path)
	if e.State != store.Running && whole {
		return sendJSON(w, &liveView{Over: true, Fields: map[string]string{"phase": string(e.State)}})
	}
	s, err := h.running.get(e.Path)
	if err != nil {
		return err
	}
	v := viewLive(&s, "")
	if v.Over && !whole {
		v.Over, v.Fields["phase"] = false, "writing the report"
	}
	return sendJSON(w, v)
}

// reportWithin is how long after the verdict a report may be awaited: not all tests get one.
const reportWithin = 15 * time.Second

// reported says that a test has its report, or will not get one. The verdict is there a
// moment before: who follows the test is led to both.
func (h *Handler) reported(path string) bool {
	verdict, err := h.root.Stat(path + "/" + store.ResultFile)
	if err != nil || h.now().Sub(verdict.ModTime()) > reportWithin {
		return true
	}
	_, err = h.root.Stat(path + "/" + store.ReportFile)
	return err == nil
}

func viewMatrixLive(s *follow.MatrixState, address string) *liveView {
	v := &liveView{Address: address, Over: s.Over(), Fields: map[string]string{
		"phase": "running", "done": thousands(s.Done), "total": thousands(s.Total), "counts": outcomes(s.Counts),
	}}
	if s.Still {
		v.Fields["phase"] = "no run has ended for some minutes"
	}
	if s.Whole {
		v.Fields["phase"] = "over"
	}
	if s.Total > 0 {
		v.Share = min(1, float64(s.Done)/float64(s.Total))
	}
	for _, r := range s.Last {
		v.Log = append(v.Log, clip(fmt.Sprintf("%s  %s %s, seed %d: %s", when(r.Ended), markOfOutcome(r.Outcome).Sign, r.Cell, r.Seed, r.Outcome), 300))
	}
	return v
}

// outcomes sums up: "12 as expected, 1 vacuous".
func outcomes(n map[matrix.Outcome]int) string {
	var parts []string
	for _, o := range matrix.Outcomes {
		if n[o] > 0 {
			parts = append(parts, thousands(n[o])+" "+string(o))
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

func (h *Handler) matrixLive(w http.ResponseWriter, _ *http.Request, name, start string) error {
	if err := h.isOurs([]string{matrix.Folder, name, start}); err != nil {
		return err
	}
	s, err := h.ongoing.get(matrix.Folder + "/" + name + "/" + start)
	if err != nil {
		return err
	}
	return sendJSON(w, viewMatrixLive(&s, ""))
}

func sendJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	send(w, http.StatusOK, b)
	return nil
}
