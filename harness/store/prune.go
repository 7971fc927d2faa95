package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Policy says which tests a store need not keep. At least one of Keep, OlderThan and
// MaxBytes must be set.
//
// Keep only ever protects: the newest so many of each name that can be read stay, whatever
// else is said.
// Beyond them, OlderThan selects what is older, and MaxBytes the oldest of what is left
// until the store has no more than that. With Keep alone, all beyond go.
//
// Some tests stay all the same, for a reason that Plan gives: those that run; violated
// ones; damaged ones; those that a matrix refers to which stays; the one that latest
// points to; and those whose folders were renamed, since somebody did that on purpose.
type Policy struct {
	Keep      *int           // newest tests of each name
	OlderThan *time.Duration // by their start
	MaxBytes  *int64         // of the whole store, matrices included
	Words     []Word         // only these go; empty: any. Damaged ones go only if they are named here

	Violated bool // violated ones may go too
	Matrices bool // those that a matrix refers to may go too
	Latest   bool // the one that latest points to may go too
}

// Check says what is wrong with the policy.
func (p *Policy) Check() error {
	o := Options{Words: p.Words}
	switch {
	case p.Keep == nil && p.OlderThan == nil && p.MaxBytes == nil:
		return errors.New("it must be said what to keep: how many of each test, from what time, or how much in all")
	case p.Keep != nil && *p.Keep < 0:
		return fmt.Errorf("so many tests of each name cannot be kept: %d", *p.Keep)
	case p.OlderThan != nil && *p.OlderThan < 0:
		return fmt.Errorf("no test can be older than %s", *p.OlderThan)
	case p.MaxBytes != nil && *p.MaxBytes < 0:
		return fmt.Errorf("a store cannot be as small as %d bytes", *p.MaxBytes)
	case slices.Contains(p.Words, WordViolated) && !p.Violated:
		return errors.New("violated tests are evidence: that they may go must be said apart")
	}
	return o.Check()
}

// Plan is what a policy comes to in a store at one time.
type Plan struct {
	Root     string
	Go       []Entry  // oldest first
	Matrices []Matrix // that go, oldest first
	Stay     []Kept   // that the policy selects, but something protects; oldest first
	Before   Use      // the store: all tests and matrices
	After    Use      // what is left of it
	Tests    int      // before
	Over     int64    // bytes that the store still has beyond MaxBytes; 0: none
}

// Kept is a test that stays although its age or the store's size says otherwise.
type Kept struct {
	Entry
	Because string
}

// Freed is what the plan frees.
func (p *Plan) Freed() Use {
	return Use{p.Before.Bytes - p.After.Bytes, p.Before.Files - p.After.Files}
}

// PlanPrune says what of the store at root has to go by the policy. It changes nothing. An
// error that wraps ErrNotAStore says that root does not look like a store.
func PlanPrune(root string, p Policy, now time.Time) (*Plan, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	entries, err := List(root, Options{Use: true})
	if err != nil {
		return nil, err
	}
	matrices, err := Matrices(root)
	if err != nil {
		return nil, err
	}
	if len(matrices) == 0 && !slices.ContainsFunc(entries, func(e Entry) bool { _, named := stampTime(path.Base(e.Path)); return named }) {
		return nil, fmt.Errorf("%s: %w: it has neither a test nor a matrix", root, ErrNotAStore)
	}
	plan := &Plan{Root: root, Tests: len(entries)}
	for i := range entries {
		plan.Before.add(*entries[i].Use)
	}
	for i := range matrices {
		plan.Before.add(matrices[i].Use)
	}
	plan.After = plan.Before
	plan.matrices(matrices, p, now)
	plan.tests(entries, matrices, p, now)
	return plan, nil
}

func (u *Use) add(v Use) { u.Bytes, u.Files = u.Bytes+v.Bytes, u.Files+v.Files }
func (u *Use) sub(v Use) { u.Bytes, u.Files = u.Bytes-v.Bytes, u.Files-v.Files }

// matrices chooses the matrices that go: by age, never the newest of their name that are
// kept, nor one that was written to within that age.
func (plan *Plan) matrices(all []Matrix, p Policy, now time.Time) {
	if p.OlderThan == nil {
		return
	}
	newer := map[string]int{}
	for _, m := range all { // newest first
		newer[m.Name]++
		kept := p.Keep != nil && newer[m.Name] <= *p.Keep
		if !kept && now.Sub(m.Started) > *p.OlderThan && now.Sub(m.Changed) > min(*p.OlderThan, day) {
			plan.Matrices = append(plan.Matrices, m)
			plan.After.sub(m.Use)
		}
	}
	slices.Reverse(plan.Matrices)
}

// day is for how long a matrix that was started long ago counts as going on after its last
// change.
const day = 24 * time.Hour

