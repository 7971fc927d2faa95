package grid_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"picklock/harness/matrix"
	"picklock/models"
	"picklock/reports/grid"
	"picklock/reports/grid/gridtest"
	"picklock/reports/junit/junittest"
)

func dump(w io.Writer, m *matrix.Matrix) {
	if err := json.NewEncoder(w).Encode(m); err != nil {
		panic(err)
	}
}

// text writes the text for a terminal.
func text(t *testing.T, m *matrix.Matrix, width int, colour bool, o ...grid.Option) string {
	t.Helper()
	return string(written(t, form{"txt", func(w io.Writer, m *matrix.Matrix, o ...grid.Option) error {
		return grid.Text(w, m, width, colour, o...)
	}}, m, o...))
}

var codes = regexp.MustCompile(`\x1b\[\d+m`)

func TestTextFits(t *testing.T) {
	wide := gridtest.Nightly(1)
	for i := range 60 { // many columns, with long names
		c := wide.Cells[0]
		c.Cell.Nemesis = []string{fmt.Sprintf("a-fault-with-a-long-name-%d", i), "another"}
		wide.Cells = append(wide.Cells, c)
	}
	for name, m := range map[string]*matrix.Matrix{"mixed": gridtest.Mixed(1), "hostile": gridtest.Hostile(), "wide": wide} {
		for _, width := range []int{1, 60, 80, 132} {
			plain := text(t, m, width, false, compared(m)...)
			for _, line := range strings.Split(plain, "\n") {
				path := strings.HasPrefix(line, "    out/store/")
				if n := utf8.RuneCountInString(line); n > max(width, 60) && !path {
					t.Errorf("%s, width %d: %d columns: %s", name, width, n, line)
				}
			}
			coloured := text(t, m, width, true, compared(m)...)
			if got := codes.ReplaceAllString(coloured, ""); got != plain || coloured == plain {
				t.Errorf("%s, width %d: with colour the text is another one, or without colours", name, width)
			}
			for _, r := range plain {
				if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) {
					t.Errorf("%s: the text has the control character %q", name, r)
				}
			}
		}
	}
}

// TestEveryCellIsSomewhere: no cell is lost between the pieces of a grid, and none hides
// behind another of the same name.
func TestEveryCellIsSomewhere(t *testing.T) {
	m := gridtest.Mixed(1)
	twin := m.Cells[0]
	m.Cells = append(m.Cells, twin, twin)
	for i := range 40 {
		c := m.Cells[0]
		c.Cell.Nemesis = []string{fmt.Sprintf("fault-%d", i)}
		m.Cells = append(m.Cells, c)
	}
	grids, _, _ := strings.Cut(text(t, m, 80, false), "\n  ✓ ")
	n := 0
	for _, line := range strings.Split(grids, "\n") {
		if name, cells, ok := strings.Cut(line, "  "); ok && name != "" {
			n += len(strings.Fields(cells))
		}
	}
	if n != len(m.Cells) {
		t.Errorf("the grids for a terminal show %d cells of %d", n, len(m.Cells))
	}
	for name, mark := range map[string]string{"html": `<td data-mark=`, "svg": `class="symbol `} {
		for _, f := range forms() {
			if f.name != name {
				continue
			}
			if n := strings.Count(string(written(t, f, m)), mark); n < len(m.Cells) || n > len(m.Cells)+7 {
				t.Errorf("%s shows %d cells of %d", name, n, len(m.Cells))
			}
		}
	}
}

type junitCase struct {
	Name    string `xml:"name,attr"`
	Failure *struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	} `xml:"failure"`
	Error *struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	} `xml:"error"`
	Skipped *struct{} `xml:"skipped"`
	Out     string    `xml:"system-out"`
}

