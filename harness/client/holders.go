package client

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"picklock/harness/history"
)

// Holding says that a worker's last recorded event is a grant without a release: it is
// in the section.
type Holding struct {
	Client, Worker int
	Object         string // the lock's name
	Grant          int64  // ID of the acquire
	Since          int64  // ns: the acquire returned
}

// holders follows the record and knows who is in a section. Its methods may be called
// from several goroutines.
type holders struct {
	mu     sync.Mutex
	epochs map[[2]int]int // client, worker → highest process of its ids
	open   map[[2]int]Holding
	wait   map[[2]int]Holding // who has invoked an acquire that has not returned
	told   map[string]string  // orders that were confirmed, with the client's words
	up     map[[2]int]int     // client, worker → lives that reported to be ready
}

func newHolders() *holders {
	return &holders{epochs: map[[2]int]int{}, open: map[[2]int]Holding{}, wait: map[[2]int]Holding{}, told: map[string]string{}, up: map[[2]int]int{}}
}

// see takes the next event of the record.
func (h *holders) see(cfg Config, e *history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := [2]int{e.Client, e.Worker}
	switch e.Type {
	case history.Invoke, history.OK, history.Fail, history.Info:
		h.epochs[key] = max(h.epochs[key], cfg.epochOf(e.Process)+1)
		h.operation(key, e)
	case history.ClientUp:
		h.epochs[key] = max(h.epochs[key], cfg.epochOf(e.Process)+1)
		h.up[key]++
	case history.Lost:
		if h.open[key].Grant == e.Grant {
			delete(h.open, key)
		}
	case history.ClientTold:
		if order, words, ok := strings.Cut(e.Note, ": "); ok {
			h.told[order] = words
		}
	case history.ClientDeath, history.ClientDown:
		gone := func(k [2]int, _ Holding) bool { return k[0] == e.Client }
		maps.DeleteFunc(h.open, gone)
		maps.DeleteFunc(h.wait, gone)
	}
}

func (h *holders) operation(key [2]int, e *history.Event) {
	if e.Op == history.Acquire && e.Grant == 0 {
		if e.Type == history.Invoke {
			h.wait[key] = Holding{Client: e.Client, Worker: e.Worker, Object: e.Object, Grant: e.ID, Since: e.Time}
		} else {
			delete(h.wait, key)
		}
	}
	switch {
	case e.Op == history.Acquire && e.Type == history.OK && e.Belief == "" && e.Grant == 0:
		h.open[key] = Holding{Client: e.Client, Worker: e.Worker, Object: e.Object, Grant: e.ID, Since: e.Time}
	case e.Op == history.Release && e.Type == history.Invoke && h.open[key].Grant == e.Grant:
		delete(h.open, key)
	}
}

// now lists the holdings, the longest first.
func (h *holders) now() []Holding { return h.sorted(h.open) }

// waiting lists who waits for a lock, the longest first; Since is when they began.
func (h *holders) waiting() []Holding { return h.sorted(h.wait) }

func (h *holders) sorted(m map[[2]int]Holding) []Holding {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(m), func(a, b Holding) int { return cmp.Compare(a.Since, b.Since) })
}

// confirmed tells what the client said when it had carried out the order.
func (h *holders) confirmed(order string) (words string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	words, ok = h.told[order]
	return words, ok
}

// ready is how many lives of the client reported all workers ready.
func (h *holders) ready(client, workers int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	least := h.up[[2]int{client, 0}]
	for w := range workers {
		least = min(least, h.up[[2]int{client, w}])
	}
	return least
}

// next are the first unused epochs of the client's workers.
func (h *holders) next(client, workers int) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]int, workers)
	for w := range out {
		out[w] = h.epochs[[2]int{client, w}]
	}
	return out
}