// tests chooses the tests that go.
func (plan *Plan) tests(entries []Entry, matrices []Matrix, p Policy, now time.Time) {
	refers := map[string]string{}
	for _, m := range matrices {
		goes := slices.ContainsFunc(plan.Matrices, func(x Matrix) bool { return x.Path == m.Path })
		for _, t := range m.Tests {
			if !goes {
				refers[t] = m.Path
			}
		}
	}
	newer := map[string]int{}
	var bySize []Entry  // that go if the store is too large; newest first, like entries
	var inTheWay []Kept // that would
	take := func(e Entry) {
		plan.Go = append(plan.Go, e)
		plan.After.sub(*e.Use)
	}
	for _, e := range entries {
		kept := false
		if e.State != Damaged { // nobody keeps one for being new
			newer[e.Name]++
			kept = p.Keep != nil && newer[e.Name] <= *p.Keep
		}
		if kept || len(p.Words) > 0 && !slices.Contains(p.Words, e.Word()) {
			continue
		}
		old := p.OlderThan != nil && now.Sub(e.Started) > *p.OlderThan
		selected := old || p.OlderThan == nil && p.MaxBytes == nil
		if !selected && p.MaxBytes == nil {
			continue
		}
		switch why := protects(&e, refers, p); {
		case why != "" && selected:
			plan.Stay = append(plan.Stay, Kept{e, why})
		case why != "":
			inTheWay = append(inTheWay, Kept{e, why})
		case selected:
			take(e)
		default:
			bySize = append(bySize, e)
		}
	}
	if p.MaxBytes != nil {
		for _, e := range slices.Backward(bySize) {
			if plan.After.Bytes <= *p.MaxBytes {
				break
			}
			take(e)
		}
		plan.Over = max(0, plan.After.Bytes-*p.MaxBytes)
		if plan.Over > 0 {
			plan.Stay = append(plan.Stay, inTheWay...)
		}
	}
	slices.SortFunc(plan.Go, func(a, b Entry) int { return newestFirst(b, a) })
	slices.SortFunc(plan.Stay, func(a, b Kept) int { return newestFirst(b.Entry, a.Entry) })
}

// protects says why the policy may not take the test; empty: it may.
func protects(e *Entry, refers map[string]string, p Policy) string {
	_, named := stampTime(path.Base(e.Path))
	switch by := refers[e.Path]; {
	case e.State == Running:
		return "it is running: " + e.Why
	case e.Word() == WordDamaged && !slices.Contains(p.Words, WordDamaged):
		return "it is damaged: " + e.Why
	case e.Word() == WordViolated && !p.Violated:
		return "it is violated"
	case by != "" && !p.Matrices:
		return by + " refers to it"
	case e.Latest && !p.Latest:
		return latest + " points to it"
	case !named:
		return "its folder was renamed"
	}
	return ""
}

// removing is where folders are moved to before they are deleted: a removal that is broken
// off leaves no half of a test, and what it leaves here goes the next time.
const removing = ".removing"

// Carry removes what the plan says, and calls told after each folder, with its path in
// the store. A test that meanwhile runs, or that latest now points to, stays. Only one can
// prune a store at a time.
func (plan *Plan) Carry(p Policy, told func(path string)) (err error) {
	bin, err := openBin(plan.Root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bin.close()) }()
	for _, m := range plan.Matrices {
		if err := bin.remove(m.Path); err != nil {
			return err
		}
		told(m.Path)
	}
	before := latestPath(plan.Root)
	for _, e := range plan.Go {
		if _, held, _ := e.Dir.held(); held || e.Path == latestPath(plan.Root) && !p.Latest {
			continue
		}
		if err := bin.remove(e.Path); err != nil {
			return err
		}
		told(e.Path)
	}
	if slices.ContainsFunc(plan.Go, func(e Entry) bool { return e.Path == before }) {
		return repoint(plan.Root, "prune")
	}
	return nil
}

// bin is the folder in which things are deleted.
type bin struct {
	root string
	lock *os.File // the root: who holds it prunes
}

// openBin makes the bin, and clears away what was left in the store by what was broken off.
func openBin(root string) (*bin, error) {
	f, err := lockFolder(root)
	if err != nil {
		return nil, fmt.Errorf("prune %s: %w", root, err)
	}
	if err := clearLeftovers(root); err != nil {
		return nil, errors.Join(fmt.Errorf("clear %s of what was left there: %w", root, err), f.Close())
	}
	if err := os.Mkdir(filepath.Join(root, removing), 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("the store %s cannot be written: %w", root, err), f.Close())
	}
	return &bin{root, f}, nil
}

// errBusy: another process works on the folder.
var errBusy = errors.New("another process is at it")

// lockFolder locks a folder until it is closed, or the process ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(errBusy, f.Close())
	}
	return f, nil
}

// clearLeftovers deletes what a removal, an import or the making of a link left half done.
func clearLeftovers(root string) error {
	all, err := os.ReadDir(root)
	for _, l := range all {
		at := filepath.Join(root, l.Name())
		switch {
		case l.IsDir() && l.Name() == removing:
			err = errors.Join(err, os.RemoveAll(at))
		case l.IsDir() && strings.HasPrefix(l.Name(), importing):
			f, busy := lockFolder(at)
			if busy == nil {
				err = errors.Join(err, os.RemoveAll(at), f.Close())
			}
		case l.Type() == fs.ModeSymlink && strings.HasPrefix(l.Name(), "."+latest+"-"):
			if info, e := l.Info(); e == nil && time.Since(info.ModTime()) > fresh {
				err = errors.Join(err, unlessGone(os.Remove(at)))
			}
		}
	}
	return err
}

// remove removes a folder, and the folder that it is in if that is empty then.
func (b *bin) remove(p string) error {
	from := filepath.Join(b.root, filepath.FromSlash(p))
	to := filepath.Join(b.root, removing, strings.ReplaceAll(p, "/", "~"))
	if _, err := os.Lstat(from); err != nil {
		return unlessGone(err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("remove %s: %w", p, err)
	}
	_ = os.Remove(filepath.Dir(from)) // it may have others in it
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("%s is out of the store, but not deleted yet: %w", p, err)
	}
	return nil
}

func (b *bin) close() error {
	return errors.Join(os.Remove(filepath.Join(b.root, removing)), b.lock.Close())
}
