package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Merged is a matrix of several shards.
type Merged struct {
	*Matrix
	Dir string
	// Absent tells in words what is missing: "shard 3/8", "2 runs of shard 4/8".
	Absent []string
}

// part is one of the folders that are merged.
type part struct {
	dir     string
	plan    *Stored
	matrix  *Matrix
	entries []entry
}

// Merge puts the parts of one matrix together. Each folder is one that a shard left. They
// must have the same plan, and no run twice unless it is the very same. The matrix goes to
// the folder out, or, if that is empty, to the store at root: root/matrices/<name>/<start>,
// with plan and journal, so that what is missing can be run with Resume. An error that
// wraps harness.ErrUsage or ErrNotAMatrix says which folder is wrong.
func Merge(dirs []string, root, out string) (*Merged, error) {
	parts := make([]part, len(dirs))
	for i, dir := range dirs {
		p, err := readPart(dir)
		if err != nil {
			return nil, err
		}
		if parts[i] = p; p.plan.Digest != parts[0].plan.Digest {
			return nil, misuse("%s and %s are not of one matrix: their plans differ (%s %.12s, %s %.12s)", parts[0].dir, dir,
				parts[0].plan.Name, parts[0].plan.Digest, p.plan.Name, p.plan.Digest)
		}
	}
	runs, from := map[runID]entry{}, map[runID]string{}
	for _, p := range parts {
		for _, e := range p.entries {
			if e.Run == nil {
				continue
			}
			id := runID{e.Cell, e.Run.Seed}
			if before, twice := runs[id]; twice && !same(before, e) {
				return nil, misuse("%s and %s both have a run of %s with seed %d, and not the same one", from[id], p.dir, id.cell, id.seed)
			} else if !twice {
				runs[id], from[id] = e, p.dir
			}
		}
	}
	return write(parts, runs, from, root, out)
}

// same: it is one run, found twice.
func same(a, b entry) bool {
	x, xerr := json.Marshal(a)
	y, yerr := json.Marshal(b)
	return xerr == nil && yerr == nil && bytes.Equal(x, y)
}

// readPart reads a folder: its plan, its journal, and what the two come to.
func readPart(dir string) (part, error) {
	p := part{dir: dir}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		p.dir = filepath.Dir(dir) // its matrix.json was named
	}
	var err error
	if p.plan, err = ReadPlan(p.dir); err != nil {
		return p, err
	}
	path := filepath.Join(p.dir, JournalFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return p, fmt.Errorf("%s: %w: %w", p.dir, ErrNotAMatrix, err)
	}
	if p.entries, _, err = parseJournal(text); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	st := &Sitting{Dir: p.dir, Stored: *p.plan}
	if st.jobs, err = st.Plan.Shard(p.plan.Shard); err != nil {
		return p, err
	}
	if err := st.sort(p.entries); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	p.matrix = st.Matrix()
	return p, nil
}

func write(parts []part, runs map[runID]entry, from map[runID]string, root, out string) (*Merged, error) {
	whole := Stored{Plan: parts[0].plan.Plan, Started: parts[0].plan.Started}
	m := &Merged{Matrix: &Matrix{Name: whole.Name, Plan: whole.Digest}, Dir: out}
	for _, p := range parts {
		if p.plan.Started.Before(whole.Started) {
			whole.Started = p.plan.Started
		}
		m.Jobs += p.matrix.Jobs
		m.WallS = max(m.WallS, p.matrix.WallS) // shards run at the same time
	}
	m.Started = whole.Started
	var err error
	if out == "" {
		at := whole.Started
		if m.Dir, err = claim(filepath.Join(root, Folder, whole.Name), &at); err != nil {
			return nil, misuse("--store: the store %s cannot be written: %s", root, err)
		}
	} else if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, misuse("--out: %s", err)
	} else if _, err := os.Stat(filepath.Join(out, PlanFile)); err == nil {
		return nil, misuse("--out: in %s is a matrix already", out)
	} else {
		root = storeOf(out, root)
	}
	for id, e := range runs {
		runs[id] = moved(e, storeOf(from[id], root), root)
	}
	m.fill(&whole.Plan, whole.Jobs(), runs)
	m.Absent = absent(parts, runs)
	return m, errors.Join(writeJSON(m.Dir, PlanFile, whole), writeJournal(m, whole, runs), m.Write(m.Dir))
}

// writeJournal writes the journal of the merged matrix: its runs in the order of the plan, as
// if they were of one sitting.
func writeJournal(m *Merged, whole Stored, runs map[runID]entry) (err error) {
	j, _, err := openJournal(filepath.Join(m.Dir, JournalFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	first := m.Started
	lines := []entry{{At: first, Sitting: max(1, m.Jobs)}}
	for _, job := range whole.Jobs() {
		if e, ok := runs[whole.id(job)]; ok {
			lines = append(lines, e)
		}
	}
	var text bytes.Buffer
	for _, e := range lines {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text.Write(append(b, '\n'))
	}
	if _, err := j.file.Write(text.Bytes()); err != nil {
		return err
	}
	return j.file.Sync()
}

// storeOf is the root of the store that the folder of a matrix is in; else if it is in none.
func storeOf(dir, otherwise string) string {
	abs, err := filepath.Abs(dir)
	if err != nil || filepath.Base(filepath.Dir(filepath.Dir(abs))) != Folder {
		return otherwise
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(abs)))
}

// moved is a run whose test is named from another store, if it is found in the old one and
// not in the new.
func moved(e entry, from, to string) entry {
	if e.Run.Dir == "" {
		return e
	}
	there := filepath.Join(from, filepath.FromSlash(e.Run.Dir))
	if _, err := os.Stat(filepath.Join(to, filepath.FromSlash(e.Run.Dir))); err == nil {
		return e
	}
	if _, err := os.Stat(there); err != nil {
		return e
	}
	root, err := filepath.Abs(to)
	if err != nil {
		return e
	}
	rel, err := filepath.Rel(root, there)
	if err != nil {
		return e
	}
	run := *e.Run
	run.Dir = filepath.ToSlash(rel)
	e.Run = &run
	return e
}

// absent tells which shards are not there, or not whole. It goes by the division that most
// parts have.
func absent(parts []part, runs map[runID]entry) []string {
	plan, times := parts[0].plan.Plan, map[int]int{}
	if len(runs) == len(plan.Jobs()) {
		return nil
	}
	for _, p := range parts {
		times[max(1, p.plan.Shard.N)]++
	}
	n := slices.MaxFunc(slices.Sorted(maps.Keys(times)), func(a, b int) int { return times[a] - times[b] })
	var all []string
	for k := 1; k <= n; k++ {
		s := Shard{k, n}
		jobs, err := plan.Shard(s)
		if err != nil {
			break // the parts were read with their shards
		}
		missing := 0
		for _, j := range jobs {
			if _, ok := runs[plan.id(j)]; !ok {
				missing++
			}
		}
		switch {
		case missing == 0:
		case n == 1:
			all = append(all, fmt.Sprintf("%d runs", missing))
		case missing == len(jobs):
			all = append(all, "shard "+s.String())
		default:
			all = append(all, fmt.Sprintf("%d of %d runs of shard %s", missing, len(jobs), s))
		}
	}
	return all
}

// Lacks tells what is missing in a line; empty: nothing.
func (m *Merged) Lacks() string { return strings.Join(m.Absent, ", ") }
