package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"picklock/models"
)

// ErrNotAStore: the folder is not one that holds tests.
var ErrNotAStore = errors.New("not a store")

// State says whether a stored test was judged, and if not, how it stands.
type State string

// The states.
const (
	Judged      State = "judged"
	Running     State = "running"
	Recorded    State = "recorded"    // the record is whole, and was not judged
	Interrupted State = "interrupted" // the harness ended the test before its time
	BrokenOff   State = "broken off"  // the harness died
	Damaged     State = "damaged"     // the folder cannot be read
)

// Word is what a list says of a test in one word. A vacuous test never reads as a pass.
type Word string

// The words. Unfinished are all without a verdict that can be read otherwise.
const (
	WordValid      Word = "valid"
	WordViolated   Word = "violated"
	WordUnknown    Word = "unknown"
	WordVacuous    Word = "vacuous"
	WordUnfinished Word = "unfinished"
	WordDamaged    Word = "damaged"
)

// Words are all of them.
var Words = []Word{WordValid, WordViolated, WordUnknown, WordVacuous, WordUnfinished, WordDamaged}

// Entry is a stored test in a list.
type Entry struct {
	Dir   Dir    `json:"dir"`
	Path  string `json:"path"` // of the folder in the store, with slashes, as matrices refer to it
	Name  string `json:"name"` // of the folder that it is in
	State State  `json:"state"`
	Why   string `json:"why,omitempty"` // of a test without a verdict: how its state is known
	Facts
	Latest bool `json:"latest,omitempty"` // the store's latest points to it
	// Only where they were asked for:
	Use      *Use     `json:"use,omitempty"`
	Matrices []string `json:"matrices,omitempty"` // folders of the matrices that refer to it, as Path
}

// Word says in one word what became of the test.
func (e *Entry) Word() Word {
	switch {
	case e.State == Damaged:
		return WordDamaged
	case e.State != Judged:
		return WordUnfinished
	case e.Verdict == models.Violated:
		return WordViolated
	case e.Vacuous:
		return WordVacuous
	}
	return Word(e.Verdict)
}

// Fault names the faults as one column: "pause-client", "pause-client+kill-node", "none".
func (e *Entry) Fault() string {
	if len(e.Nemesis) == 0 {
		return "none"
	}
	return strings.Join(e.Nemesis, "+")
}

// Options say what to list. The zero value lists all tests.
type Options struct {
	// Globs, as in path.Match; empty: any. Fault matches one of the faults, or all of
	// them as Entry.Fault tells them.
	Lock, Name, Topology, Fault string
	Words                       []Word // empty: any
	Since, Until                time.Time

	Use      bool // measure the folders
	Matrices bool // say which matrices refer to a test
}

// Check says what is wrong with the options.
func (o *Options) Check() error {
	for _, g := range []string{o.Lock, o.Name, o.Topology, o.Fault} {
		if _, err := path.Match(g, ""); err != nil {
			return fmt.Errorf("%q is no pattern: it is written like uuid-*, with [ only before a list of characters and its ]", g)
		}
	}
	for _, w := range o.Words {
		if !slices.Contains(Words, w) {
			return fmt.Errorf("there is no verdict %q; there are %s", w, joined(Words, ", "))
		}
	}
	return nil
}

func (o *Options) wants(e *Entry) bool {
	fault := match(o.Fault, e.Fault()) || slices.ContainsFunc(e.Nemesis, func(n string) bool { return match(o.Fault, n) })
	return match(o.Lock, e.Lock) && match(o.Name, e.Name) && match(o.Topology, e.Topology) && fault &&
		(len(o.Words) == 0 || slices.Contains(o.Words, e.Word())) &&
		(o.Since.IsZero() || !e.Started.Before(o.Since)) && (o.Until.IsZero() || !e.Started.After(o.Until))
}

func match(glob, s string) bool {
	ok, _ := path.Match(glob, s) // Check has looked at the pattern
	return glob == "" || ok
}

