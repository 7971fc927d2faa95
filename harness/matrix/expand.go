package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/locks"
	"picklock/models"
)

// expansion multiplies one group out.
type expansion struct {
	source  *Source
	at      int // of the group
	group   Group
	choices Choices
}

// combination is a cell before it is planned.
type combination struct {
	lock, deduct, topology, server string
	nemesis                        []string
}

// name tells which group it is.
func (e *expansion) name() string {
	if e.group.Name != "" {
		return fmt.Sprintf("group %q", e.group.Name)
	}
	return fmt.Sprintf("group %d", e.at+1)
}

// fail is an error at a field of the group.
func (e *expansion) fail(field, format string, args ...any) error {
	return e.source.place(group(e.at, field), "%s: %s", e.name(), fmt.Sprintf(format, args...))
}

func (e *expansion) rows() ([]Row, error) {
	if err := e.complete(); err != nil {
		return nil, err
	}
	g := &e.group
	size := g.Seeds.Count
	for _, n := range []int{len(g.Locks), len(g.Deductions), len(g.Topologies), len(g.Nemeses), len(g.Servers)} {
		if size *= n; size > MaxRuns {
			return nil, e.fail("locks", "it has more than %d runs", MaxRuns)
		}
	}
	left := make([]int, len(g.Except))
	var rows []Row
	for _, lock := range g.Locks {
		for _, deduct := range g.Deductions {
			for _, topology := range g.Topologies {
				for _, nemesis := range g.Nemeses {
					for _, server := range g.Servers {
						r, err := e.row(combination{lock, deduct, topology, server, nemesis}, left)
						if err != nil {
							return nil, err
						}
						if r != nil {
							rows = append(rows, *r)
						}
					}
				}
			}
		}
	}
	for i, n := range left {
		if n == 0 {
			return nil, e.fail(fmt.Sprintf("except[%d]", i), "this exception fits no combination of the group")
		}
	}
	if len(rows) == 0 {
		return nil, e.fail("locks", "no combination is possible, or all are left out")
	}
	return rows, e.override(rows)
}

// row plans one combination; nil: it is left out. left counts what each exception fits.
func (e *expansion) row(c combination, left []int) (*Row, error) {
	base := harness.Defaults()
	e.source.Options.Apply(&base)
	e.group.Options.Apply(&base)
	base.Lock, base.Deduct, base.Topology, base.Nemesis, base.Server = c.lock, c.deduct, c.topology, c.nemesis, c.server
	base.Explicit = len(base.Schedule) > 0
	base.UntilVerdict = base.UntilVerdict || e.choices.UntilVerdict
	if ch := e.choices; ch.Runtime != "" || ch.Reach != "" || ch.Image != "" {
		base.Runtime, base.Reach, base.Image = or(ch.Runtime, base.Runtime), or(ch.Reach, base.Reach), ch.Image
	}
	out := false
	for i, x := range e.group.Except {
		cell := Cell{Lock: c.lock, Deduct: c.deduct, Topology: c.topology, Nemesis: c.nemesis, Server: c.server}
		if x.fits(cell) {
			left[i]++
			out = true
		}
	}
	if out {
		return nil, nil
	}
	r := &Row{Group: e.name(), Test: base.Test}
	for i := range e.group.Seeds.Count {
		r.Seeds = append(r.Seeds, e.group.Seeds.First+uint64(i))
	}
	t, impossible, err := e.try(*r)
	switch {
	case err != nil:
		return nil, e.fail("options", "%s × %s on %s under %s: %s", c.lock, c.deduct, c.topology, or(strings.Join(c.nemesis, "+"), "none"), err)
	case impossible != nil && e.group.Where == possible:
		return nil, nil
	case impossible != nil:
		return nil, e.fail("locks", "%s; leave it out (except), or all that cannot be (where: %s)", impossible, possible)
	}
	r.Test.Lock, r.Test.Deduct, r.Test.Nemesis = t.Lock, t.Deduct, t.Nemesis
	r.Cell = Cell{Lock: t.Lock, Deduct: t.Deduct, Topology: t.Topology, Nemesis: t.Nemesis, Server: t.Server, Variant: e.group.Variant}
	return r, nil
}

// possible is the word that leaves out what cannot be.
const possible = "possible"

