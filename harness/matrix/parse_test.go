package matrix

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picklock/harness"
)

// matrixOf parses and plans the text of a file.
func matrixOf(text string, c Choices) (*Plan, error) {
	s, err := Parse("m.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return s.Plan(c)
}

func mustPlan(t *testing.T, text string, c Choices) *Plan {
	t.Helper()
	p, err := matrixOf(text, c)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func ids(p *Plan) (all []string) {
	for _, r := range p.Rows {
		all = append(all, r.Cell.ID())
	}
	return all
}

// TestMistakes: one line that names the file and the place.
func TestMistakes(t *testing.T) {
	const group = "name: m\ngroups:\n- {locks: [uuid-lua], nemeses: [none]}\n"
	one := func(fields string) string { return "name: m\ngroups:\n- name: g\n" + fields }
	for _, c := range []struct{ text, place, says string }{
		{"", "m.yaml:", "it is empty"},
		{"a: [", "m.yaml:1:", ""},
		{"groups: []\n", "m.yaml:", "name of the matrix"},
		{"name: a/b\ngroups: []\n", "m.yaml:1:7", "a/b"},
		{"name: m\n", "m.yaml:", "no groups"},
		{group + "---\n" + group, "m.yaml:", "second"},
		{one("  locks: {uuid-lua: 1}\n"), "m.yaml:4:", "mapping"},
		{"name: m\ngroups:\n- {locks: [uuid-lua], nemeses: [none], servers: [redis:7.0]}\n", "m.yaml:3:", "in quotes"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  seeds: 1.5\n"), "m.yaml:6:", "such as 3"},
		{group + "colour: red\n", "m.yaml:4:1", "colour"},
		{one("  lock: x\n"), "m.yaml:4:3", "lock"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  options: {ttl: 5}\n"), "m.yaml:6:13", `"1.5s"`},
		{"name: m\noptions:\n  time-limit: long\n", "m.yaml:3:3", `"long"`},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  options: {colour: 5}\n"), "m.yaml:6:13", "colour"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  options: {lock: setnx}\n"), "m.yaml:6:19", "under locks"},
		{"name: m\noptions: {faults: [{kind: kill-client, at: 1s}]}\ngroups:\n- {locks: [uuid-lua], nemeses: [none]}\n", "m.yaml:2:19", "by a group"},
		{one("  nemeses: [none]\n"), "m.yaml:3:3", "no locks"},
		{one("  locks: [uuid-lua]\n"), "m.yaml:3:3", "no nemeses"},
		{one("  locks: [uuid-lua, uid-lua]\n  nemeses: [none]\n"), "m.yaml:4:21", `did you mean "uuid-lua"`},
		{one("  locks: [\"redlock:quorum=9\"]\n  nemeses: [none]\n"), "m.yaml:4:11", "quorum"},
		{one("  locks: [uuid-lua, uuid-lua]\n  nemeses: [none]\n"), "m.yaml:4:21", "twice"},
		{one("  locks: [uuid-lua]\n  deductions: [redwrite]\n  nemeses: [none]\n"), "m.yaml:5:16", `"read-write"`},
		{one("  locks: [uuid-lua]\n  topologies: [cluster]\n  nemeses: [none]\n"), "m.yaml:5:16", "single"},
		{one("  locks: [uuid-lua]\n  servers: [redis:9.9]\n  nemeses: [none]\n"), "m.yaml:5:13", "valkey:8"},
		{one("  locks: [uuid-lua]\n  nemeses: [none, pause-clent]\n"), "m.yaml:5:19", `"pause-client"`},
		{one("  locks: [uuid-lua]\n  nemeses: [[none, kill-node]]\n"), "m.yaml:5:13", "none cannot stand"},
		{one("  locks: [uuid-lua]\n  nemeses: [[]]\n"), "m.yaml:5:13", "written none"},
		{one("  locks: [uuid-lua]\n  nemeses: [none, [none]]\n"), "m.yaml:5:19", "twice"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  seeds: 0\n"), "m.yaml:6:", "1 to"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  seeds: {count: 2, first: 18446744073709551615}\n"), "m.yaml:6:", "not so many seeds"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  seeds: many\n"), "m.yaml:6:", ""},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  where: maybe\n"), "m.yaml:6:", `"possible"`},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  variant: a b\n"), "m.yaml:6:", "a b"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  options: {clients: -1}\n"), "m.yaml:6:", "--clients must be at least 1"},
		{one("  locks: [uuid-lua]\n  nemeses: [pause-client]\n  options: {ttl: 9s}\n"), "m.yaml:6:", "has no room"},
		{one("  locks: [uuid-lua]\n  nemeses: [pause-client]\n  where: possible\n  options: {ttl: 9s}\n"), "m.yaml:7:", "has no room"},
		{one("  locks: [redlock]\n  topologies: [failover]\n  nemeses: [none]\n"), "m.yaml:4:", "redlock does not run on topology failover"},
		{one("  locks: [redlock]\n  topologies: [failover]\n  nemeses: [none]\n  where: possible\n"), "m.yaml:4:", "no combination is possible"},
		{one("  locks: [uuid-lua]\n  nemeses: [failover]\n"), "m.yaml:4:", "--replicas 1"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  except: [{}]\n"), "m.yaml:6:", "everything"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  except: [{lock: setnx}]\n"), "m.yaml:6:", "fits no combination"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  except: [{lock: \"[\"}]\n"), "m.yaml:6:", "no pattern"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  except: [{lock: uuid-lua}]\n"), "m.yaml:4:", "all are left out"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  expect: [{property: onwership, verdict: valid}]\n"), "m.yaml:6:", `"ownership"`},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  expect: [{property: ownership, verdict: good}]\n"), "m.yaml:6:", "valid, violated or either"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  expect: [{property: ownership, verdict: valid, nemesis: kill-node}]\n"), "m.yaml:6:", "fits no cell"},
		{one("  locks: [none]\n  nemeses: [none]\n  expect: [{property: ownership, verdict: valid}]\n"), "m.yaml:6:", "promises ownership"},
		{one("  locks: [uuid-lua]\n  nemeses: [none]\n  options: {faults: [{kind: kill-client, at: 1s}]}\n"), "m.yaml:5:", "cannot stand beside"},
		{one("  locks: [uuid-lua]\n  options: {faults: [{kind: kill-cliet, at: 1s}]}\n"), "m.yaml:5:", `"kill-client"`},
		{group + "- {name: second, locks: [setnx, uuid-lua], nemeses: [none]}\n", "m.yaml:4:", `group 1 and group "second" both have the cell uuid-lua+read-write_single_none`},
		{one("  locks: all\n  deductions: all\n  nemeses: all\n  seeds: 199999\n"), "m.yaml:4:", "more than 200000 runs"},
	} {
		_, err := matrixOf(c.text, Choices{})
		if err == nil {
			t.Errorf("no error for\n%s", c.text)
			continue
		}
		if s := err.Error(); !strings.HasPrefix(s, c.place) || !strings.Contains(s, c.says) || strings.Contains(s, "\n") || !errors.Is(err, harness.ErrUsage) {
			t.Errorf("error %q (wrong usage: %v), want %s ... %s, for\n%s", s, errors.Is(err, harness.ErrUsage), c.place, c.says, c.text)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, name := range []string{"no-such.yaml", t.TempDir()} {
		if _, err := Load(name); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), filepath.Base(name)) && !strings.Contains(err.Error(), "directory") {
			t.Errorf("%s: %v, want a line on wrong usage", name, err)
		}
	}
}

