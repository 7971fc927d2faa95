package scenario

import (
	"slices"
	"strings"
	"testing"

	"picklock/harness/store"
	"picklock/models"
	"picklock/nemesis"
)

// rows of the catalogue of failures.
const rows = 52

func all(t *testing.T) []Scenario {
	t.Helper()
	s, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryRowHasItsScenario(t *testing.T) {
	seen, ids := map[int]string{}, map[string]bool{}
	for _, s := range all(t) {
		if seen[s.Row] != "" || ids[s.ID] {
			t.Errorf("row %d or id %s is there twice", s.Row, s.ID)
		}
		seen[s.Row], ids[s.ID] = s.ID, true
		if len(s.Guilty) == 0 && s.ID != "majority-down" { // the one that is about being right
			t.Errorf("%s has nobody guilty", s.ID)
		}
		if len(s.Innocent) == 0 {
			t.Errorf("%s has nobody innocent", s.ID)
		}
	}
	for row := 1; row <= rows; row++ {
		if seen[row] == "" {
			t.Errorf("row %d has no scenario", row)
		}
	}
}

// TestTextsAreForReaders: steps are numbered, and no line is too long to read.
func TestTextsAreForReaders(t *testing.T) {
	for _, s := range all(t) {
		if !strings.HasPrefix(s.Happens, "1. ") || !strings.Contains(s.Happens, "\n3. ") {
			t.Errorf("%s: what happens is not told in at least three numbered steps", s.ID)
		}
		for _, text := range []string{s.Happens, s.Fix, s.Note} {
			for line := range strings.Lines(text) {
				if len(line) > 100 {
					t.Errorf("%s: a line of %d characters: %s", s.ID, len(line), line)
				}
			}
		}
	}
}

// TestEveryKindOfFaultIsUsed: a kind that no scenario uses would only be proven by unit
// tests. Those left out are covered by the tests of each kind on real servers.
func TestEveryKindOfFaultIsUsed(t *testing.T) {
	elsewhere := []string{"pause-node", "misconfigure-client", "slow-wire", "reset-connection", "isolate-node",
		"cut-one-way", "failover", "delete-key", "drop-request"}
	used := map[string]bool{}
	for _, s := range all(t) {
		for _, c := range slices.Concat(s.Guilty, s.Innocent) {
			for _, f := range s.options(c, 1).Schedule {
				used[f.Kind] = true
			}
		}
	}
	for _, k := range nemesis.All() {
		if !used[k.Name] && !slices.Contains(elsewhere, k.Name) {
			t.Errorf("no scenario uses %s", k.Name)
		}
	}
}

func TestSeedsVaryOnlyThePick(t *testing.T) {
	s := all(t)[7]
	a, b := s.options(s.Guilty[0], 1), s.options(s.Guilty[0], 2)
	if a.Schedule[0].Pick == b.Schedule[0].Pick {
		t.Error("two seeds pick alike")
	}
	for i := range a.Schedule {
		a.Schedule[i].Pick, b.Schedule[i].Pick = 0, 0
		if a.Schedule[i].At != b.Schedule[i].At || a.Schedule[i].Kind != b.Schedule[i].Kind {
			t.Errorf("fault %d differs in more than its pick", i+1)
		}
	}
	if s.Faults[0].Pick != 0 {
		t.Error("the catalogue itself was changed")
	}
}

func result(change func(*store.Result)) *store.Result {
	r := &store.Result{
		Properties: map[models.Property]*models.Judgement{
			models.Ownership: {Verdict: models.Violated, Violations: []models.Violation{{StartS: 2, Story: []string{"it deleted another's lock"}}, {StartS: 1, Story: []string{"x"}}}},
		},
		Faults: []store.Fault{{Kind: "pause-client", Landed: true}},
	}
	if change != nil {
		change(r)
	}
	return r
}

func TestGuiltyMustBeCaughtAndExplained(t *testing.T) {
	s := Scenario{Judged: []string{"ownership"}, Tells: "deleted"}
	one := 1.0
	for name, c := range map[string]struct {
		s      Scenario
		change func(*store.Result)
		met    bool
		why    string
	}{
		"caught":             {s, nil, true, ""},
		"not violated":       {s, func(r *store.Result) { r.Properties[models.Ownership].Verdict = models.Valid }, false, "ownership is valid"},
		"unknown":            {s, func(r *store.Result) { r.Properties[models.Ownership].Verdict = models.Unknown }, false, "ownership is unknown"},
		"not judged":         {s, func(r *store.Result) { delete(r.Properties, models.Ownership) }, false, "not judged"},
		"not explained":      {Scenario{Judged: s.Judged, Tells: "eaten"}, nil, false, "tells of"},
		"fault did not land": {s, func(r *store.Result) { r.Faults[0].Landed = false }, false, "did not land"},
		"vacuous":            {s, func(r *store.Result) { r.Vacuous, r.VacuousWhy = true, []string{"too few"} }, false, "too few"},
		"measure too small":  {Scenario{Measured: []Measured{{Measure: "lost_releases", Guilty: &Bound{AtLeast: &one}}}}, nil, false, "not at least 1"},
		"measure reached": {Scenario{Measured: []Measured{{Measure: "lost_releases", Guilty: &Bound{AtLeast: &one}}}},
			func(r *store.Result) { r.Measures.LostReleases = 1 }, true, ""},
	} {
		v := c.s.judge(result(c.change), true)
		if v.Met != c.met || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: met %v, %q; want %v, %q", name, v.Met, v.Why, c.met, c.why)
		}
	}
	if v := s.judge(result(nil), true); v.After != 1 {
		t.Errorf("the first violation was after %g s, want 1", v.After)
	}
}

