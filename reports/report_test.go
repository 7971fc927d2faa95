package reports_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
)

// page gives the report as text.
func page(t testing.TB, r *store.Result, h *history.History, links ...reports.Link) string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.HTML(&b, r, h, links); err != nil {
		t.Fatalf("HTML: %v", err)
	}
	return b.String()
}

func TestWriteLeavesEveryFile(t *testing.T) {
	p := usual()
	h := p.record(t)
	dir := t.TempDir()
	if err := reports.Write(dir, result(t, p, h), h); err != nil {
		t.Fatalf("Write: %v", err)
	}
	for _, name := range []string{"report.html", "charts/throughput.svg", "charts/latency.svg"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Size() < 1000 || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v; the store's contract lists it, readable for all", name, info, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".writing-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("half-written files are left: %v %v", left, err)
	}
	for _, name := range []string{"charts/throughput.svg", "charts/latency.svg"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, name, string(b))
		for _, want := range []string{"seconds since the load began", ">F1<", ">F2<", "Liberation Sans", "var(--chart-text,"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %q: axis labels with units, faults by name and fonts with fallbacks make it legible", name, want)
			}
		}
	}
}

func wellFormed(t testing.TB, name, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s is not well-formed: %v", name, err)
		}
	}
}

func TestReportTellsWhatBroke(t *testing.T) {
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	s := page(t, r, h, reports.Link{Text: "history.jsonl", Href: "history.jsonl"})
	at := -1
	for _, want := range []string{ // in the order in which a reader meets them
		`<span class="word">✗ Violated:</span> mutual-exclusion, ownership, no-lost-update`,
		"As expected: these are the known weaknesses of this lock.",
		"What broke first: mutual-exclusion",
		`<svg class="still"`, "F1 pause-client · client 0", "holds the lock", "lease over, still acts as owner", "lease ended",
		`<ol class="story">`,
		"Every promise, judged", "? unknown", "porcupine did not decide sku-0 within 30 s",
		"Run it again", "<span>--seed</span> <span>42</span></pre>",
		"<canvas", `<script type="application/json" id="timeline-data">`,
		"Every violation, step by step", `id="violation-0"`, `data-violation="0"`, `id="violation-10"`, "misdelete", "lost-update",
		"process 4711 is in state T (stopped)", "process 4790 is up",
		"Throughput", `<svg class="chart"`, "How long an acquire takes", `<svg class="chart"`,
		"sku-0", "docker", "7.0.15",
		`<a href="history.jsonl">`,
	} {
		next := strings.Index(s[at+1:], want)
		if next < 0 {
			t.Fatalf("the report lacks %q behind offset %d", want, at)
		}
		at += 1 + next
	}
	for i, svg := range regexp.MustCompile(`(?s)<svg class="still".*?</svg>`).FindAllString(s, -1) {
		wellFormed(t, "still picture", svg)
		if i == 0 && strings.Count(svg, `class="step"`) < 2 {
			t.Errorf("the first picture numbers fewer than two steps of its story: %d", strings.Count(svg, `class="step"`))
		}
	}
	if n := strings.Count(s, `<svg class="still"`); n != 3 {
		t.Errorf("%d still pictures, want one for each of the 3 violated properties", n)
	}
}