// TestProduct: a group is the product of its lists, without what is left out.
func TestProduct(t *testing.T) {
	p := mustPlan(t, `
name: m
options: {ttl: 500ms, time-limit: 6s, workers: 3}
groups:
- locks: [uuid-lua, "redlock:quorum=majority"]
  deductions: [read-write, lua]
  topologies: [single, redlock]
  nemeses: [none, [pause-client, kill-client], failover]
  servers: [redis:7.0, valkey:8]
  where: possible
  seeds: {count: 2, first: 7}
  except: [{deduct: lua, nemesis: "pause-*"}, {server: "valkey*", topology: redlock}]
  expect:
  - {property: ownership, verdict: either, why: first, nemesis: none}
  - {property: ownership, verdict: violated, why: last, lock: redlock}
- {locks: uuid-lua, nemeses: none, variant: slow, options: {time-limit: 9s, workers: 1}}
`, Choices{})
	want := []string{
		"uuid-lua+read-write_single_none@redis:7.0", "uuid-lua+read-write_single_none@valkey:8",
		"uuid-lua+read-write_single_pause-client,kill-client@redis:7.0", "uuid-lua+read-write_single_pause-client,kill-client@valkey:8",
		"uuid-lua+lua_single_none@redis:7.0", "uuid-lua+lua_single_none@valkey:8",
		"redlock+read-write_single_none@redis:7.0", "redlock+read-write_single_none@valkey:8",
		"redlock+read-write_single_pause-client,kill-client@redis:7.0", "redlock+read-write_single_pause-client,kill-client@valkey:8",
		"redlock+read-write_redlock_none@redis:7.0", "redlock+read-write_redlock_pause-client,kill-client@redis:7.0",
		"redlock+lua_single_none@redis:7.0", "redlock+lua_single_none@valkey:8", "redlock+lua_redlock_none@redis:7.0",
		"uuid-lua+read-write_single_none#slow",
	}
	if got := ids(p); !slices.Equal(got, want) {
		t.Fatalf("cells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, r := range p.Rows {
		workers, seeds := 3, "[7 8]"
		if r.Cell.Variant == "slow" {
			workers, seeds = 1, "[1]"
		}
		if r.Test.Workers != workers || fmt.Sprint(r.Seeds) != seeds {
			t.Errorf("%s: %d workers and seeds %v, want %d and %s", r.Cell.ID(), r.Test.Workers, r.Seeds, workers, seeds)
		}
		expect := ""
		switch {
		case r.Cell.Lock == "redlock":
			expect = "[{ownership violated last}]"
		case len(r.Cell.Nemesis) == 0 && r.Cell.Variant == "":
			expect = "[{ownership either first}]"
		default:
			expect = "[]"
		}
		if fmt.Sprint(r.Expect) != expect {
			t.Errorf("%s: expected %v, want %s", r.Cell.ID(), r.Expect, expect)
		}
	}
}

// TestGivenFaults: a schedule names the cell's faults, and the seed varies its picks only.
func TestGivenFaults(t *testing.T) {
	p := mustPlan(t, "name: m\ngroups:\n- {locks: uuid-lua, options: {ttl: 500ms, faults: [{kind: kill-client, at: 1s}, {kind: flush, at: 2s}]}, seeds: 2}\n", Choices{})
	if got := ids(p); !slices.Equal(got, []string{"uuid-lua+read-write_single_kill-client,flush"}) {
		t.Fatalf("cells %v", got)
	}
	a, b := p.Rows[0].Options("store", 1), p.Rows[0].Options("store", 2)
	if !a.Explicit || a.Schedule[0].Pick == b.Schedule[0].Pick || a.Schedule[0].At != b.Schedule[0].At || p.Rows[0].Test.Schedule[0].Pick != 0 {
		t.Errorf("schedules %+v and %+v: want that only the picks differ", a.Schedule, b.Schedule)
	}
}

func TestChoices(t *testing.T) {
	const text = "name: m\ngroups:\n- {locks: [uuid-lua, setnx], nemeses: [none, kill-client], servers: [\"redis:7.0\", \"redis:8.0\"], seeds: 3}\n"
	seed := uint64(40)
	for _, c := range []struct {
		choices Choices
		cells   int
		seeds   string
		id      string
	}{
		{Choices{}, 8, "[1 2 3]", "uuid-lua+read-write_single_none@redis:7.0"},
		{Choices{Seeds: 2, Seed: &seed}, 8, "[40 41]", "uuid-lua+read-write_single_none@redis:7.0"},
		{Choices{Servers: []string{"valkey:8"}}, 4, "[1 2 3]", "uuid-lua+read-write_single_none@valkey:8"},
		{Choices{Only: []string{"setnx+*", "*kill-client@redis:8.0"}}, 5, "[1 2 3]", "uuid-lua+read-write_single_kill-client@redis:8.0"},
		{Choices{Runtime: "process"}, 8, "[1 2 3]", "uuid-lua+read-write_single_none@redis:7.0"},
	} {
		p := mustPlan(t, text, c.choices)
		if got := ids(p); len(got) != c.cells || got[0] != c.id || fmt.Sprint(p.Rows[0].Seeds) != c.seeds {
			t.Errorf("%+v: %d cells from %s with seeds %v; want %d from %s with %s", c.choices, len(got), got[0], p.Rows[0].Seeds, c.cells, c.id, c.seeds)
		}
	}
	for _, c := range []Choices{{Only: []string{"nothing"}}, {Servers: []string{"redis:9.9"}}, {Seeds: MaxRuns + 1}} {
		if _, err := matrixOf(text, c); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%+v: %v, want wrong usage", c, err)
		}
	}
}

