//go:build browser

package reports_test

import (
	"os"
	"testing"
	"time"
)

// many is a test of 100,000 operations.
func many() plan {
	return plan{clients: 5, workers: 2, length: 150 * time.Second, think: 3200 * time.Microsecond, ttl: time.Second,
		pauseAt: 60 * time.Second, pause: 2 * time.Second}
}

// panned are the times between frames while the timeline is dragged to and fro, in ms.
type panned struct {
	PerSecond        float64
	Median, P95, Max float64
	From, To         string // what was in view at the first and the last frame
}

// dragging drags the timeline for as many frames as it is told, a step each.
const dragging = `(frames) => new Promise((done) => {
  const canvas = document.querySelector("#timeline canvas"), box = canvas.getBoundingClientRect(), at = [];
  const fire = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.left + x, clientY: box.top + 200, pointerId: 1, bubbles: true }));
  const shows = () => document.querySelector("#timeline .span").textContent;
  canvas.setPointerCapture = () => {}; // no real pointer is down
  const from = shows();
  fire("pointerdown", 600);
  const step = (t) => {
    at.push(t);
    if (at.length <= frames) {
      fire("pointermove", 600 + at.length * 3);
      return requestAnimationFrame(step);
    }
    const to = shows();
    fire("pointerup", 600);
    const gaps = at.slice(1).map((x, i) => x - at[i]).sort((a, b) => a - b), q = (p) => gaps[Math.floor(p * (gaps.length - 1))];
    done({ PerSecond: 1000 * gaps.length / (at[at.length - 1] - at[0]), Median: q(0.5), P95: q(0.95), Max: q(1), From: from, To: to });
  };
  requestAnimationFrame(step);
})`

// TestHundredThousandOperations: such a report is below 3 MB, ready within a second, and
// panned at more than 30 frames per second at every zoom. The machine may be busy with
// something else: of three tries the best counts.
func TestHundredThousandOperations(t *testing.T) {
	p := many()
	h := p.record(t)
	if n := len(h.Operations); n < 99_000 {
		t.Fatalf("the made-up history has %d operations; this test is about 100,000", n)
	}
	file := written(t, result(t, p, h), h)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 3_000_000 {
		t.Errorf("the report has %d bytes, want below 3 MB", info.Size())
	}
	var loads []float64
	var page *tab
	for range 3 {
		page = open(t, file, look{})
		loads = append(loads, eval[float64](page, `Number(document.body.dataset.ready)`))
	}
	t.Logf("%d operations, %d bytes; ready after %.0f ms", len(h.Operations), info.Size(), loads)
	if best := min(loads[0], loads[1], loads[2]); best > 1000 {
		t.Errorf("the report is ready %.0f ms after it was asked for, want below 1000", best)
	}
	page.press("n") // with a violation picked there is most to draw
	page.click("#timeline [data-do=all]")
	for zoom := range 8 {
		if zoom > 0 {
			page.click("#timeline [data-do=in]")
		}
		var best panned
		for range 3 {
			f := eval[panned](page, "("+dragging+")(120)")
			if zoom > 0 && f.From == f.To {
				t.Fatalf("zoom %d: the timeline did not move: %s", zoom, f.From)
			}
			if f.PerSecond > best.PerSecond {
				best = f
			}
			if best.PerSecond > 55 {
				break
			}
		}
		detail := eval[string](page, `document.body.dataset.detail`)
		t.Logf("zoom ×%d (%s): %.0f frames/s, between frames median %.1f, p95 %.1f, max %.1f ms", 1<<zoom, detail, best.PerSecond, best.Median, best.P95, best.Max)
		if best.PerSecond <= 30 {
			t.Errorf("zoom ×%d: panned at %.1f frames per second, want above 30", 1<<zoom, best.PerSecond)
		}
		if zoom == 0 && detail != "columns" || zoom == 7 && detail != "operations" {
			t.Errorf("zoom ×%d is drawn as %s: far out in columns, near as operations", 1<<zoom, detail)
		}
	}
}
