package reports_test

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
)

// TestChartNumbers compares what the charts draw and say with the golden numbers.
func TestChartNumbers(t *testing.T) {
	p := usual()
	p.clients, p.length = 4, 12*time.Second
	h := p.record(t)
	r := result(t, p, h)
	texts, err := reports.ChartTexts(r, h)
	if err != nil {
		t.Fatal(err)
	}
	got := reports.NumbersOf(r, h).String()
	for _, x := range texts {
		got += x[0] + "\n    " + x[1] + "\n"
	}
	const golden = "testdata/charts.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d is not the golden one (%s; -update writes it anew)\n got %q\nwant %q", i+1, golden, line, want[min(i, len(want)-1)])
		}
	}
}

// TestChartsAgreeWithResults: the charts and results.json count the same.
func TestChartsAgreeWithResults(t *testing.T) {
	for _, s := range []struct {
		name string
		made func() *history.History
	}{
		{"pause and kill", func() *history.History { return usual().record(t) }},
		{"unknown outcomes", func() *history.History {
			return assembled(t, historytest.Events(historytest.Config{Operations: 3000, Unknown: 0.05, Seed: 3}))
		}},
		{"gaps", func() *history.History {
			p := usual()
			p.clients, p.workers, p.think, p.killAt = 1, 1, 30*time.Millisecond, 0
			p.pauseAt, p.pause = time.Second, 4*time.Second
			h := p.record(t)
			return thinned(h, 9)
		}},
		{"nobody", func() *history.History { return assembled(t, nil) }},
	} {
		t.Run(s.name, func(t *testing.T) {
			h := s.made()
			m := models.Judge(h, models.Params{Promises: []models.Property{models.MutualExclusion}, MinSales: -1, MinContention: -1}).Measures
			n := reports.NumbersOf(&store.Result{Measures: m}, h)
			if got := sum(n.Sales); got != m.Sales {
				t.Errorf("%d sales, results.json has %d", got, m.Sales)
			}
			if got := sum(n.Grants); got != m.Grants {
				t.Errorf("%d grants, results.json has %d", got, m.Grants)
			}
			if got := sum(n.Refused); got != m.FailedAcquires {
				t.Errorf("%d failed acquires, results.json has %d", got, m.FailedAcquires)
			}
			if with, of := sum(n.With), sum(n.Of); of > 0 && float64(with)/float64(of) != m.Availability {
				t.Errorf("availability %d/%d = %v, results.json has %v", with, of, float64(with)/float64(of), m.Availability)
			}
			if s.name == "gaps" && m.Availability > 0.9 {
				t.Errorf("availability is %v: the test needs gaps", m.Availability)
			}
			if len(h.Operations) == 0 {
				return
			}
			texts, err := reports.ChartTexts(&store.Result{Measures: m}, h)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				fmt.Sprintf("(%.1f%%) a lock was held", 100*m.Availability), fmt.Sprintf("%.3f among workers", m.Jain), quantiles(&m),
			} {
				if !strings.Contains(fmt.Sprint(texts), want) {
					t.Errorf("the charts do not say %q, as results.json has it: %s", want, texts)
				}
			}
		})
	}
}

// quantiles is how the chart of latencies writes those of results.json.
func quantiles(m *models.Measures) string {
	ms := func(v float64) string {
		switch {
		case v >= 1000:
			return fmt.Sprintf("%.2f s", v/1000)
		case v >= 10:
			return fmt.Sprintf("%.0f ms", v)
		}
		return fmt.Sprintf("%.2f ms", v)
	}
	return fmt.Sprintf("took at most %s, 95%% at most %s, 99%% at most %s; the longest took %s",
		ms(m.AcquireP50MS), ms(m.AcquireP95MS), ms(m.AcquireP99MS), ms(m.AcquireMaxMS))
}