// TestDigest: it is the same for what runs the same, and another for anything else.
func TestDigest(t *testing.T) {
	const text = "name: m\ngroups:\n- {name: g, locks: [uuid-lua, setnx], nemeses: [none], seeds: 2, options: {ttl: 500ms}}\n"
	seed := uint64(2)
	first := mustPlan(t, text, Choices{}).Digest
	for change, same := range map[string]bool{
		text:                   true,
		"# a comment\n" + text: true,
		strings.Replace(text, "name: g", "name: h", 1):                                                     true,
		strings.Replace(text, "setnx", "setex-del", 1):                                                     false,
		strings.Replace(text, "500ms", "501ms", 1):                                                         false,
		strings.Replace(text, "seeds: 2", "seeds: 3", 1):                                                   false,
		strings.Replace(text, "seeds: 2", "seeds: 2, expect: [{property: ownership, verdict: either}]", 1): false,
	} {
		if got := mustPlan(t, change, Choices{}).Digest; (got == first) != same {
			t.Errorf("same digest: %v, want %v, for\n%s", got == first, same, change)
		}
	}
	for _, c := range []Choices{{Seeds: 3}, {Seed: &seed}, {Only: []string{"setnx*"}}, {Servers: []string{"valkey:8"}}, {Runtime: "process"}} {
		if mustPlan(t, text, c).Digest == first {
			t.Errorf("%+v does not change the digest", c)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"ladder"} {
		text, _ := Builtin(name)
		f.Add(text[:min(len(text), 3000)])
	}
	f.Add([]byte("name: m\ngroups:\n- {locks: [uuid-lua], nemeses: [none, [kill-node, flush]], seeds: {count: 2}, except: [{nemesis: x}]}\n"))
	f.Add([]byte("name: m\noptions: {ttl: 1}\ngroups: [{locks: all, nemeses: none, expect: [{property: ownership, verdict: valid}]}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := matrixOf(string(text), Choices{Only: []string{"setnx*", "uuid-lua*"}})
		if err == nil {
			if len(p.Rows) == 0 {
				t.Error("a plan without cells")
			}
			return
		}
		if !errors.Is(err, harness.ErrUsage) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "m.yaml") {
			t.Errorf("error %q; want one line of wrong usage that names the file", err)
		}
	})
}
