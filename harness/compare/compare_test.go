package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"picklock/harness/matrix"
	"picklock/models"
)

// given is one property of a cell: what is expected, and how often it was violated.
type given struct {
	expected string
	k, n     int
}

// result makes a cell of a matrix. Runs that decide nothing follow those of the rate.
func result(name string, g given, others ...matrix.Outcome) matrix.Result {
	var runs []matrix.Run
	add := func(v models.Verdict, o matrix.Outcome) {
		r := matrix.Run{
			Seed: uint64(len(runs) + 1), Outcome: o, Rerun: fmt.Sprintf("picklock run --lock %s --seed %d", name, len(runs)+1),
			Measures: models.Measures{DurationS: 10, SalesPerS: 100, AcquireP50MS: 5, AcquireP99MS: 20, Availability: 0.99},
		}
		if o == matrix.Error {
			r.Why, r.Error = "no server", "no server"
		} else {
			r.Properties = map[models.Property]matrix.Judged{models.MutualExclusion: {Verdict: v, Expected: g.expected, Outcome: o}}
			if v == models.Violated {
				r.Properties[models.MutualExclusion] = matrix.Judged{Verdict: v, Expected: g.expected, Outcome: o, Story: []string{fmt.Sprintf("seed %d broke it", r.Seed)}}
			}
		}
		runs = append(runs, r)
	}
	for i := range g.n {
		if i < g.n-g.k {
			add(models.Valid, matrix.AsExpected)
		} else {
			add(models.Violated, matrix.AsExpected)
		}
	}
	for _, o := range others {
		v := models.Valid
		if o == matrix.Unknown {
			v = models.Unknown
		}
		add(v, o)
	}
	return matrix.Sum(matrix.Cell{Lock: name, Deduct: "read-write", Topology: "single"}, runs)
}

func of(cells ...matrix.Result) *matrix.Matrix {
	return &matrix.Matrix{Name: "nightly", Plan: "p", Started: time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC), Cells: cells}
}

// kinds are the kinds of the items, with their severities.
func kinds(d *Difference) string {
	var out []string
	for _, i := range d.Items {
		out = append(out, fmt.Sprintf("%s (%s)", i.Kind, i.Severity))
	}
	return strings.Join(out, ", ")
}