func cases(t *testing.T, m *matrix.Matrix, o ...grid.Option) map[string]junitCase {
	t.Helper()
	b := written(t, form{"junit.xml", grid.JUnit}, m, o...)
	if err := junittest.Validate(t, b); err != nil {
		t.Fatalf("not by the schema: %v", err)
	}
	var doc struct {
		Suites []struct {
			Cases []junitCase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]junitCase{}
	for _, s := range doc.Suites {
		for _, c := range s.Cases {
			all[c.Name] = c
		}
	}
	return all
}

// TestJUnitPassesNothingElse: only what is as expected is a pass.
func TestJUnitPassesNothingElse(t *testing.T) {
	m := gridtest.Mixed(1)
	all := cases(t, m, compared(m)...)
	if len(all) != len(m.Cells) {
		t.Errorf("%d cases for %d cells", len(all), len(m.Cells))
	}
	want := map[matrix.Outcome]string{
		matrix.AsExpected: "pass", matrix.UnexpectedViolation: "failure unexpected-violation", matrix.NotReproduced: "failure not-reproduced",
		matrix.Unknown: "error unknown", matrix.Vacuous: "error vacuous", matrix.Error: "error error",
	}
	for _, c := range m.Cells {
		x, got, said := all[c.Cell.ID()], "pass", ""
		switch {
		case x.Skipped != nil:
			got = "skipped"
		case x.Failure != nil:
			got, said = "failure "+x.Failure.Type, x.Failure.Text
		case x.Error != nil:
			got, said = "error "+x.Error.Type, x.Error.Text
		}
		if got != want[c.Outcome] {
			t.Errorf("%s is %s and gives %s, want %s", c.Cell.ID(), c.Outcome, got, want[c.Outcome])
		}
		if c.Outcome != matrix.AsExpected && !strings.Contains(said, c.Why) {
			t.Errorf("%s does not say why: %s", c.Cell.ID(), said)
		}
	}
	bad := all["uuid-lua+read-write_single_kill-client"]
	for _, s := range []string{"client 3 worker 0 acquired the same lock", "\nAgain: picklock run --lock uuid-lua", "--seed 2", "violated in 1 of 3 runs", "https://ci.example/runs/7"} {
		if !strings.Contains(bad.Failure.Text, s) {
			t.Errorf("the failure lacks %q:\n%s", s, bad.Failure.Text)
		}
	}
	if !strings.HasPrefix(bad.Out, "[[ATTACHMENT|out/store/uuid-lua+read-write_single_kill-client/") {
		t.Errorf("the output does not begin with the report, the only attachment that GitLab takes:\n%s", bad.Out)
	}
}

// TestJUnitOfWhatIsMissing: a matrix that was broken off does not pass; a shard may.
func TestJUnitOfWhatIsMissing(t *testing.T) {
	m := gridtest.Nightly(1)
	for _, c := range []struct {
		missing int
		shard   string
		want    bool
	}{{0, "", false}, {3, "", true}, {3, "1/8", false}} {
		m.Missing, m.Shard = c.missing, c.shard
		x, ok := cases(t, m)["the matrix is whole"]
		if ok != c.want || ok && x.Error == nil {
			t.Errorf("%d runs missing, shard %q: an error for it is %v, want %v", c.missing, c.shard, ok, c.want)
		}
	}
	if x := cases(t, &matrix.Matrix{})["the matrix is whole"]; x.Error == nil {
		t.Error("a matrix without cells passes")
	}
}

func TestAnnotationsAreBounded(t *testing.T) {
	m := gridtest.Nightly(1)
	for i := range m.Cells {
		if i < 37 {
			m.Cells[i].Outcome, m.Cells[i].Why = matrix.UnexpectedViolation, "why"
		} else if i < 47 {
			m.Cells[i].Outcome, m.Cells[i].Why = matrix.Unknown, "why"
		}
	}
	got := strings.Split(strings.TrimSuffix(string(written(t, form{"annotations", grid.Annotations}, m)), "\n"), "\n")
	n := map[string]int{}
	for _, line := range got {
		kind, _, _ := strings.Cut(line, " ")
		n[kind]++
	}
	if n["::error"] != 10 || n["::warning"] != 10 || n["::notice"] != 1 || len(got) != 21 {
		t.Errorf("%v in %d lines, want 10 errors, 10 warnings, 1 notice", n, len(got))
	}
	if !strings.HasPrefix(got[9], "::error title=28 more cells::") {
		t.Errorf("the tenth of 37 errors is %q, want it to count the other 28", got[9])
	}
	if strings.Contains(got[19], "more cells") {
		t.Errorf("the tenth of 10 warnings is %q, want the cell", got[19])
	}
}

// TestAnnotationsOfHostileNames: nothing ends a command early or begins another one.
func TestAnnotationsOfHostileNames(t *testing.T) {
	line := regexp.MustCompile(`^::(error|warning|notice) title=([^:,%]|%25|%3A|%2C)*::([^%]|%25|%0A)*$`)
	for _, s := range strings.Split(strings.TrimSuffix(string(written(t, form{"annotations", grid.Annotations}, gridtest.Hostile())), "\n"), "\n") {
		if !line.MatchString(s) {
			t.Errorf("not one whole command: %q", s)
		}
	}
}

// TestMarkdownOfHostileNames: of all that Markdown and HTML know, only our own is in it.
func TestMarkdownOfHostileNames(t *testing.T) {
	m := gridtest.Hostile()
	got := string(written(t, form{"md", grid.Markdown}, m, compared(m)...))
	for _, s := range []string{"<script", "](javascript", "[l]", "**b**", "@all", " #1", "`", "${{", "alert(1)<", "::error::"} {
		if strings.Contains(got, s) {
			t.Errorf("the summary has %q", s)
		}
	}
	tags := regexp.MustCompile(`</?(details( open)?|summary|code)>|<!-- -->|<https://ci.example/runs/7>`)
	if rest := tags.ReplaceAllString(got, ""); strings.Contains(rest, "<") {
		t.Errorf("there is a tag that is not ours: %.200s", rest[strings.Index(rest, "<"):])
	}
	columns := 0
	for _, line := range strings.Split(got, "\n") {
		n := strings.Count(line, "|")
		if n > 0 && columns > 0 && n != columns {
			t.Errorf("a row has %d cells in a table of %d: %.200s", n, columns, line)
		}
		columns = n
	}
}

// TestMarkdownStaysSmall: GitHub drops a summary of more than a megabyte.
func TestMarkdownStaysSmall(t *testing.T) {
	m := gridtest.Nightly(1)
	long := strings.Repeat("*", 3000)
	for i := range m.Cells {
		c := &m.Cells[i]
		c.Outcome, c.Why = matrix.UnexpectedViolation, "it broke"
		for k := range c.Runs {
			c.Runs[k].Outcome = c.Outcome
			c.Runs[k].Properties[models.NoLostUpdate] = matrix.Judged{Verdict: models.Violated, Outcome: c.Outcome, Story: slices.Repeat([]string{long}, 100)}
		}
	}
	got := written(t, form{"md", grid.Markdown}, m)
	if len(got) > 1_000_000 || !bytes.Contains(got, []byte("more cells are in the JUnit file")) || !bytes.Contains(got, []byte("And 89 more.")) {
		t.Errorf("%d bytes, want less than a million and a word on what is left out", len(got))
	}
}

func TestHTMLOfHostileNames(t *testing.T) {
	m := gridtest.Hostile()
	opts := append(compared(m), grid.Artifacts("javascript:alert(1)"), grid.Changes("<script>", []grid.Change{{Kind: "<script>", Cell: "<script>", Text: "<script>"}}))
	for _, f := range forms() {
		if f.name != "html" && f.name != "svg" {
			continue
		}
		got := string(written(t, f, m, opts...))
		if n := strings.Count(got, "<script"); n > 1 || strings.Contains(got, "<script>alert") {
			t.Errorf("%s: %d scripts, want our own at most", f.name, n)
		}
		for _, bad := range []string{`="javascript:`, `href="../../../../`, `href="/etc`, "\u202e", "\x1b"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s has %q", f.name, bad)
			}
		}
	}
}

