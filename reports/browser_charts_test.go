//go:build browser

package reports_test

import (
	"testing"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
)

// chartTexts finds texts of charts that lie over each other or are cut off, and charts that
// do not lie below the timeline.
const chartTexts = `(() => {
  const wrong = [], canvas = document.querySelector("#timeline canvas").getBoundingClientRect();
  for (const chart of document.querySelectorAll("svg.chart")) {
    const name = chart.querySelector("title").id, whole = chart.getBoundingClientRect();
    if (Math.abs(whole.left - canvas.left) > 0.5 || Math.abs(whole.right - canvas.right) > 0.5) wrong.push(name + " is not as wide as the timeline");
    const texts = [...chart.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    if (texts.length < 4) wrong.push(name + " has only " + texts.length + " texts");
    texts.forEach(([a, x], i) => {
      if (x.left < whole.left || x.right > whole.right + 0.5 || x.top < whole.top - 1 || x.bottom > whole.bottom + 1) wrong.push(name + ": " + a + " is cut off");
      for (const [b, y] of texts.slice(i + 1)) {
        // The boxes of texts are higher than their letters.
        if (x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 4 && y.top < x.bottom - 4) wrong.push(name + ": " + a + " lies over " + b);
      }
    });
  }
  return wrong;
})()`

// TestChartsCanBeRead: no text of a chart lies over another or is cut off, in the fonts of
// the browser, and at full width the charts and the timeline have one time axis.
func TestChartsCanBeRead(t *testing.T) {
	for _, s := range append(samples()[:3], sample{"many-faults", func(t testing.TB) (*store.Result, *history.History) {
		h := usual().record(t)
		for i := range 60 {
			h.Faults = append(h.Faults, history.Fault{N: i + 3, Kind: "partition-node", Target: "x", Client: -1,
				Start: h.Start + int64(i)*230e6, End: h.Start + int64(i)*230e6 + 500e6, Landed: true})
		}
		return result(t, usual(), h), h
	}}, sample{"many-clients", func(t testing.TB) (*store.Result, *history.History) {
		h := assembled(t, historytest.Events(historytest.Config{Operations: 30_000, Clients: 500}))
		return result(t, usual(), h), h
	}}) {
		t.Run(s.name, func(t *testing.T) {
			r, h := s.made(t)
			p := open(t, written(t, r, h), look{})
			if n := eval[int](p, `document.querySelectorAll("svg.chart").length`); n != 6 {
				t.Errorf("%d charts are in the page, want 6", n)
			}
			for _, wrong := range eval[[]string](p, chartTexts) {
				t.Error(wrong)
			}
		})
	}
}
