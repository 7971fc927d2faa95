package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"picklock/harness/store"
)

// PlanFile is the plan of the matrix in a folder, and which part of it is run there.
const PlanFile = "plan.json"

// lockFile is held by the process that runs the matrix.
const lockFile = "lock"

// stamp is the form of the name of a matrix's folder.
const stamp = "20060102T150405.000Z"

// sameMoment bounds how many matrices of one name may start in the same millisecond.
const sameMoment = 1000

// Stored is plan.json.
type Stored struct {
	Plan
	Shard   Shard     `json:"shard,omitzero"`
	Started time.Time `json:"started"`
}

// Sitting is a matrix that is being run: its folder, its plan, and the runs that ended.
// Only one process at a time can have it.
type Sitting struct {
	Dir  string
	Root string // of the store
	Stored
	jobs    []Job // of the shard
	began   []entry
	runs    map[runID]entry
	journal *journal
	lock    *os.File
}

// Begin makes the folder of a matrix that starts now. An error that wraps harness.ErrUsage
// says what of plan, shard or root is wrong.
func Begin(root string, p *Plan, s Shard) (*Sitting, error) {
	st := &Sitting{Root: root, Stored: Stored{Plan: *p, Shard: s, Started: store.Now()}}
	if _, err := p.Shard(s); err != nil {
		return nil, err
	}
	in := filepath.Join(root, Folder, p.Name)
	dir, err := claim(in, &st.Started)
	if err != nil {
		return nil, misuse("--store: the store %s cannot be written: %s", root, err)
	}
	st.Dir = dir
	if err := st.take(); err != nil {
		return nil, err
	}
	if err := writeJSON(dir, PlanFile, st.Stored); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, st.open()
}

// claim makes the folder that is named after a moment, or one of the next.
func claim(in string, at *time.Time) (dir string, err error) {
	if err := os.MkdirAll(in, 0o755); err != nil {
		return "", err
	}
	for range sameMoment {
		dir = filepath.Join(in, at.UTC().Format(stamp))
		if err = os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		*at = at.Add(time.Millisecond)
	}
	return "", err
}

// Resume goes on with the newest matrix of that plan and shard that is not finished. An
// error that wraps harness.ErrUsage says why there is none, or that another process has it.
func Resume(root string, p *Plan, s Shard) (*Sitting, error) {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(root), Folder, p.Name, "*", PlanFile))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(b, a) })
	why := ""
	for _, path := range dirs {
		st, err := reopen(root, filepath.Dir(path), p, s)
		switch {
		case err != nil:
			return nil, err
		case st == nil:
			if why == "" {
				why = fmt.Sprintf("; that of %s has another plan or shard: the file, the flags or picklock's defaults have changed since", filepath.Base(filepath.Dir(path)))
			}
			continue
		case st.Left() == 0:
			if err := st.Close(); err != nil {
				return nil, err
			}
			if why == "" {
				why = fmt.Sprintf("; that of %s is finished", filepath.Base(st.Dir))
			}
			continue
		}
		return st, nil
	}
	what := p.Name
	if s.String() != "" {
		what += ", shard " + s.String()
	}
	return nil, misuse("there is no broken-off matrix %s in %s to resume%s", what, filepath.Join(root, Folder, p.Name), why)
}

// reopen opens the matrix in dir; nil if it has another plan or shard.
func reopen(root, dir string, p *Plan, s Shard) (*Sitting, error) {
	stored, err := ReadPlan(dir)
	if errors.Is(err, ErrNotAMatrix) {
		return nil, nil // broken off before it began
	}
	if err != nil {
		return nil, err
	}
	if stored.Digest != p.Digest || stored.Shard.String() != s.String() {
		return nil, nil
	}
	st := &Sitting{Dir: dir, Root: root, Stored: *stored}
	st.Plan = *p
	if err := st.take(); err != nil {
		return nil, err
	}
	return st, st.open()
}

// ReadPlan reads plan.json of a folder. The error wraps ErrNotAMatrix if there is none.
func ReadPlan(dir string) (*Stored, error) {
	path := filepath.Join(dir, PlanFile)
	s, err := readJSON[Stored](dir, path, PlanFile)
	if err != nil {
		return nil, err
	}
	if s.Digest != s.digest() {
		return nil, fmt.Errorf("%s: %w: the plan is not the one that its digest is of", path, ErrNotAMatrix)
	}
	return s, nil
}

// take locks the folder. The kernel drops the lock when its holder dies.
func (st *Sitting) take() error {
	f, err := os.OpenFile(filepath.Join(st.Dir, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return misuse("the matrix in %s is being run by another picklock", st.Dir)
		}
		return fmt.Errorf("lock %s: %w", st.Dir, err)
	}
	st.lock = f
	return nil
}

