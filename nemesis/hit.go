package nemesis

import (
	"sync"

	"picklock/nemesis/wire"
)

// Hit is a frame that a trigger holds on the wire. A fault that is triggered acts on its
// client or node and may decide what becomes of the frame; the first decision counts.
// If it decides nothing, the frame goes on once the fault has landed. The methods of a
// nil Hit (of a fault that was scheduled) do nothing.
type Hit struct {
	wire.Frame // Raw is a copy

	mu      sync.Mutex
	held    bool
	action  wire.Action
	done    bool
	decided chan struct{} // closed by the decision
}

func newHit(f wire.Frame) *Hit {
	f.Raw = append([]byte(nil), f.Raw...)
	return &Hit{Frame: f, decided: make(chan struct{})}
}

// Go lets the frame go on.
func (h *Hit) Go() { h.decide(wire.Forward) }

// Drop swallows the frame, as wire.Discard does.
func (h *Hit) Drop() { h.decide(wire.Discard) }

// Reset swallows the frame and resets its connection: its bytes were never sent.
func (h *Hit) Reset() { h.decide(wire.Reset) }

// Hold keeps the frame until the fault is undone (after Recover), if nothing is decided
// before.
func (h *Hit) Hold() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = true
}

// landed lets the frame go on unless it is to be held longer.
func (h *Hit) landed() {
	if h == nil {
		return
	}
	h.mu.Lock()
	held := h.held
	h.mu.Unlock()
	if !held {
		h.Go()
	}
}

func (h *Hit) decide(a wire.Action) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.done {
		h.done, h.action = true, a
		close(h.decided)
	}
}
