// Package matrix runs many tests and says what they show together: every lock on every
// topology under every fault, each with several seeds, each judged against what is known
// of the lock.
//
// In goes a file that names locks, deductions, topologies, faults, servers and seeds; out
// comes a Matrix: a Result for each cell, of which nothing is merged into anything else.
package matrix

import (
	"fmt"
	"strings"
	"time"

	"picklock/harness/store"
	"picklock/models"
)

// Cell is what one row of tests has in common: all but the seed.
type Cell struct {
	Lock     string   `json:"lock" yaml:"lock"`
	Deduct   string   `json:"deduct" yaml:"deduct"`
	Topology string   `json:"topology" yaml:"topology"`
	Nemesis  []string `json:"nemesis" yaml:"nemesis"`                     // empty: none
	Server   string   `json:"server,omitempty" yaml:"server,omitempty"`   // "redis:7.0"; empty: what the runtime has
	Variant  string   `json:"variant,omitempty" yaml:"variant,omitempty"` // the name of the other options, where a matrix has cells that differ in these alone
}

// ID names the cell in every report, baseline and comparison:
// "uuid-lua+read-write_single_pause-client@redis:7.0#slow".
func (c Cell) ID() string {
	id := store.TestName(c.Lock, c.Deduct, c.Topology, c.Nemesis)
	if c.Server != "" {
		id += "@" + c.Server
	}
	if c.Variant != "" {
		id += "#" + c.Variant
	}
	return id
}

// Fault names the cell's faults as one column: "pause-client", "pause-client+kill-node", "none".
func (c Cell) Fault() string {
	if len(c.Nemesis) == 0 {
		return "none"
	}
	return strings.Join(c.Nemesis, "+")
}

// Outcome is what became of a property, a run or a cell.
type Outcome string

// The outcomes, best first.
const (
	AsExpected          Outcome = "as expected"
	Vacuous             Outcome = "vacuous"              // the run proves nothing
	Unknown             Outcome = "unknown"              // a property could not be decided
	NotReproduced       Outcome = "not reproduced"       // expected to be violated, was not
	Error               Outcome = "error"                // picklock itself failed
	UnexpectedViolation Outcome = "unexpected violation" // beats all else
)

// Outcomes are all of them, best first.
var Outcomes = []Outcome{AsExpected, Vacuous, Unknown, NotReproduced, Error, UnexpectedViolation}

// Judged is one property in one run.
type Judged struct {
	Verdict  models.Verdict `json:"verdict"`
	Expected string         `json:"expected"` // "valid", "violated" or "either"
	Outcome  Outcome        `json:"outcome"`
	Count    int            `json:"count,omitempty"` // violations found
	Why      string         `json:"why,omitempty"`   // the known weakness, or why it is unknown
	Story    []string       `json:"story,omitempty"` // of the first violation
}

// Run is one test of a cell.
type Run struct {
	Seed    uint64    `json:"seed"`
	Dir     string    `json:"dir,omitempty"` // of the test, relative to the store's root, with slashes
	Started time.Time `json:"started"`
	TookS   float64   `json:"took_s"`   // from the start of the servers to the verdict
	WaitedS float64   `json:"waited_s"` // of that, the load: what TTLs and time limits make unavoidable
	AfterS  float64   `json:"after_s"`  // from the beginning of the load to the first violation; -1: none
	Early   bool      `json:"early,omitempty"`
	Outcome Outcome   `json:"outcome"`
	Why     string    `json:"why,omitempty"` // in one line, where it is not as expected
	// Properties that were judged. Empty where the harness failed.
	Properties map[models.Property]Judged `json:"properties,omitempty"`
	Measures   models.Measures            `json:"measures,omitzero"`
	VacuousWhy []string                   `json:"vacuous_why,omitempty"`
	Rerun      string                     `json:"rerun,omitempty"`
	Error      string                     `json:"error,omitempty"`
}

// Result is a cell with its runs, by seed.
type Result struct {
	Cell    Cell    `json:"cell"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"` // in one line, where it is not as expected
	// Counts are the outcomes of the runs; Rates, by property, how often it was violated.
	Counts map[Outcome]int          `json:"counts"`
	Rates  map[models.Property]Rate `json:"rates,omitempty"`
	Runs   []Run                    `json:"runs"`
}

// Matrix is matrix.json. It is an interface for other programs: fields are added, never
// renamed.
type Matrix struct {
	Name    string            `json:"name"`
	Plan    string            `json:"plan"` // digest of what was to be run; the same for all shards
	Shard   string            `json:"shard,omitempty"`
	Started time.Time         `json:"started"`
	WallS   float64           `json:"wall_s"` // of all sittings together
	Jobs    int               `json:"jobs"`
	Missing int               `json:"missing,omitempty"` // runs that the plan has and the matrix has not: broken off, or a shard
	Outcome Outcome           `json:"outcome"`           // the worst of the cells
	About   map[string]string `json:"about,omitempty"`   // versions, image digest, host
	Cells   []Result          `json:"cells"`             // by ID
	Store   string            `json:"-"`                 // root of the store that Run.Dir is relative to
}

// Unavoidable is how long the matrix had to wait: the loads of all runs, divided by the jobs.
func (m *Matrix) Unavoidable() time.Duration {
	s := 0.0
	for _, c := range m.Cells {
		for _, r := range c.Runs {
			s += r.WaitedS
		}
	}
	return time.Duration(s / float64(max(1, m.Jobs)) * 1e9)
}

// Count is how many cells have each outcome.
func (m *Matrix) Count() map[Outcome]int {
	n := map[Outcome]int{}
	for _, c := range m.Cells {
		n[c.Outcome]++
	}
	return n
}

// String tells how many cells have each outcome: "12 as expected, 1 vacuous".
func (m *Matrix) String() string {
	n := m.Count()
	var parts []string
	for _, o := range Outcomes {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	return strings.Join(parts, ", ")
}