func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		a, b matrix.Result
		want string
		exit int
	}{
		"nothing changed":                          {result("x", given{"valid", 0, 3}), result("x", given{"valid", 0, 3}), "", 0},
		"a violation is a fact, in one run":        {result("x", given{"valid", 0, 50}), result("x", given{"valid", 1, 50}), "newly violated (regression)", 1},
		"a fact in two runs":                       {result("x", given{"valid", 0, 1}), result("x", given{"valid", 1, 1}), "newly violated (regression)", 1},
		"a fact is not told twice":                 {result("x", given{"valid", 0, 50}), result("x", given{"valid", 50, 50}), "newly violated (regression)", 1},
		"violated before, more often by luck":      {result("x", given{"valid", 1, 20}), result("x", given{"valid", 4, 20}), "", 0},
		"violated before, more often":              {result("x", given{"valid", 1, 20}), result("x", given{"valid", 18, 20}), "violated more often (regression)", 1},
		"violated before, less often":              {result("x", given{"valid", 18, 20}), result("x", given{"valid", 2, 20}), "violated less often (note)", 0},
		"mended":                                   {result("x", given{"valid", 18, 20}), result("x", given{"valid", 0, 20}), "newly valid (note)", 0},
		"mended, or luck":                          {result("x", given{"valid", 1, 20}), result("x", given{"valid", 0, 20}), "", 0},
		"either, by luck":                          {result("x", given{"either", 0, 3}), result("x", given{"either", 3, 3}), "", 0},
		"either, more often":                       {result("x", given{"either", 0, 10}), result("x", given{"either", 10, 10}), "violated more often (regression)", 1},
		"either, less often":                       {result("x", given{"either", 10, 10}), result("x", given{"either", 1, 12}), "violated less often (note)", 0},
		"either, never any more":                   {result("x", given{"either", 10, 10}), result("x", given{"either", 0, 10}), "newly valid (note)", 0},
		"certain, and still so":                    {result("x", given{"violated", 20, 20}), result("x", given{"violated", 19, 20}), "", 0},
		"certain, and missed by luck":              {result("x", given{"violated", 20, 20}), result("x", given{"violated", 17, 20}), "", 0},
		"certain, and never any more":              {result("x", given{"violated", 3, 3}), result("x", given{"violated", 0, 3}), "newly valid (doubt)", 2},
		"certain, and not in the only run":         {result("x", given{"violated", 1, 1}), result("x", given{"violated", 0, 1}), "newly valid (doubt)", 2},
		"certain, never any more, is told once":    {result("x", given{"violated", 30, 30}), result("x", given{"violated", 0, 30}), "newly valid (doubt)", 2},
		"certain, and rare":                        {result("x", given{"violated", 20, 20}), result("x", given{"violated", 5, 20}), "violated less often (doubt)", 2},
		"missed before, and now never":             {result("x", given{"violated", 1, 3}), result("x", given{"violated", 0, 3}), "", 0},
		"rare before, and now certain":             {result("x", given{"violated", 2, 20}), result("x", given{"violated", 20, 20}), "violated more often (note)", 0},
		"expectation changed, and met":             {result("x", given{"valid", 0, 3}), result("x", given{"either", 2, 3}), "expectation changed (note)", 0},
		"expectation changed, and not met":         {result("x", given{"either", 1, 3}), result("x", given{"valid", 1, 3}), "expectation changed (regression)", 1},
		"expectation changed, missed":              {result("x", given{"either", 1, 3}), result("x", given{"violated", 1, 3}), "expectation changed (doubt)", 2},
		"one run became unknown":                   {result("x", given{"valid", 0, 3}), result("x", given{"valid", 0, 2}, matrix.Unknown), "became unknown (doubt)", 2},
		"one run became vacuous":                   {result("x", given{"valid", 0, 3}), result("x", given{"valid", 0, 2}, matrix.Vacuous), "became vacuous (doubt)", 2},
		"picklock failed":                          {result("x", given{"valid", 0, 3}), result("x", given{"valid", 0, 2}, matrix.Error), "became error (doubt)", 2},
		"all failed":                               {result("x", given{"valid", 0, 1}), result("x", given{"valid", 0, 0}, matrix.Error), "became error (doubt)", 2},
		"more are unknown":                         {result("x", given{"valid", 0, 3}, matrix.Unknown), result("x", given{"valid", 0, 1}, matrix.Unknown, matrix.Unknown), "", 0},
		"unknown no longer":                        {result("x", given{"valid", 0, 3}, matrix.Unknown), result("x", given{"valid", 0, 4}), "decided again (note)", 0},
		"a violation beside an unknown":            {result("x", given{"valid", 0, 3}), result("x", given{"valid", 1, 2}, matrix.Unknown), "newly violated (regression), became unknown (doubt)", 1},
		"undecided before, violated now":           {result("x", given{"valid", 0, 0}, matrix.Vacuous), result("x", given{"valid", 1, 1}), "newly violated (regression), decided again (note)", 1},
		"a vacuous violation is none, but vacuous": {result("x", given{"valid", 0, 3}), result("x", given{"valid", 0, 0}, matrix.Vacuous), "became vacuous (doubt)", 2},
	} {
		d := diffed(t, of(c.a), of(c.b))
		if got := kinds(d); got != c.want || d.Exit != c.exit {
			t.Errorf("%s: %q, exit %d; want %q, exit %d", name, got, d.Exit, c.want, c.exit)
		}
	}
}

func TestCells(t *testing.T) {
	x, y := result("x", given{"valid", 0, 3}), result("y", given{"valid", 0, 3})
	bad := result("y", given{"valid", 2, 3})
	broken := of(x, y)
	broken.Missing = 2
	other := of(x)
	other.Cells[0].Rates = map[models.Property]matrix.Rate{models.Fencing: {Expected: "valid", Of: 3}}
	for name, c := range map[string]struct {
		a, b *matrix.Matrix
		want string
		exit int
	}{
		"gone":                   {of(x, y), of(x), "gone (doubt)", 2},
		"new":                    {of(x), of(x, y), "new (note)", 0},
		"new and violated":       {of(x), of(x, bad), "newly violated (regression), new (note)", 1},
		"nothing in common":      {of(x), of(y), "incomplete (doubt), gone (doubt), new (note)", 2},
		"nothing at all":         {of(), of(), "incomplete (doubt)", 2},
		"broken off":             {of(x, y), broken, "incomplete (doubt)", 2},
		"broken off before":      {broken, of(x, y), "", 0},
		"another property":       {of(x), other, "gone (doubt), new (note)", 2},
		"the order of the cells": {of(y, x), of(x, y), "", 0},
	} {
		d := diffed(t, c.a, c.b)
		if got := kinds(d); got != c.want || d.Exit != c.exit {
			t.Errorf("%s: %q, exit %d; want %q, exit %d", name, got, d.Exit, c.want, c.exit)
		}
	}
	if _, err := Diff(of(x), of(x, x)); err == nil {
		t.Error("a cell that is there twice was compared with one")
	}
}

// TestEvidence: an item leads to the run that shows it.
func TestEvidence(t *testing.T) {
	d := diffed(t, of(result("x", given{"valid", 0, 3})), of(result("x", given{"valid", 1, 3})))
	i := d.Items[0]
	if i.Seed == nil || *i.Seed != 3 || i.Rerun != "picklock run --lock x --seed 3" || len(i.Story) != 1 || i.Story[0] != "seed 3 broke it" {
		t.Errorf("it does not lead to seed 3: %+v", i)
	}
	if want := "violated in 1 of 3 runs, violated in 0 of 3 runs before"; i.Says != want {
		t.Errorf("it says %q, want %q", i.Says, want)
	}
	d = diffed(t, of(result("x", given{"valid", 0, 3})), of(result("x", given{"valid", 0, 2}, matrix.Error)))
	if i := d.Items[0]; len(i.Story) != 1 || i.Story[0] != "no server" {
		t.Errorf("it does not say why picklock failed: %+v", i)
	}
}

