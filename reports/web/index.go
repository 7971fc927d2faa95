package web

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"picklock/harness/store"
)

// How old what is shown may become. To list 10,000 tests takes some tenths of a second, so
// it is done behind the scenes, as long as somebody looks, and never takes more than a tenth
// of the time.
const (
	freshFor  = 2 * time.Second
	shareOf   = 10
	staleFor  = 10 * time.Second       // after so long unseen, a request waits for new ones,
	waitFor   = 400 * time.Millisecond // but no longer than this
	firstWait = 60 * time.Second
)

// background keeps a T that takes long to make. At most one is made at a time.
type background[T any] struct {
	make func() (T, error)
	now  func() time.Time

	have    atomic.Pointer[made[T]]
	mu      sync.Mutex
	running chan struct{} // closed when the one that is being made is there; nil: none is
	closed  bool
	all     sync.WaitGroup
}

type made[T any] struct {
	value T
	err   error
	at    time.Time
	took  time.Duration
}

// get gives what there is, and sees to it that there will be something newer.
func (b *background[T]) get() (T, error) {
	m := b.have.Load()
	wait := time.Duration(0)
	if m == nil {
		wait = firstWait
	} else {
		age := b.now().Sub(m.at)
		if age < max(freshFor, shareOf*m.took) {
			return m.value, m.err
		}
		if age > max(staleFor, 2*shareOf*m.took) {
			wait = waitFor
		}
	}
	done := b.start()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	}
	if m = b.have.Load(); m == nil {
		var none T
		return none, errBusy
	}
	return m.value, m.err
}

// start begins to make the next one, if none is being made.
func (b *background[T]) start() (done <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running != nil || b.closed {
		if b.running == nil {
			b.running = make(chan struct{})
			close(b.running)
		}
		return b.running
	}
	running := make(chan struct{})
	b.running = running
	b.all.Go(func() {
		began := b.now()
		v, err := b.make()
		b.have.Store(&made[T]{v, err, b.now(), b.now().Sub(began)})
		b.mu.Lock()
		b.running = nil
		b.mu.Unlock()
		close(running)
	})
	return running
}

// close waits for what is being made, and lets nothing new begin.
func (b *background[T]) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}

// snapshot is the list of all tests at one moment.
type snapshot struct {
	entries []store.Entry // newest first
	text    []string      // of each, what a search looks through
	running []int

	locks, topologies, faults []string // that there are
	counts                    map[store.Word]int

	mu     sync.Mutex
	orders map[string][]int32
}

func newSnapshot(entries []store.Entry) *snapshot {
	s := &snapshot{entries: entries, text: make([]string, len(entries)), counts: map[store.Word]int{}, orders: map[string][]int32{}}
	locks, topologies, faults := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var b strings.Builder
	for i := range entries {
		e := &entries[i]
		b.Reset()
		for _, part := range []string{e.Path, e.Lock, e.Deduct, e.Topology, e.Fault(), e.Server, e.Run, string(e.Word()), string(e.State), "seed", utoa(e.Seed)} {
			b.WriteString(strings.ToLower(part))
			b.WriteByte(' ')
		}
		for _, p := range e.Violated {
			b.WriteString(string(p))
			b.WriteByte(' ')
		}
		s.text[i] = b.String()
		s.counts[e.Word()]++
		if e.State == store.Running {
			s.running = append(s.running, i)
		}
		if e.Lock != "" {
			locks[e.Lock], topologies[e.Topology], faults[e.Fault()] = true, true, true
		}
	}
	s.locks, s.topologies, s.faults = sorted(locks), sorted(topologies), sorted(faults)
	return s
}

func sorted(set map[string]bool) (all []string) {
	for v := range set {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// order gives the places of all entries in an order of parseQuery. Equals stay newest first.
func (s *snapshot) order(by string) []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.orders[by]; o != nil {
		return o
	}
	o := make([]int32, len(s.entries))
	for i := range o {
		o[i] = int32(i)
	}
	column, down := strings.CutPrefix(by, "-")
	compare := map[string]func(a, b *store.Entry) int{
		"started":  func(a, b *store.Entry) int { return b.Started.Compare(a.Started) },
		"lock":     func(a, b *store.Entry) int { return cmp.Compare(a.Lock, b.Lock) },
		"topology": func(a, b *store.Entry) int { return cmp.Compare(a.Topology, b.Topology) },
		"fault":    func(a, b *store.Entry) int { return cmp.Compare(a.Fault(), b.Fault()) },
		"verdict":  func(a, b *store.Entry) int { return cmp.Compare(badness(a.Word()), badness(b.Word())) },
		"took":     func(a, b *store.Entry) int { return cmp.Compare(b.DurationS, a.DurationS) },
	}[column]
	if compare != nil { // without a column they are newest first
		slices.SortStableFunc(o, func(a, b int32) int {
			c := compare(&s.entries[a], &s.entries[b])
			if down {
				return -c
			}
			return c
		})
	}
	s.orders[by] = o
	return o
}

// badness orders verdicts, the worst first.
func badness(w store.Word) int {
	return slices.Index([]store.Word{store.WordDamaged, store.WordViolated, store.WordUnknown, store.WordVacuous, store.WordUnfinished, store.WordValid}, w)
}

// find gives one page of what q asks for, and how many there are in all.
func (s *snapshot) find(q query, now time.Time) (page []*store.Entry, n int) {
	since, _ := moment(q.Since, now, false) // parseQuery has looked at them
	until, _ := moment(q.Until, now, true)
	terms := strings.Fields(strings.ToLower(q.Text))
	from := (q.Page - 1) * q.Per
	for _, at := range s.order(q.Sort) {
		e := &s.entries[at]
		if !q.wants(e, s.text[at], terms) || !since.IsZero() && e.Started.Before(since) || !until.IsZero() && e.Started.After(until) {
			continue
		}
		if n >= from && len(page) < q.Per {
			page = append(page, e)
		}
		n++
	}
	return page, n
}

func (q *query) wants(e *store.Entry, text string, terms []string) bool {
	for _, t := range terms {
		if !strings.Contains(text, t) {
			return false
		}
	}
	fault := fits(q.Fault, e.Fault()) || slices.ContainsFunc(e.Nemesis, func(f string) bool { return fits(q.Fault, f) })
	if e.Lock == "" { // of a damaged folder nobody knows
		fault = q.Fault == ""
	}
	return fits(q.Lock, e.Lock) && fits(q.Topology, e.Topology) && fault &&
		(len(q.Words) == 0 || slices.Contains(q.Words, e.Word())) && (!q.Unmet || len(e.Unmet) > 0)
}

// fits is path.Match; what a list offers to choose also fits itself where it holds
// characters that patterns give a meaning.
func fits(glob, s string) bool {
	if glob == "" || glob == s {
		return true
	}
	ok, _ := path.Match(glob, s) // parseQuery has looked at the pattern
	return ok
}

// same gives the other tests of e's name, newest first, at most n.
func (s *snapshot) same(e *store.Entry, n int) (others []*store.Entry) {
	for i := range s.entries {
		if o := &s.entries[i]; o.Name == e.Name && o.Path != e.Path && len(others) < n {
			others = append(others, o)
		}
	}
	return others
}
