package reports_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
	"picklock/reports/junit/junittest"
)

const dir = "store/setex-del+read-write_single_pause-client/20260314T150926Z-a-long-name"

func terminal(t *testing.T, r *store.Result, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.Terminal(&b, r, dir, colour); err != nil {
		t.Fatalf("Terminal: %v", err)
	}
	return b.String()
}

func TestTerminal(t *testing.T) {
	p := usual()
	r := result(t, p, p.record(t))
	got := terminal(t, r, false)
	want := `VIOLATED: mutual-exclusion, ownership, no-lost-update
setex-del + read-write, single, pause-client + kill-client, seed 42

  ✗ violated  mutual-exclusion    168×  two clients were in the guarded section
                                        at once
  ✓ valid     lease-exclusion
  ✗ violated  ownership             1×  a client released or renewed a lock that
                                        belonged to somebody else
  ✓ valid     liveness
  ? unknown   linearizable-stock        porcupine did not decide sku-0 within 30
                                        s
  ✗ violated  no-lost-update       70×  a client overwrote a stock level that it
                                        had not seen: a sale vanished from the
                                        books
  ✓ valid     no-oversell

As expected: these are the known weaknesses of this lock.

What broke first: mutual-exclusion at 5.005 s
  1. client 0 worker 0 acquired lock:sku-0 at 4.004 s with a lease to 5.004 s.
  2. client 0 was stopped from 4.021 s to 6.421 s (fault pause-client).
  3. client 3 worker 0 acquired the same lock at 5.005 s; client 0 worker 0
     still took itself for the owner until 6.472 s.
  4. For 0.050 s both were in the section.

Report
  ` + dir + `/report.html
`
	if got != want {
		t.Errorf("the text for a terminal is\n%s\nwant\n%s", got, want)
	}
	coloured := terminal(t, r, true)
	if !strings.Contains(coloured, "\x1b[31mVIOLATED\x1b[0m") {
		t.Errorf("with colour the verdict is not red: %q", coloured[:40])
	}
	plain := coloured
	for _, code := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"} {
		plain = strings.ReplaceAll(plain, code, "")
	}
	if plain != got {
		t.Error("with colour the text says something else than without")
	}
}

func TestTerminalFitsEightyColumns(t *testing.T) {
	p := usual()
	r := result(t, p, p.record(t))
	long := strings.Repeat("wörd ", 40) + strings.Repeat("x", 200)
	r.Vacuous, r.VacuousWhy, r.Broken = true, []string{long}, long
	r.Test.Lock = strings.Repeat("lock", 40)
	r.Expected[0].Met, r.Expected[0].Why = false, long
	for _, j := range r.Properties {
		j.Note = long
		for i := range j.Violations {
			j.Violations[i].Story = []string{long}
		}
	}
	for _, line := range strings.Split(terminal(t, r, false), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 && !strings.HasSuffix(line, "/report.html") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestJUnitOfHostileText: what servers and clients say makes no document invalid.
func TestJUnitOfHostileText(t *testing.T) {
	hostile := "]]>\x00\x1b</failure>&\u202e\xff"
	bad := &models.Judgement{Verdict: models.Violated, Count: 3, Violations: []models.Violation{{Kind: hostile, Story: []string{hostile}}}}
	r := &store.Result{Test: store.Test{Name: hostile}, Vacuous: true, VacuousWhy: []string{hostile}, Broken: hostile, Rerun: hostile,
		Properties: map[models.Property]*models.Judgement{models.Liveness: bad, "odd" + models.Property(hostile): {Verdict: models.Unknown, Note: hostile}}}
	var b bytes.Buffer
	if err := reports.JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := junittest.Validate(t, b.Bytes()); err != nil {
		t.Errorf("not by the schema: %v\n%s", err, b.String())
	}
}

// TestVerdictInWords: a reader must not take for a pass what is none.
func TestVerdictInWords(t *testing.T) {
	judged := func(v models.Verdict) map[models.Property]*models.Judgement {
		return map[models.Property]*models.Judgement{models.Liveness: {Verdict: v}, models.NoOversell: {Verdict: models.Valid}}
	}
	for _, c := range []struct {
		name     string
		r        store.Result
		terminal string // begins with
		html     string // contains
	}{
		{"valid", store.Result{Verdict: models.Valid, Properties: judged(models.Valid)},
			"VALID: all 2 properties held", `<section class="verdict valid">`},
		{"vacuous", store.Result{Verdict: models.Valid, Vacuous: true, VacuousWhy: []string{"3 sales, 20 wanted"}, Properties: judged(models.Valid)},
			"VACUOUS: this test proves nothing", `<section class="verdict unknown">`},
		{"violated and vacuous", store.Result{Verdict: models.Violated, Vacuous: true, Properties: judged(models.Violated)},
			"VIOLATED: liveness", "Vacuous: this test proves nothing, and is no pass."},
		{"unknown", store.Result{Verdict: models.Unknown, Properties: judged(models.Unknown)},
			"UNKNOWN: liveness", `<section class="verdict unknown">`},
		{"unknown, and why", store.Result{Verdict: models.Unknown, Properties: map[models.Property]*models.Judgement{
			models.Liveness: {Verdict: models.Unknown, Note: "no quiet tail"}}}, "UNKNOWN: liveness", "Not decided: no quiet tail"},
		{"nothing judged", store.Result{Verdict: models.Valid}, "UNKNOWN: nothing was judged", "nothing was judged"},
		{"broken", store.Result{Verdict: models.Valid, Broken: "the last line is torn", Properties: judged(models.Valid)},
			"VALID", "The record breaks off."},
		{"unmet", store.Result{Verdict: models.Violated, Properties: judged(models.Violated),
			Expected: []store.Expected{{Property: "liveness", Expected: "valid"}}},
			"VIOLATED: liveness", "liveness: expected valid, got violated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := terminal(t, &c.r, false); !strings.HasPrefix(got, c.terminal) {
				t.Errorf("the terminal says %q, want it to begin with %q", strings.SplitN(got, "\n", 2)[0], c.terminal)
			}
			if got := page(t, &c.r, nil); !strings.Contains(got, c.html) {
				t.Errorf("the report lacks %q", c.html)
			}
		})
	}
}

