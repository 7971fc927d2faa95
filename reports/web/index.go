package web

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"picklock/harness/store"
)

// relist is how long a list of all tests may serve while nothing shows that there are others:
// that one was judged anew, say, only its own folder tells.
const relist = 30 * time.Second

// tests lists the tests of a store again and again. It is used by one goroutine at a time.
type tests struct {
	dir    string
	lister *store.Lister
	now    func() time.Time

	last   *snapshot
	listed time.Time
	folder string // what the folders told when it was made
}

// list gives the newest list: the last one, if no folder has other tests since and those
// that were running still are. That takes a hundredth of the time of listing them.
func (t *tests) list() (*snapshot, error) {
	now, folder := t.now(), t.tell()
	if t.last != nil && folder == t.folder && now.Sub(t.listed) < relist && t.stillRun() {
		return t.last, nil
	}
	entries, err := t.lister.List(store.Options{})
	if err != nil {
		return nil, err
	}
	s := newSnapshot(entries)
	if t.last != nil {
		for _, by := range t.last.asked() {
			s.order(by) // whoever asks next need not wait for it
		}
	}
	t.last, t.listed, t.folder = s, now, folder
	return s, nil
}

// tell gives the folders of all names and when something was put into them or taken out.
func (t *tests) tell() string {
	names, err := os.ReadDir(t.dir)
	if err != nil {
		return "" // List says what is wrong
	}
	var b strings.Builder
	for _, n := range names {
		if info, err := n.Info(); err == nil {
			fmt.Fprintf(&b, "%s/%d ", n.Name(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// stillRun says whether the tests that were running are.
func (t *tests) stillRun() bool {
	for _, i := range t.last.running {
		if e, ok := store.Look(t.last.entries[i].Dir); !ok || e.State != store.Running {
			return false
		}
	}
	return true
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

// asked are the orders that were asked for.
func (s *snapshot) asked() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for by := range s.orders {
		all = append(all, by)
	}
	return all
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
