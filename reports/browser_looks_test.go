//go:build browser

package reports_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
	"picklock/models"
)

// sample is a test whose report is looked at.
type sample struct {
	name string
	made func(testing.TB) (*store.Result, *history.History)
}

func samples() []sample {
	of := func(p plan) func(testing.TB) (*store.Result, *history.History) {
		return func(t testing.TB) (*store.Result, *history.History) {
			h := p.record(t)
			return result(t, p, h), h
		}
	}
	quiet := usual()
	quiet.pauseAt, quiet.killAt = 0, 0
	return []sample{
		{"pause", of(usual())},
		{"valid", of(quiet)},
		{"failover", failedOver},
		{"many-operations", of(many())},
		{"many-locks", func(t testing.TB) (*store.Result, *history.History) {
			h, err := history.Assemble(historytest.Events(historytest.Config{Operations: 100_000, SKUs: 8}))
			if err != nil {
				t.Fatal(err)
			}
			return result(t, usual(), h), h
		}},
		{"many-lanes", of(plan{clients: 20, workers: 3, length: 10 * time.Second, think: 20 * time.Millisecond, ttl: time.Second,
			pauseAt: 3 * time.Second, pause: 2 * time.Second})},
	}
}

// TestEverySampleOpens: each kind of report opens from disk, light and dark, wide and
// narrow, without a complaint or a request; it tells its verdict and its story, and draws
// all holds.
func TestEverySampleOpens(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			r, h := s.made(t)
			file := written(t, r, h)
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d operations, %d bytes", len(h.Operations), info.Size())
			if info.Size() > 3_000_000 {
				t.Errorf("the report of %d operations has %d bytes, want less than 3 MB", len(h.Operations), info.Size())
			}
			for _, l := range []look{{}, {dark: true}, {width: 420, height: 900}} {
				p := open(t, file, l)
				text := eval[string](p, `document.body.innerText`)
				if !strings.Contains(strings.ToUpper(text), strings.ToUpper(string(r.Verdict))+":") {
					t.Errorf("the page does not tell the verdict %s", r.Verdict)
				}
				for _, j := range r.Properties {
					if len(j.Violations) > 0 && !strings.Contains(text, j.Violations[0].Story[0]) {
						t.Errorf("the page does not tell %q", j.Violations[0].Story[0])
					}
				}
				holds, want := eval[int](p, `Number(document.body.dataset.holds)`), len(decodeTimeline(t, page(t, r, h)).Holds.T)
				if holds != want || want == 0 {
					t.Errorf("%d holds are in view, want all %d", holds, want)
				}
				if wide := eval[int](p, `document.documentElement.scrollWidth`); l.width > 0 && wide > l.width {
					t.Errorf("the page is %d pixels wide on a screen of %d", wide, l.width)
				}
				name := fmt.Sprintf("%s-%d-dark-%v", s.name, l.width, l.dark)
				p.Shot(name)
				p.ShotOf("#timeline", name+"-timeline")
				if r.Verdict == "violated" && l.width == 0 {
					p.Press("n")
					p.ShotOf("#timeline", name+"-first")
					p.Click(`[data-violation="10"]`)
					p.ShotOf("#timeline", name+"-misdelete")
				}
			}
		})
	}
}

// TestNothingIsHiddenFarOut: where a pixel stands for a hundred operations, an overstay of
// a twentieth of a pixel is still hatched, and its violations are still marked.
func TestNothingIsHiddenFarOut(t *testing.T) {
	plan := many()
	plan.pause = plan.ttl + 10*time.Millisecond
	h := plan.record(t)
	r := result(t, plan, h)
	v := r.Properties["mutual-exclusion"].Violations
	if len(v) == 0 || v[0].EndS-v[0].StartS > 0.01 {
		t.Fatalf("this test is about short violations, there are %d", len(v))
	}
	at := v[0].StartS / h.Seconds(h.End)
	p := open(t, written(t, r, h), look{})
	if detail := eval[string](p, `document.body.dataset.detail`); detail != "columns" {
		t.Fatalf("the whole test is drawn as %s, want columns", detail)
	}
	const marks, lanes = 36 + 24 + 4, 36 + 24 + 4 + 19 + 19 + 2
	if n := p.pixels("breach", at, marks, marks+19); n < 20 {
		t.Errorf("%d pixels in the row of violations have their colour, want a triangle", n)
	}
	if n := p.pixels("breach", at, 0, 28); n < 20 {
		t.Errorf("%d pixels of the overview have the colour of violations, want a mark", n)
	}
	for _, j := range r.Properties { // now without frames around it
		j.Verdict, j.Violations = models.Valid, nil
	}
	p = open(t, written(t, r, h), look{})
	if n := p.pixels("overstay", at, lanes, lanes+280); n < 4 {
		t.Errorf("%d pixels in the lanes have the colour of overstays, want a column", n)
	}
}

// pixels counts those of a colour of the page in the canvas from y1 to y2, near the part
// at (0 to 1) of the time that is in view.
func (p *tab) pixels(colour string, at, y1, y2 float64) int {
	p.T.Helper()
	return eval[int](p, fmt.Sprintf(`(() => {
		const canvas = document.querySelector("#timeline canvas"), probe = document.createElement("i"), copy = document.createElement("canvas");
		probe.style.color = "var(--%s)";
		document.body.append(probe);
		const want = getComputedStyle(probe).color.match(/\d+/g).map(Number);
		[copy.width, copy.height] = [canvas.width, canvas.height];
		const ctx = copy.getContext("2d", { willReadFrequently: true });
		ctx.drawImage(canvas, 0, 0);
		const d = ctx.getImageData(128 + %f * (canvas.width - 142) - 12, %f, 24, %f).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (Math.hypot(d[i] - want[0], d[i + 1] - want[1], d[i + 2] - want[2]) < 30) n++;
		return n;
	})()`, colour, at, y1, y2-y1))
}
