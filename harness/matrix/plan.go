package matrix

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"picklock/docker"
	"picklock/harness"
	"picklock/harness/setup"
	"picklock/harness/store"
	"picklock/locks"
	"picklock/locks/deduct"
)

// MaxRuns bounds a matrix.
const MaxRuns = 200_000

// Choices are what a command line says beside the file. They are a part of the plan.
type Choices struct {
	Runtime, Reach, Image string   // empty: as harness.Defaults
	Servers               []string // in place of every group's; empty: the groups'
	Seeds                 int      // of each cell, in place of every group's; 0: the groups'
	Seed                  *uint64  // the first one, in place of every group's
	Only                  []string // patterns of cell IDs, of which one must fit; empty: all cells
	UntilVerdict          bool     // see store.Test
}

// Plan is plan.json: all runs of a matrix.
type Plan struct {
	Name   string `json:"name"`
	Digest string `json:"plan"` // of all that Rows say; the same for all shards
	Rows   []Row  `json:"rows"` // in the order of the file
}

// Row is one cell with all that its runs need.
type Row struct {
	Cell   Cell       `json:"cell"`
	Group  string     `json:"group"`
	Seeds  []uint64   `json:"seeds"`
	Test   store.Test `json:"options"` // without seed, and without what harness.Plan fills in
	Expect []Expected `json:"expect,omitempty"`
}

// Expected replaces what is known of the lock for one property.
type Expected struct {
	Property string `json:"property"`
	Verdict  string `json:"verdict"` // "valid", "violated" or "either"
	Why      string `json:"why,omitempty"`
}

// Plan multiplies the groups out and checks that each cell can be run. An error is one
// line that names the place in the file, and wraps harness.ErrUsage.
func (s *Source) Plan(c Choices) (*Plan, error) {
	p := &Plan{Name: s.Name}
	first := map[string]string{} // the group that a cell was first in
	runs := 0
	for i := range s.Groups {
		e := expansion{source: s, at: i, group: s.Groups[i], choices: c}
		rows, err := e.rows()
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if before, twice := first[r.Cell.ID()]; twice {
				return nil, s.place(fmt.Sprintf("$.groups[%d]", i), "%s and %s both have the cell %s: leave it out of one (except), or name the variant of one",
					before, e.name(), r.Cell.ID())
			}
			first[r.Cell.ID()] = e.name()
			if !fits(c.Only, r.Cell.ID()) {
				continue
			}
			p.Rows = append(p.Rows, r)
			runs += len(r.Seeds)
		}
	}
	if len(p.Rows) == 0 {
		return nil, s.at(nil, "no cell is called %s (see picklock matrix show %s)", strings.Join(c.Only, " or "), s.file)
	}
	if runs > MaxRuns {
		return nil, s.at(nil, "%d runs are more than a matrix can have (%d)", runs, MaxRuns)
	}
	p.Digest = p.digest()
	return p, nil
}

// digest is of cells, options, expectations and seeds; which group a cell comes from is
// no part of what is run.
func (p *Plan) digest() string {
	rows := slices.Clone(p.Rows)
	for i := range rows {
		rows[i].Group = ""
	}
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err) // plain data
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// fits: one of the patterns matches the name, or there are none.
func fits(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return p == name || ok && err == nil
	})
}

// CheckPattern says whether a pattern of cells is one.
func CheckPattern(p string) error {
	_, err := path.Match(p, "")
	return err
}

// Options are those of the test of a row with that seed.
func (r Row) Options(root string, seed uint64) harness.Options {
	o := harness.Options{Test: r.Test, Root: root}
	setup.Seed(&o, seed)
	return o
}

// Waits is how long a run of the row waits at least: its load.
func (r Row) Waits() time.Duration { return time.Duration(r.Test.TimeLimit) }

// Job is one run of a plan.
type Job struct {
	Row  int // in Plan.Rows
	Seed uint64
}

// Jobs are all runs: every cell with its first seed, then every cell with its second one,
// so that a matrix that is broken off early has something to say on every cell.
func (p *Plan) Jobs() []Job {
	var all []Job
	for turn, more := 0, true; more; turn++ {
		more = false
		for i, r := range p.Rows {
			if turn < len(r.Seeds) {
				all, more = append(all, Job{i, r.Seeds[turn]}), true
			}
		}
	}
	return all
}

// Waiting is how long the loads of the runs are, one after the other.
func (p *Plan) Waiting(jobs []Job) time.Duration {
	var sum time.Duration
	for _, j := range jobs {
		sum += p.Rows[j.Row].Waits()
	}
	return sum
}

// ID names a run: the cell's ID and the seed.
func (p *Plan) id(j Job) runID { return runID{p.Rows[j.Row].Cell.ID(), j.Seed} }

// runID names a run of a matrix.
type runID struct {
	cell string
	seed uint64
}

// checkLock, and its likes, say what is wrong with a name of the file; nil: nothing.
func checkLock(name string) error {
	_, ok, err := locks.Lookup(name)
	if err == nil && !ok {
		plain, _, _ := strings.Cut(name, ":")
		err = harness.Unknown("lock", plain, harness.Choices()["lock"])
	}
	return err
}

func checkDeduction(name string) error {
	_, ok, err := deduct.Lookup(name)
	if err == nil && !ok {
		plain, _, _ := strings.Cut(name, ":")
		err = harness.Unknown("deduction", plain, harness.Choices()["deduct"])
	}
	return err
}

func checkTopology(name string) error { return checkWord("topology", name) }

func checkNemesis(name string) error { return checkWord("nemesis", name) }

func checkWord(what, name string) error {
	if all := harness.Choices()[what]; !slices.Contains(all, name) {
		return harness.Unknown(what, name, all)
	}
	return nil
}

func checkServer(name string) error {
	_, err := docker.TagFor(name)
	return err
}