// TestFirstStoryIsThePlainOne: that no order exists explains nothing, who overlapped does.
func TestFirstStoryIsThePlainOne(t *testing.T) {
	broken := func(from, to float64) *models.Judgement {
		return &models.Judgement{Verdict: models.Violated, Count: 1, Violations: []models.Violation{{StartS: from, EndS: to}}}
	}
	for _, c := range []struct {
		overlap float64
		want    string
	}{{5.005, "mutual-exclusion at 5.005 s"}, {9, "linearizable-lock at 5.000 s"}, {2, "mutual-exclusion at 2.000 s"}} {
		r := &store.Result{Verdict: models.Violated, Properties: map[models.Property]*models.Judgement{
			models.LinearizableLock: broken(5, 5.01), models.MutualExclusion: broken(c.overlap, c.overlap+1)}}
		if got := terminal(t, r, false); !strings.Contains(got, "What broke first: "+c.want) {
			t.Errorf("an overlap at %v s: got\n%s\nwant %s first", c.overlap, got, c.want)
		}
	}
}

type suites struct {
	Suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Failure *string `xml:"failure"`
			Error   *string `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	p := usual()
	r := result(t, p, p.record(t))
	r.Vacuous, r.VacuousWhy, r.Broken = true, []string{"no fault landed"}, "the last line is torn"
	var b bytes.Buffer
	if err := reports.JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := junittest.Validate(t, b.Bytes()); err != nil {
		t.Errorf("not by the schema: %v", err)
	}
	var got suites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("not XML: %v", err)
	}
	s := got.Suite
	if s.Tests != 9 || s.Failures != 3 || s.Errors != 3 || len(s.Cases) != 9 {
		t.Errorf("%d tests (%d listed), %d failures, %d errors; want 9, 3 violated, 1 unknown + vacuous + broken", s.Tests, len(s.Cases), s.Failures, s.Errors)
	}
	for _, c := range s.Cases {
		want := "pass"
		if j := r.Properties[models.Property(c.Name)]; j == nil || j.Verdict == models.Unknown {
			want = "error"
		} else if j.Verdict == models.Violated {
			want = "failure"
		}
		is := "pass"
		switch {
		case c.Failure != nil:
			is = "failure"
			if !strings.Contains(*c.Failure, "client ") {
				t.Errorf("%s fails without its story: %q", c.Name, *c.Failure)
			}
		case c.Error != nil:
			is = "error"
		}
		if is != want {
			t.Errorf("%s is a %s, want %s: unknown is never a pass", c.Name, is, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("disk full")

func TestWriteErrorsAreReported(t *testing.T) {
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	for name, err := range map[string]error{
		"HTML": reports.HTML(full{}, r, h, nil), "Terminal": reports.Terminal(full{}, r, dir, false), "JUnit": reports.JUnit(full{}, r),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v, want it to say so", name, err)
		}
	}
	if err := reports.Write(t.TempDir()+"/missing", r, h); err == nil {
		t.Error("Write into a folder that is missing: no error")
	}
}
