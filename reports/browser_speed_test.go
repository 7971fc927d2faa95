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

// frames are the times between the frames painted while the timeline is panned, in ms.
type frames struct {
	N                          int
	Median, P95, Max, Painting float64
}

const panning = `new Promise((done) => {
  const canvas = document.querySelector("#timeline canvas"), box = canvas.getBoundingClientRect(), at = [];
  const fire = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.left + x, clientY: box.top + 200, pointerId: 1, bubbles: true }));
  canvas.setPointerCapture = () => {};
  fire("pointerdown", 600);
  const step = (t) => {
    at.push(t);
    if (at.length > 150) {
      fire("pointerup", 600);
      const gaps = at.slice(1).map((x, i) => x - at[i]).sort((a, b) => a - b), q = (p) => gaps[Math.floor(p * (gaps.length - 1))];
      return done({ N: gaps.length, Median: q(0.5), P95: q(0.95), Max: q(1), Painting: 0 });
    }
    fire("pointermove", 600 + 300 * Math.sin(at.length / 20));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`

func TestHundredThousandOperations(t *testing.T) {
	p := many()
	h := p.record(t)
	file := written(t, result(t, p, h), h)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	tab := open(t, file, look{})
	all := time.Since(began)
	load := eval[float64](tab, `Number(document.body.dataset.ready || performance.timing.loadEventEnd - performance.timing.navigationStart)`)
	t.Logf("%d operations, %d bytes; ready after %.0f ms (with the browser's start %s)", len(h.Operations), info.Size(), load, all)
	for _, zoom := range []int{0, 1, 2, 3, 4, 6} {
		tab.do()
		for range zoom {
			tab.do()
			eval[bool](tab, `(document.querySelector("#timeline [data-do=in]").click(), true)`)
		}
		tab.settle()
		f := eval[frames](tab, panning)
		t.Logf("zoom %d: %+v", zoom, f)
	}
}