func TestAbout(t *testing.T) {
	a, b := of(result("x", given{"valid", 0, 1})), of(result("x", given{"valid", 0, 1}))
	a.About, b.About = map[string]string{"redis": "7.0.1", "host": "h"}, map[string]string{"redis": "7.2.4", "host": "h", "go": "1.26"}
	b.Plan, b.Shard = "abcdefghijklmnop", "1/2"
	want := []string{
		"plan: another than before (p, now abcdefghijkl): what was run is not the same", "shard: the whole before, 1/2 now",
		"go: (not told) before, 1.26 now", "redis: 7.0.1 before, 7.2.4 now",
	}
	if got := diffed(t, a, b).About; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPower: what too few runs cannot prove is said, and with enough of them it is not.
func TestPower(t *testing.T) {
	for n, want := range map[int]bool{1: true, 3: true, 5: true, 6: false, 20: false} {
		d := diffed(t, of(result("x", given{"either", 0, n})), of(result("x", given{"either", 0, n})))
		got := strings.Contains(strings.Join(d.Notes, "\n"), "too few to prove any change")
		if got != want {
			t.Errorf("%d runs: told %v, want %v: %q", n, got, want, d.Notes)
		}
	}
	d := diffed(t, of(result("x", given{"valid", 0, 1})), of(result("x", given{"valid", 0, 1})))
	if strings.Contains(strings.Join(d.Notes, "\n"), "prove any change") {
		t.Errorf("one run is enough to prove a violation: %q", d.Notes)
	}
}

// TestFisher compares with published and hand-computed values.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		k, n, l, m int
		want       float64
	}{
		{3, 4, 1, 4, 0.4857142857},                                                                                        // Fisher's tea: 34/70
		{10, 10, 0, 10, 2.0 / 184756}, {0, 3, 3, 3, 0.1}, {0, 5, 0, 5, 1}, {5, 5, 5, 5, 1}, {1, 10, 11, 14, 0.0027594562}, // Wikipedia: dieting and studying
		{8, 10, 1, 6, 0.0349650350}, {0, 1, 1, 1, 1},
	} {
		if p := fisher(matrix.Rate{Violated: c.k, Of: c.n}, matrix.Rate{Violated: c.l, Of: c.m}); math.Abs(p-c.want) > 1e-9 {
			t.Errorf("%d of %d and %d of %d: p = %.10f, want %.10f", c.k, c.n, c.l, c.m, p, c.want)
		}
	}
}

// TestCorrections compares with the values of R's p.adjust.
func TestCorrections(t *testing.T) {
	ps := []float64{0.01, 0.04, 0.03, 0.005, 0.5}
	for name, c := range map[string]struct{ got, want []float64 }{
		"Holm":               {holm(ps), []float64{0.04, 0.09, 0.09, 0.025, 0.5}},
		"Benjamini-Hochberg": {benjaminiHochberg(ps), []float64{0.025, 0.05, 0.05, 0.025, 0.5}},
	} {
		for i := range c.want {
			if math.Abs(c.got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
				break
			}
		}
	}
}

// TestCountable: hundreds of rates that cannot differ do not hide one that does.
func TestCountable(t *testing.T) {
	var a, b []matrix.Result
	for i := range 300 {
		g, h := given{"either", 0, 8}, given{"either", 0, 8}
		if i == 7 {
			h.k = 8
		}
		if i == 9 {
			h.k = 1
		}
		a, b = append(a, result(fmt.Sprint(i), g)), append(b, result(fmt.Sprint(i), h))
	}
	d := diffed(t, of(a...), of(b...))
	if kinds(d) != "violated more often (regression)" || !strings.HasPrefix(d.Items[0].Cell, "7+") {
		t.Errorf("got %s, want the one rate that changed", kinds(d))
	}
}

// TestDeterministic: the same two matrices give the same bytes.
func TestDeterministic(t *testing.T) {
	w, bad := result("w", given{"valid", 0, 3}), result("w", given{"valid", 3, 3})
	a, b := of(w, result("x", given{"either", 0, 20}), result("y", given{"violated", 3, 3})), of(bad, result("x", given{"either", 20, 20}), result("y", given{"violated", 0, 3}))
	var first []byte
	for i := range 50 {
		text, err := json.Marshal(diffed(t, a, b))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = text
		}
		if string(text) != string(first) {
			t.Fatalf("one time\n%s\nanother time\n%s", first, text)
		}
	}
}