func TestReportIsSelfContained(t *testing.T) {
	p := usual()
	h := p.record(t)
	s := page(t, result(t, p, h), h, reports.Link{Text: "results.json", Href: "results.json"})
	for _, m := range regexp.MustCompile(`(?i)https?://[^"'\s<)]*`).FindAllString(s, -1) {
		if !strings.HasPrefix(m, "http://www.w3.org/") { // names of XML namespaces, never fetched
			t.Errorf("the report names %s: it must not need a network", m)
		}
	}
	for _, m := range regexp.MustCompile(`(?i)\b(?:src|srcset|poster|data|action)\s*=\s*["'][^"']*`).FindAllString(s, -1) {
		t.Errorf("the report loads something: %s", m)
	}
	for _, m := range regexp.MustCompile(`(?i)\bhref\s*=\s*["']([^"']*)`).FindAllStringSubmatch(s, -1) {
		if !strings.HasPrefix(m[1], "#") && m[1] != "results.json" {
			t.Errorf("href %q leads out of the report", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?i)@import|url\([^)]*\)`).FindAllString(s, -1) {
		if !strings.HasPrefix(m, "url(#") {
			t.Errorf("a style loads something: %s", m)
		}
	}
	if !strings.Contains(s, `content="default-src 'none'`) {
		t.Error("no content security policy: the browser should enforce that nothing is loaded")
	}
	_, script, _ := strings.Cut(s, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	policy := regexp.MustCompile(`script-src ([^;"]*)"`).FindStringSubmatch(html.UnescapeString(s))
	if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; policy == nil || policy[1] != want {
		t.Errorf("the policy lets run %q, want %q: our own script and no other", policy, want)
	}
	if !strings.Contains(s, "prefers-color-scheme: dark") {
		t.Error("no dark palette")
	}
}

// evil is foreign text that wants to be a script: in HTML, in a script element, in JSON, in
// XML, in JavaScript's strings (a line separator ends them), on a terminal.
const evil = `</script><script>window.pwned=1;alert(1)</script><img src=x onerror="window.pwned=2;alert(2)">'"&]]>` + "\u2028\u2029\x1b[2J\u202e" + `${window.pwned=3}`

// hostile gives the usual test where everything that servers, clients or users choose is evil.
func hostile(t testing.TB) (*store.Result, *history.History) {
	t.Helper()
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	for i := range h.Operations {
		o := &h.Operations[i]
		o.Object, o.Token, o.Error = evil, evil, evil
	}
	for i := range h.Ledger {
		h.Ledger[i].Object = evil
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		f.Kind, f.Target, f.Proof, f.Healed, f.Error = evil, evil, evil, evil, evil
	}
	h.Stock = map[string]history.Levels{evil: {}}
	h.Roles = []history.Role{{Node: evil, Time: h.Start, Role: evil}, {Node: "lock", Time: h.Start, Role: evil}}
	h.Faults[1].Node = evil
	r.Test.Name, r.Test.Lock, r.Test.Image, r.Rerun, r.Broken = evil, evil, evil, evil, evil
	r.Test.About = map[string]string{evil: evil}
	r.Vacuous, r.VacuousWhy = true, []string{evil}
	r.Expected = append(r.Expected, store.Expected{Property: evil, Expected: evil, Why: evil})
	for _, j := range r.Properties {
		j.Note = evil
		for i := range j.Violations {
			j.Violations[i].Kind, j.Violations[i].Object = evil, evil
			j.Violations[i].Story = append(j.Violations[i].Story, evil+" at 5.010 s client 0 worker 0 "+evil)
		}
	}
	return r, h
}

func TestForeignTextIsEscaped(t *testing.T) {
	r, h := hostile(t)
	s := page(t, r, h)
	for _, bad := range []string{"<img", "alert(1)</script>", `onerror="window`} {
		if i := strings.Index(s, bad); i >= 0 {
			t.Errorf("%q came through unescaped: ...%s", bad, s[max(0, i-80):i+40])
		}
	}
	if n := strings.Count(s, "<script"); n != 2 {
		t.Errorf("%d script elements, want the data and our own", n)
	}
	decodeTimeline(t, s)
	for _, svg := range regexp.MustCompile(`(?s)<svg class="still".*?</svg>`).FindAllString(s, -1) {
		wellFormed(t, "still picture", svg)
	}

	var out bytes.Buffer
	if err := reports.Terminal(&out, r, "dir", false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Error("control characters of foreign text reach the terminal: they could forge a verdict")
	}
	out.Reset()
	if err := reports.JUnit(&out, r); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, "junit.xml", out.String())
}

func TestReportStaysSmall(t *testing.T) {
	p := usual()
	p.length, p.think, p.pauseAt, p.killAt = 150*time.Second, 3200*time.Microsecond, 60*time.Second, 100*time.Second
	h := p.record(t)
	if n := len(h.Operations); n < 95_000 || n > 105_000 {
		t.Fatalf("the made-up history has %d operations; this test is about 100,000", n)
	}
	s := page(t, result(t, p, h), h)
	per := float64(len(s)) / float64(len(h.Operations))
	if limit := 3_000_000; per*100_000 > float64(limit) {
		t.Errorf("%d operations make a report of %d bytes, want below %d for 100,000: browsers and mail must cope", len(h.Operations), len(s), limit)
	}
	if d := decodeTimeline(t, s); len(d.Ops.T) != len(h.Operations) || len(d.Gaps) != 0 {
		t.Errorf("%d of %d operations are in the report, gaps %v; all should be", len(d.Ops.T), len(h.Operations), d.Gaps)
	}
}