// TestHTMLLeadsToTheTests: from the matrix's folder to the tests', whatever their names.
func TestHTMLLeadsToTheTests(t *testing.T) {
	m := gridtest.Mixed(1)
	got := string(written(t, form{"html", grid.HTML}, m))
	for _, want := range []string{
		`href="../../../uuid-lua&#43;read-write_single_kill-client/`, // the page's parser makes a plus of it
		`href="../../../redlock:quorum=3&#43;read-write_redlock_kill-node/`,
	} {
		if !strings.Contains(got, want) && !strings.Contains(got, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, c := range m.Cells {
		if !strings.Contains(got, `aria-label="`+c.Cell.Lock+" &#43; "+c.Cell.Deduct) {
			t.Fatalf("the cell %s has no words for who does not see it", c.Cell.ID())
		}
	}
}

// TestErrorsAreReported: a report that is not there must not look written.
func TestErrorsAreReported(t *testing.T) {
	for _, f := range forms() {
		if err := f.write(gridtest.Full{}, gridtest.Nightly(1)); !errors.Is(err, gridtest.ErrFull) {
			t.Errorf("%s to a full disk: %v, want it to say so", f.name, err)
		}
	}
}

func TestArtifactsAddress(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}, "https://github.com/a/b/actions/runs/7#artifacts"},
		{map[string]string{"GITHUB_SERVER_URL": "https://github.com"}, ""},
		{map[string]string{"GITLAB_CI": "true", "CI_JOB_URL": "https://gitlab.com/a/b/-/jobs/7"}, "https://gitlab.com/a/b/-/jobs/7/artifacts/browse"},
		{map[string]string{"JENKINS_URL": "https://ci/", "BUILD_URL": "https://ci/job/x/7/"}, "https://ci/job/x/7/artifact/"},
		{nil, ""},
	} {
		if got := grid.ArtifactsAddress(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("with %v: %q, want %q", c.env, got, c.want)
		}
	}
}

// TestManySeeds: the page of a matrix with many runs stays small, and leads to all of them.
func TestManySeeds(t *testing.T) {
	m := gridtest.Mixed(1)
	n := 0
	for i := range m.Cells {
		c := &m.Cells[i]
		for seed := uint64(4); seed <= 20; seed++ {
			r := c.Runs[0]
			r.Seed, r.Dir = seed, fmt.Sprintf("%s-%d", r.Dir, seed)
			c.Runs = append(c.Runs, r)
		}
		*c = matrix.Sum(c.Cell, c.Runs)
		n += len(c.Runs)
	}
	got := string(written(t, form{"html", grid.HTML}, m, compared(m)...))
	_, list, _ := strings.Cut(got, "<h2>Every cell</h2>")
	if links := strings.Count(list, "/report.html\""); links != n-1 || len(got) > 3_000_000 {
		t.Errorf("%d links in %d bytes, want %d (one run has no test) in less than 3 MB", links, len(got), n-1)
	}
}