func joined[S ~string](all []S, sep string) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, sep)
}

// List gives the tests of a store that o asks for, newest first. A damaged one is in the
// list, as such. What is not a test (other folders, links, matrices) is left out; no link
// is followed.
func List(root string, o Options) ([]Entry, error) { return NewLister(root).List(o) }

// Look gives what a list would say of one folder. It is false if that is no test's.
func Look(d Dir) (Entry, bool) {
	dir := filepath.ToSlash(string(d))
	e := Entry{Path: dir, Name: path.Base(path.Dir(dir)), Dir: d}
	return e, NewLister("").look(&e, time.Now())
}

// Lister lists the tests of one store again and again. It keeps what it has read of a test
// for as long as its results.json stays the same. It can be used by several goroutines.
type Lister struct {
	root string
	mu   sync.Mutex
	seen map[string]seen // by Entry.Path
}

type seen struct {
	size     int64
	modified time.Time
	facts    Facts
}

// NewLister makes a lister of the store at root.
func NewLister(root string) *Lister { return &Lister{root: root, seen: map[string]seen{}} }

// List is what the function List gives.
func (l *Lister) List(o Options) ([]Entry, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	paths, err := folders(l.root, o.Name)
	if err != nil {
		return nil, err
	}
	latest := latestPath(l.root)
	entries := make([]Entry, len(paths))
	listed := make([]bool, len(paths))
	now := time.Now()
	each(len(paths), func(i int) {
		e := &entries[i]
		e.Path, e.Name, e.Dir = paths[i], path.Dir(paths[i]), Dir(filepath.Join(l.root, filepath.FromSlash(paths[i])))
		e.Latest = e.Path == latest
		listed[i] = l.look(e, now) && o.wants(e)
	})
	l.forget(paths, o.Name)
	n := 0
	for i := range entries {
		if listed[i] {
			entries[n] = entries[i]
			n++
		}
	}
	entries = entries[:n]
	slices.SortFunc(entries, newestFirst)
	if o.Use {
		if err := Measure(entries); err != nil {
			return nil, err
		}
	}
	if o.Matrices {
		return entries, refer(l.root, entries)
	}
	return entries, nil
}

func newestFirst(a, b Entry) int {
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(path.Base(b.Path), path.Base(a.Path)), cmp.Compare(a.Path, b.Path))
}

// Measure sets what the folders of the entries take up.
func Measure(entries []Entry) error {
	errs := make([]error, len(entries))
	each(len(entries), func(i int) {
		u, err := entries[i].Dir.Use()
		entries[i].Use, errs[i] = &u, err
	})
	return errors.Join(errs...)
}

// each calls f for 0 to n-1, as many at once as there are processors.
func each(n int, f func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}

// look reads what is to be said of one folder. It is false for a folder that is no test:
// it has no test.json of a test, nor is it named like one.
func (l *Lister) look(e *Entry, now time.Time) bool {
	results, err := os.Lstat(e.Dir.Path(ResultFile))
	if err == nil {
		if e.Facts, err = l.facts(e, results); err == nil {
			e.State = Judged
			return true
		}
	}
	unjudged := errors.Is(err, fs.ErrNotExist)
	t, testErr := e.Dir.planned()
	if testErr == nil {
		e.Facts = planned(t)
	}
	started, named := stampTime(path.Base(e.Path))
	changed := e.Dir.changed()
	switch {
	case changed.IsZero():
		return false // it was removed meanwhile
	case testErr == nil && unjudged:
		e.State, e.Why = e.Dir.unjudged(now)
		return true
	case testErr == nil:
	case !named:
		return false // somebody else's
	case !unjudged:
		e.Started = started
	case errors.Is(testErr, fs.ErrNotExist) && now.Sub(changed) < fresh:
		e.Started, e.State, e.Why = started, Running, "it is just beginning"
		return true
	case errors.Is(testErr, fs.ErrNotExist):
		e.Started, err = started, fmt.Errorf("it has no %s", TestFile)
	default:
		e.Started, err = started, fmt.Errorf("%s: %w", TestFile, testErr)
	}
	e.State, e.Why = Damaged, strings.ReplaceAll(err.Error(), string(e.Dir)+string(filepath.Separator), "")
	return true
}