// try plans the row's first run. What the lock, or the topology, can never do is
// impossible; what is wrong with the options is an error.
func (e *expansion) try(r Row) (t *store.Test, impossible, wrong error) {
	o := r.Options("", r.Seeds[0])
	lock, _ := locks.Find(o.Lock) // the names were looked at
	if !slices.Contains(lock.Topologies, o.Topology) {
		return nil, fmt.Errorf("the lock %s does not run on topology %s, but on: %s", o.Lock, o.Topology, strings.Join(lock.Topologies, ", ")), nil
	}
	planned, err := harness.Plan(o)
	if err == nil {
		return &planned.Test, nil, nil
	}
	calm := o
	calm.Nemesis, calm.Schedule, calm.Explicit = nil, nil, false
	if _, wrong := harness.Plan(calm); wrong != nil {
		return nil, nil, wrong
	}
	long := o
	long.TimeLimit = store.Duration(longEnough)
	if long.TTL == 0 || long.TTL > store.Duration(longEnough/10) {
		long.TTL = store.Duration(time.Second)
	}
	if _, never := harness.Plan(long); never != nil && len(o.Schedule) == 0 || never != nil && o.Explicit && e.group.Where == possible {
		return nil, err, nil
	}
	return nil, nil, err
}

// longEnough is a time limit with room for every fault.
const longEnough = 10 * time.Minute

// complete fills in the group's defaults, puts in "all", and checks every name.
func (e *expansion) complete() error {
	g := &e.group
	if g.Seeds.Count == 0 && g.Seeds.First == 0 {
		g.Seeds = seeds{1, 1}
	}
	if e.choices.Seeds > 0 {
		g.Seeds.Count = e.choices.Seeds
	}
	if e.choices.Seed != nil {
		g.Seeds.First = *e.choices.Seed
	}
	if g.Seeds.Count < 1 || g.Seeds.Count > MaxRuns {
		return e.fail("seeds", "there must be 1 to %d seeds, not %d", MaxRuns, g.Seeds.Count)
	}
	if g.Seeds.First+uint64(g.Seeds.Count) < g.Seeds.First {
		return e.fail("seeds", "there are not so many seeds from %d on", g.Seeds.First)
	}
	if g.Where != "" && g.Where != possible {
		return e.fail("where", "where can be %q, or nothing, not %q", possible, g.Where)
	}
	if g.Variant != "" && !isName(g.Variant) {
		return e.fail("variant", "the name of a variant must be of letters, digits and -_. , not %q", g.Variant)
	}
	if err := e.completeNemeses(); err != nil {
		return err
	}
	if len(e.choices.Servers) > 0 {
		g.Servers = slices.Clone(e.choices.Servers)
	}
	if len(g.Servers) == 0 {
		g.Servers = words{""}
	}
	if len(g.Deductions) == 0 {
		g.Deductions = words{"read-write"}
	}
	if len(g.Topologies) == 0 {
		g.Topologies = words{"single"}
	}
	if len(g.Locks) == 0 {
		return e.fail("locks", "it names no locks (see picklock list locks; all: every one)")
	}
	for _, c := range []struct {
		field, all string
		list       *words
		check      func(string) error
	}{
		{"locks", "lock", &g.Locks, checkLock}, {"deductions", "deduct", &g.Deductions, checkDeduction},
		{"topologies", "topology", &g.Topologies, checkTopology}, {"servers", "", &g.Servers, checkServer},
	} {
		if slices.Equal(*c.list, words{"all"}) && c.all != "" {
			*c.list = slices.Clone(harness.Choices()[c.all])
		}
		for i, name := range *c.list {
			if slices.Index(*c.list, name) < i {
				return e.fail(fmt.Sprintf("%s[%d]", c.field, i), "%s is there twice", name)
			}
			if c.field == "servers" && name == "" && len(*c.list) == 1 {
				continue // what the runtime has
			}
			if err := c.check(name); err != nil {
				return e.fail(fmt.Sprintf("%s[%d]", c.field, i), "%s", err)
			}
		}
	}
	return e.completeMatches()
}