// open reads the journal, which must be one of the plan.
func (st *Sitting) open() (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, st.Close())
		}
	}()
	if st.jobs, err = st.Plan.Shard(st.Shard); err != nil {
		return err
	}
	path := filepath.Join(st.Dir, JournalFile)
	var lines []entry
	if st.journal, lines, err = openJournal(path); err != nil {
		return err
	}
	if err := st.sort(lines); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// sort takes in the lines of a journal.
func (st *Sitting) sort(lines []entry) error {
	planned := map[runID]bool{}
	for _, j := range st.jobs {
		planned[st.id(j)] = true
	}
	st.runs = map[runID]entry{}
	for i, e := range lines {
		if e.Run == nil {
			st.began = append(st.began, e)
			continue
		}
		id := runID{e.Cell, e.Run.Seed}
		if _, twice := st.runs[id]; twice || !planned[id] {
			return fmt.Errorf("line %d: %w: the run of %s with seed %d is there twice, or not of the plan", i+1, ErrDamaged, e.Cell, e.Run.Seed)
		}
		st.runs[id] = e
	}
	return nil
}

// Close lets another process have the matrix.
func (st *Sitting) Close() error {
	var errs []error
	if st.journal != nil {
		errs = append(errs, st.journal.close())
		st.journal = nil
	}
	if st.lock != nil {
		errs = append(errs, st.lock.Close())
		st.lock = nil
	}
	return errors.Join(errs...)
}

// Todo are the runs that have not ended yet, in the order of the plan; Of is how many there
// are in all, and Left how many of them are to do.
func (st *Sitting) Todo() []Job {
	var todo []Job
	for _, j := range st.jobs {
		if _, done := st.runs[st.id(j)]; !done {
			todo = append(todo, j)
		}
	}
	return todo
}

// Of is how many runs the matrix, or its shard, has.
func (st *Sitting) Of() int { return len(st.jobs) }

// Left is how many of them have not ended yet.
func (st *Sitting) Left() int { return len(st.jobs) - len(st.runs) }

// begin writes down that so many tests are run side by side from now on.
func (st *Sitting) begin(jobs int) error {
	e := entry{At: time.Now().UTC(), Sitting: jobs}
	if err := st.journal.add(e); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	st.began = append(st.began, e)
	return nil
}

// done writes down a run that ended.
func (st *Sitting) done(j Job, r Run, about map[string]string) error {
	id := st.id(j)
	e := entry{At: time.Now().UTC(), Cell: id.cell, Run: &r, About: about}
	if err := st.journal.add(e); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	st.runs[id] = e
	return nil
}

// Matrix sums up what has been run until now.
func (st *Sitting) Matrix() *Matrix {
	m := &Matrix{Name: st.Name, Plan: st.Digest, Shard: st.Shard.String(), Started: st.Started, Store: st.Root}
	if len(st.began) > 0 {
		m.Jobs = st.began[len(st.began)-1].Sitting
	}
	m.WallS = st.wall()
	m.fill(&st.Plan, st.jobs, st.runs)
	return m
}

// wall is how long all sittings took together: each from its beginning to the end of its
// last run.
func (st *Sitting) wall() (s float64) {
	for i, b := range st.began {
		last := b.At
		for _, e := range st.runs {
			if e.At.After(last) && (i+1 == len(st.began) || e.At.Before(st.began[i+1].At)) {
				last = e.At
			}
		}
		s += last.Sub(b.At).Seconds()
	}
	return s
}

// fill puts the runs into their cells; jobs are those that were to be run.
func (m *Matrix) fill(p *Plan, jobs []Job, runs map[runID]entry) {
	of := make([][]Run, len(p.Rows))
	has := make([]bool, len(p.Rows))
	about := map[string][]string{}
	for _, j := range jobs {
		has[j.Row] = true
		e, ran := runs[p.id(j)]
		if !ran {
			continue
		}
		of[j.Row] = append(of[j.Row], *e.Run)
		for k, v := range e.About {
			if !slices.Contains(about[k], v) {
				about[k] = append(about[k], v)
			}
		}
	}
	m.Missing, m.Outcome, m.Cells = len(p.Jobs())-len(runs), AsExpected, nil
	for i, r := range p.Rows {
		if !has[i] {
			continue
		}
		c := Sum(r.Cell, append([]Run{}, of[i]...))
		m.Cells = append(m.Cells, c)
		m.Outcome = m.Outcome.Worse(c.Outcome)
	}
	slices.SortFunc(m.Cells, func(a, b Result) int { return cmp.Compare(a.Cell.ID(), b.Cell.ID()) })
	for k, all := range about {
		if m.About == nil {
			m.About = map[string]string{}
		}
		m.About[k] = strings.Join(slices.Sorted(slices.Values(all)), "; ")
	}
}

// escapeGlob takes the meaning from the signs of a pattern.
func escapeGlob(s string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(s)
}