func TestHugeHistoryKeepsItsViolations(t *testing.T) {
	p := usual()
	p.length, p.think, p.pauseAt, p.killAt = 150*time.Second, 1500*time.Microsecond, 140*time.Second, 0
	h := p.record(t)
	r := result(t, p, h)
	d := decodeTimeline(t, page(t, r, h))
	if len(h.Operations) <= len(d.Ops.T) || len(d.Gaps) == 0 || d.Left+len(d.Ops.T) != len(h.Operations) {
		t.Fatalf("%d of %d operations embedded, %d left out, gaps %v: want some left out, and the page to say so",
			len(d.Ops.T), len(h.Operations), d.Left, d.Gaps)
	}
	if len(d.Violations) == 0 {
		t.Fatal("no violations: the test proves nothing")
	}
	for i, v := range d.Violations {
		if len(v.Ops) == 0 {
			t.Errorf("violation %d lost its operations: what matters must be in the page", i)
		}
	}
}

func TestReportWithoutHistory(t *testing.T) {
	p := usual()
	r := result(t, p, p.record(t))
	s := page(t, r, nil)
	if strings.Contains(s, "<canvas") || strings.Contains(s, `<svg`) {
		t.Error("pictures without a history to draw")
	}
	for _, want := range []string{"Violated:", "client 0 was stopped from", "F1", "process 4711"} {
		if !strings.Contains(s, want) {
			t.Errorf("without a history the report lacks %q, which the result knows", want)
		}
	}
}

func TestEmptyHistory(t *testing.T) {
	h, err := history.Assemble(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &store.Result{Verdict: models.Unknown, Vacuous: true, VacuousWhy: []string{"nothing happened"},
		Properties: map[models.Property]*models.Judgement{models.Liveness: {Verdict: models.Violated, Count: 1,
			Violations: []models.Violation{{StartS: 3, Operations: []int64{99}, Story: []string{"client 9 waited from 1.0 s"}}}}}}
	dir := t.TempDir()
	if err := reports.Write(dir, r, h); err != nil {
		t.Fatalf("Write of an empty history: %v; a report must be written whatever happened", err)
	}
}

// packed reads a column of numbers back, as the page's script does.
type packed []int64

func (p *packed) UnmarshalText(b []byte) error {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var u uint64
	shift := 0
	for _, c := range b {
		d := strings.IndexByte(digits, c)
		if d < 0 {
			return fmt.Errorf("%q is no digit", c)
		}
		u |= uint64(d&31) << shift
		shift += 5
		if d < 32 {
			*p = append(*p, int64(u>>1)^-int64(u&1))
			u, shift = 0, 0
		}
	}
	return nil
}

// embedded is the timeline's data as the page holds it.
type embedded struct {
	End     int64
	Lanes   [][2]int
	Notes   []string
	Objects []string
	Guards  [][2]int
	Ops     struct {
		T, D, L, I packed
		K          string
	}
	Holds struct {
		A, T, V, R, D packed
		E             string
	}
	Ledger     struct{ O, F, L, B packed }
	Violations []struct {
		P   string
		Ops []int `json:"o"`
	}
	Faults []struct {
		Name     string
		From, To float64
		Row      int
	}
	Nodes []embeddedNode
	Gaps  [][2]int64
	Left  int `json:"left_out"`
}

// embeddedNode is what a node was, and from when on.
type embeddedNode struct {
	Node string
	T    []int64
	R    []string
}

func decodeTimeline(t testing.TB, page string) embedded {
	t.Helper()
	_, s, ok := strings.Cut(page, `id="timeline-data">`)
	s, _, ok2 := strings.Cut(s, "</script>")
	var text string
	err := json.Unmarshal([]byte(s), &text)
	z, err2 := base64.StdEncoding.DecodeString(text)
	raw, err3 := io.ReadAll(flate.NewReader(bytes.NewReader(z)))
	var d embedded
	if err := errors.Join(err, err2, err3, json.Unmarshal(raw, &d)); err != nil || !ok || !ok2 {
		t.Fatalf("the timeline's data cannot be read: %v", err)
	}
	return d
}