func assembled(t testing.TB, events []history.Event) *history.History {
	t.Helper()
	h, err := history.Assemble(events)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// thinned leaves one grant of n in a history, with all that was done with it.
func thinned(h *history.History, n int) *history.History {
	kept := map[int64]bool{}
	var ops []history.Operation
	acquires := 0
	for _, o := range h.Operations {
		if o.Op == history.Acquire {
			kept[o.ID] = acquires%n == 0
			acquires++
		}
		if kept[max(o.Grant, o.ID)] || kept[o.Grant] {
			ops = append(ops, o)
		}
	}
	h.Operations = ops
	return h
}

func sum[T int | int64](all []T) int {
	n := T(0)
	for _, v := range all {
		n += v
	}
	return int(n)
}

// TestChartsOfAllSizes: whatever a test was like, its charts are well-formed, lie below
// each other, name their units, and can be read by who cannot see them.
func TestChartsOfAllSizes(t *testing.T) {
	with := func(change func(*plan)) *history.History {
		p := usual()
		change(&p)
		return p.record(t)
	}
	manyFaults := usual().record(t)
	for i := range 300 {
		manyFaults.Faults = append(manyFaults.Faults, history.Fault{N: i + 3, Kind: "partition-node", Target: "x", Client: -1,
			Start: manyFaults.Start + int64(i)*40e6, End: manyFaults.Start + int64(i)*40e6 + 90e6, Landed: i%2 == 0})
	}
	outside := usual().record(t) // faults before the load and after it
	outside.Faults[0].Start, outside.Faults[1].Start, outside.Faults[1].End = outside.Start-3e9, outside.End+1e9, outside.End+2e9
	noLocks := usual().record(t)
	var deducts []history.Operation
	for _, o := range noLocks.Operations {
		if o.Op == history.Deduct {
			deducts = append(deducts, o)
		}
	}
	noLocks.Operations, noLocks.Ledger = deducts, nil
	refused := usual().record(t)
	refused.Operations, refused.Ledger = nil, nil
	for i := range 7 {
		refused.Operations = append(refused.Operations, history.Operation{ID: int64(i + 1), Client: i, Op: history.Acquire, Object: "lock",
			Invoke: refused.Start + int64(i)*1e9, Return: refused.Start + int64(i)*1e9 + 5e8, Outcome: history.OutcomeFail})
	}
	for _, s := range []struct {
		name  string
		h     *history.History
		files int
	}{
		{"usual", usual().record(t), 6},
		{"nothing happened", assembled(t, nil), 1},
		{"no locks", noLocks, 1},
		{"nobody got the lock", refused, 3},
		{"one client", with(func(p *plan) { p.clients, p.workers = 1, 1 }), 6},
		{"a tenth of a second", with(func(p *plan) { p.clients, p.workers, p.length = 1, 1, 100*time.Millisecond }), 6},
		{"eight hours", with(func(p *plan) {
			p.clients, p.workers, p.length, p.think, p.ttl, p.pauseAt = 1, 1, 8*time.Hour, 20*time.Second, time.Minute, time.Hour
		}), 6},
		{"500 clients", assembled(t, historytest.Events(historytest.Config{Operations: 6000, Clients: 500})), 6},
		{"300 faults", manyFaults, 6},
		{"faults outside of the load", outside, 6},
	} {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			r := result(t, usual(), s.h)
			if err := reports.Write(dir, r, s.h); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "charts", "*.svg"))
			if err != nil || len(files) != s.files {
				t.Fatalf("%d charts %v, want %d: %v", len(files), err, s.files, files)
			}
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				wellFormed(t, file, string(b))
				looksRight(t, filepath.Base(file), string(b))
				if len(b) > 60_000 {
					t.Errorf("%s has %d bytes: the page has to stay small", filepath.Base(file), len(b))
				}
			}
			texts, err := reports.ChartTexts(r, s.h)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range texts {
				if len(x[1]) < 15 || !strings.HasSuffix(x[1], ".") || strings.Contains(x[1], "NaN") || strings.Contains(x[1], "Inf") {
					t.Errorf("%s says %q, want a sentence with its main figures", x[0], x[1])
				}
			}
		})
	}
}

var (
	viewBox  = regexp.MustCompile(`^<svg [^>]*viewBox="0 0 1212 ([\d.]+)"`)
	textAt   = regexp.MustCompile(`<text x="([-\d.e+]+)" y="([-\d.e+]+)" transform="scale\(1, -1\)"\s*style="[^"]*font-size:([\d.]+)px[^"]*">([^<]*)<`)
	axisLine = regexp.MustCompile(`<path d="M([-\d.]+),([-\d.]+)L([-\d.]+),([-\d.]+)" style="fill:none;stroke:var\(--chart-axis`)
)

// looksRight reads from the file itself where things are.
func looksRight(t *testing.T, name, svg string) {
	t.Helper()
	box := viewBox.FindStringSubmatch(svg)
	if box == nil {
		t.Fatalf("%s begins with %.200q, want the width of all charts", name, svg)
	}
	base := "chart-" + strings.TrimSuffix(name, ".svg")
	for _, want := range []string{`role="img"`, `aria-labelledby="` + base + `-title"`, `<title id="` + base + `-title">`, `<desc id="` + base + `-desc">`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s lacks %s: who cannot see it needs words", name, want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("%s draws something at no place", name)
	}
	texts := textAt.FindAllStringSubmatch(svg, -1)
	if len(texts) < 4 {
		t.Fatalf("%s: only %d texts were found in it", name, len(texts))
	}
	height := number(t, box[1])
	for _, x := range texts {
		left, size := number(t, x[1]), number(t, x[3])
		right := left + 0.38*size*float64(len([]rune(x[4]))) // on the narrow side: the browser test knows better
		if y := math.Abs(number(t, x[2])); left < 0 || right > 1216 || y > height {
			t.Errorf("%s: %q goes from %.0f to %.0f at %.0f, outside of the picture", name, x[4], left, right, y)
		}
	}
	axes := axisLine.FindAllStringSubmatch(svg, -1)
	widest := [2]float64{}
	for _, a := range axes {
		from, to := number(t, a[1]), number(t, a[3])
		if to-from > widest[1]-widest[0] {
			widest = [2]float64{from, to}
		}
	}
	if math.Abs(widest[0]-128) > 0.1 || math.Abs(widest[1]-1198) > 0.1 {
		t.Errorf("%s: the axis goes from %v, want it from 128 to 1198 as in the timeline", name, widest)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestChartsEscape: words of others stay words.
func TestChartsEscape(t *testing.T) {
	r, h := hostile(t)
	dir := t.TempDir()
	if err := reports.Write(dir, r, h); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "charts", "throughput.svg"))
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, "throughput.svg", string(b))
	d := xml.NewDecoder(strings.NewReader(string(b)))
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "img") {
			t.Errorf("the name of a fault became an element %s", e.Name.Local)
		}
	}
}