// facts of a test that has a results.json: as read before, from the summary, or in full.
func (l *Lister) facts(e *Entry, results fs.FileInfo) (Facts, error) {
	l.mu.Lock()
	was, ok := l.seen[e.Path]
	l.mu.Unlock()
	if ok && was.size == results.Size() && was.modified.Equal(results.ModTime()) {
		return was.facts, nil
	}
	facts, ok := e.Dir.summarised(results)
	if !ok {
		var err error
		if facts, err = e.Dir.judged(); err != nil {
			return Facts{}, fmt.Errorf("%s: %w", ResultFile, err)
		}
	}
	l.mu.Lock()
	l.seen[e.Path] = seen{results.Size(), results.ModTime(), facts}
	l.mu.Unlock()
	return facts, nil
}

// forget drops what is not there any more, unless only some names were looked at.
func (l *Lister) forget(paths []string, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name != "" || len(l.seen) <= len(paths) {
		return
	}
	there := make(map[string]bool, len(paths))
	for _, p := range paths {
		there[p] = true
	}
	for p := range l.seen {
		if !there[p] {
			delete(l.seen, p)
		}
	}
}

// folders gives all folders two deep, as root's paths with slashes, that could be tests of
// this name: neither hidden, nor links, nor matrices.
func folders(root, name string) (paths []string, err error) {
	names, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: there is no such folder", root, ErrNotAStore)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotAStore, err)
	}
	for _, n := range names {
		if !n.IsDir() || hidden(n.Name()) || n.Name() == matricesFolder || !match(name, n.Name()) {
			continue
		}
		tests, err := os.ReadDir(filepath.Join(root, n.Name()))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // gone meanwhile, or not ours
		}
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			if t.IsDir() && !hidden(t.Name()) {
				paths = append(paths, n.Name()+"/"+t.Name())
			}
		}
	}
	return paths, nil
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// stampTime is the time that a test's folder is named after, if it is.
func stampTime(name string) (time.Time, bool) {
	at, err := time.Parse(stampForm, name)
	return at, err == nil
}

// latestPath is where root/latest points, as Entry.Path; empty without one.
func latestPath(root string) string {
	to, err := os.Readlink(filepath.Join(root, latest))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(to))
}

// SortBy are the orders that Sort knows.
var SortBy = []string{"started", "name", "lock", "verdict", "size"}

// Sort puts entries in an order: started, newest first; verdict, the worst first; size,
// the largest first (which must have been measured); name and lock by the alphabet. Equals
// stay newest first.
func Sort(entries []Entry, by string) error {
	size := func(e *Entry) int64 {
		if e.Use == nil {
			return 0
		}
		return e.Use.Bytes
	}
	worst := []Word{WordDamaged, WordViolated, WordUnknown, WordVacuous, WordUnfinished, WordValid}
	first, ok := map[string]func(a, b *Entry) int{
		"started": func(_, _ *Entry) int { return 0 },
		"name":    func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) },
		"lock":    func(a, b *Entry) int { return cmp.Compare(a.Lock, b.Lock) },
		"verdict": func(a, b *Entry) int {
			return cmp.Compare(slices.Index(worst, a.Word()), slices.Index(worst, b.Word()))
		},
		"size": func(a, b *Entry) int { return cmp.Compare(size(b), size(a)) },
	}[by]
	if !ok {
		return fmt.Errorf("there is no order %q; there are %s", by, strings.Join(SortBy, ", "))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Or(first(&a, &b), newestFirst(a, b)) })
	return nil
}