func TestInnocentMustPass(t *testing.T) {
	s := Scenario{Judged: []string{"ownership"}}
	for name, c := range map[string]struct {
		verdict  models.Verdict
		vacuous  bool
		met, bad bool
	}{
		"valid":    {models.Valid, false, true, false},
		"violated": {models.Violated, false, false, true},
		"unknown":  {models.Unknown, false, false, false},
		"vacuous":  {models.Valid, true, false, false},
	} {
		v := s.judge(result(func(r *store.Result) { r.Properties[models.Ownership].Verdict, r.Vacuous = c.verdict, c.vacuous }), false)
		if v.Met != c.met || v.Violated != c.bad {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestRowsAndExitCodes(t *testing.T) {
	runs := func(guilty, caught, innocent, passed int) Row {
		var r Row
		for i := range guilty {
			r.Runs = append(r.Runs, Run{Guilty: true, Verdict: Verdict{Met: i < caught, After: float64(i)}})
		}
		for i := range innocent {
			r.Runs = append(r.Runs, Run{Verdict: Verdict{Met: i < passed, After: -1}})
		}
		return r
	}
	for name, c := range map[string]struct {
		row  Row
		code int
	}{
		"all":              {runs(20, 20, 20, 20), 0},
		"nineteen of 20":   {runs(20, 19, 20, 20), 0},
		"eighteen of 20":   {runs(20, 18, 20, 20), 2},
		"one missed":       {runs(1, 0, 1, 1), 2},
		"innocent unknown": {runs(20, 20, 20, 19), 2},
	} {
		if got := ExitCode([]Row{c.row}); got != c.code {
			t.Errorf("%s: exit %d, want %d", name, got, c.code)
		}
	}
	accused := runs(1, 1, 1, 0)
	accused.Runs[1].Violated = true
	if got := ExitCode([]Row{runs(1, 0, 1, 1), accused}); got != 1 {
		t.Errorf("an accused innocent: exit %d, want 1", got)
	}
	if m := runs(3, 3, 0, 0).Median(); m != 1 {
		t.Errorf("median %g, want 1", m)
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "id: x\nrow: 1\ntitle: t\nsource: s\nhappens: h\nfix: f\njudged: [ownership]\nguilty: [{lock: setex-del}]\n"
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for text, why := range map[string]string{
		strings.Replace(good, "title: t\n", "", 1):                                              `"title"`,
		strings.Replace(good, "ownership", "owners", 1):                                         "no property",
		strings.Replace(good, "setex-del", "setex", 1):                                          "setex",
		strings.Replace(good, "row: 1", "row: 0", 1):                                            "row 0",
		good + "colour: red\n":                                                                  "colour",
		good + "faults: [{kind: pause-cleint, at: 1s}]\n":                                       "pause-client",
		good + "faults: [{kind: pause-client, at: 1s, target: moon}]\n":                         "moon",
		good + "ttl: soon\n":                                                                    "soon",
		good + "tells: '('\n":                                                                   "tells",
		strings.Replace(good, "judged: [ownership]", "measured: [{measure: weight}]", 1):        "weight",
		strings.Replace(good, "judged: [ownership]", "measured: [{measure: lost_releases}]", 1): "bound",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s\nerror %v, want one that tells of %q", text, err, why)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := catalogue.ReadDir("catalogue")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := catalogue.ReadFile("catalogue/" + file.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("id: ! "))                                                                                            // on which the YAML library panics
	f.Add([]byte("id: a\nrow: 1\ntitle: b\nsource: c\nhappens: d\nfix: e\njudged: [f]\nguilty:\n- lock: g\n\n   h\n")) // a name of two lines
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := Parse(text); err != nil && strings.Contains(err.Error(), "\n") { // it must come back, with whatever answer
			t.Errorf("the error has several lines: %q", err)
		}
	})
}
