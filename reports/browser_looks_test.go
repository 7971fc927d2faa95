//go:build browser

package reports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
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
				p.shot(name)
				p.shotOf("#timeline", name+"-timeline")
				if r.Verdict == "violated" && l.width == 0 {
					for i, v := range []string{"pause-in-section", "second"} {
						_ = i
						p.press("n")
						p.shotOf("#timeline", name+"-"+v)
					}
					eval[bool](p, `(document.querySelector("[data-violation='10']")?.click(), true)`)
					p.settle()
					p.shotOf("#timeline", name+"-misdelete")
				}
			}
		})
	}
}