func (e *expansion) completeNemeses() error {
	g := &e.group
	given := len(g.Options.Faults) > 0
	switch {
	case given && len(g.Nemeses) > 0:
		return e.fail("nemeses", "options: {faults: ...} say which faults there are: nemeses cannot stand beside them")
	case given:
		g.Nemeses = faults{nil}
		return nil
	case len(g.Nemeses) == 0:
		return e.fail("nemeses", "it names no nemeses (none: contention only; see picklock list nemeses)")
	case len(g.Nemeses) == 1 && slices.Equal(g.Nemeses[0], words{"all"}):
		g.Nemeses = nil
		for _, name := range harness.Choices()["nemesis"] {
			g.Nemeses = append(g.Nemeses, words{name})
		}
	default:
		g.Nemeses = slices.Clone(g.Nemeses)
	}
	for i, together := range g.Nemeses {
		field := fmt.Sprintf("nemeses[%d]", i)
		if len(together) == 0 {
			return e.fail(field, "a cell without faults is written none")
		}
		for n, name := range together {
			if err := checkNemesis(name); err != nil {
				return e.fail(field, "%s", err)
			}
			if len(together) > 1 && (name == "none" || name == "storm" || slices.Index(together, name) < n) {
				return e.fail(field, "%s cannot stand with other faults, or twice", name)
			}
		}
		if slices.ContainsFunc(g.Nemeses[:i], func(before words) bool {
			return slices.Equal(before, together) || len(before) == 0 && together[0] == "none"
		}) {
			return e.fail(field, "%s is there twice", strings.Join(together, "+"))
		}
		if together[0] == "none" {
			g.Nemeses[i] = nil
		}
	}
	return nil
}

// completeMatches checks the patterns and the expectations.
func (e *expansion) completeMatches() error {
	for i, m := range e.group.Except {
		field := fmt.Sprintf("except[%d]", i)
		if m.empty() {
			return e.fail(field, "this exception would leave out everything; it takes a lock, deduct, topology, nemesis or server")
		}
		if err := m.check(); err != nil {
			return e.fail(field, "%s", err)
		}
	}
	for i, x := range e.group.Expect {
		field := fmt.Sprintf("expect[%d]", i)
		if err := x.check(); err != nil {
			return e.fail(field, "%s", err)
		}
		if !slices.Contains(slices.Concat(models.LockProperties, models.StockProperties), models.Property(x.Property)) {
			var all []string
			for _, p := range slices.Concat(models.LockProperties, models.StockProperties) {
				all = append(all, string(p))
			}
			return e.fail(field, "%s", harness.Unknown("property", x.Property, all))
		}
		if !slices.Contains([]string{"valid", "violated", "either"}, x.Verdict) {
			return e.fail(field, "the verdict can be valid, violated or either, not %q", x.Verdict)
		}
	}
	return nil
}

// override gives each row the expectations that fit it. One that fits none, or none that
// has its property, is a mistake.
func (e *expansion) override(rows []Row) error {
	for i, x := range e.group.Expect {
		cells, judged := 0, 0
		for n := range rows {
			r := &rows[n]
			if !x.fits(r.Cell) {
				continue
			}
			cells++
			lock, _ := locks.Find(r.Cell.Lock) // it was planned
			if !slices.Contains(lock.Promises, x.Property) && !slices.Contains(models.StockProperties, models.Property(x.Property)) {
				continue
			}
			judged++
			r.Expect = slices.DeleteFunc(r.Expect, func(o Expected) bool { return o.Property == x.Property })
			r.Expect = append(r.Expect, Expected{x.Property, x.Verdict, x.Why})
			if x.Verdict == string(models.Violated) {
				r.Test.UntilVerdict = false // the test does not know of this expectation, and could end before it shows
			}
		}
		switch field := fmt.Sprintf("expect[%d]", i); {
		case cells == 0:
			return e.fail(field, "this expectation fits no cell of the group")
		case judged == 0:
			return e.fail(field, "no lock that this expectation fits promises %s", x.Property)
		}
	}
	return nil
}

func (m Match) fields() []words { return []words{m.Lock, m.Deduct, m.Topology, m.Nemesis, m.Server} }

func (m Match) empty() bool {
	return !slices.ContainsFunc(m.fields(), func(w words) bool { return len(w) > 0 })
}

func (m Match) check() error {
	for _, w := range m.fields() {
		for _, p := range w {
			if _, err := path.Match(p, ""); err != nil {
				return fmt.Errorf("%q is no pattern", p)
			}
		}
	}
	return nil
}

func (m Match) fits(c Cell) bool {
	for i, name := range []string{c.Lock, c.Deduct, c.Topology, c.Fault(), c.Server} {
		if !fits(m.fields()[i], name) {
			return false
		}
	}
	return true
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
