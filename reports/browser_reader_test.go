//go:build browser

package reports_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"picklock/harness/history"
)

const canvas = "#timeline canvas"

func (p *tab) width() float64 {
	p.T.Helper()
	from, to := p.span()
	return to - from
}

// TestZoomAndPan: keys, buttons, wheel, drag, the overview and two fingers move the view
// as they do elsewhere.
func TestZoomAndPan(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	p := open(t, written(t, result(t, plan, h), h), look{})
	if from, to := p.span(); from != 0 || to < 14 {
		t.Fatalf("at first %.3f s to %.3f s are in view, want the whole test", from, to)
	}
	p.Click(canvas)
	whole := p.width()
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.03*whole/10 {
			t.Errorf("after %s: %.3f s, want %.3f s", what, got, want)
		}
	}
	p.Press("+", "+")
	near("+ +: width", p.width(), whole/4)
	from, _ := p.span()
	p.Press(kb.ArrowRight)
	moved, _ := p.span()
	near("→: start", moved, from+whole/16)
	p.Press(kb.ArrowLeft)
	moved, _ = p.span()
	near("→ ←: start", moved, from)
	p.Press(kb.End)
	_, to := p.span()
	near("End: end", to, whole)
	p.Press(kb.Home)
	from, _ = p.span()
	near("Home: start", from, 0)
	p.Press("-")
	near("-: width", p.width(), whole/2)
	p.Press("0")
	near("0: width", p.width(), whole)
	for _, b := range []struct {
		do   string
		want float64
	}{{"in", whole / 2}, {"out", whole}, {"in", whole / 2}, {"right", whole / 2}, {"left", whole / 2}, {"all", whole}} {
		p.Click("#timeline [data-do=" + b.do + "]")
		near("the button "+b.do+": width", p.width(), b.want)
	}

	at := p.Box(canvas)
	x, y := at.Left+at.Width/2, at.Top+at.Height/2
	p.Click(canvas)
	p.Wheel(x, y, -400)
	if w := p.width(); w > whole*0.6 {
		t.Errorf("the wheel zoomed to %.3f s only, of %.3f s", w, whole)
	}
	before, _ := p.span()
	plot := at.Width - 128 - 14
	w := p.width()
	p.Drag(x, y, x-plot/4, y)
	after, _ := p.span()
	near("a drag by a quarter: start", after, before+w/4)
	p.Drag(at.Left+128+plot/2, at.Top+10, at.Left+128+plot*0.25, at.Top+10) // in the overview
	from, to = p.span()
	near("a drag in the overview to a quarter: middle", (from+to)/2, whole/4)

	w = p.width()
	p.pinch(x-50, x+50, x-150, x+150, y)
	near("two fingers three times as far apart: width", p.width(), w/3)
	if eval[string](p, `document.activeElement.tagName`) != "CANVAS" {
		t.Error("the canvas lost the focus while it was used")
	}
	// Without the focus the wheel belongs to the page.
	eval[bool](p, `(document.activeElement.blur(), true)`)
	w = p.width()
	p.Wheel(x, y, -200)
	near("a wheel without focus: width", p.width(), w)
}

// pinch moves two fingers.
func (p *tab) pinch(fromA, fromB, toA, toB, y float64) {
	p.T.Helper()
	touch := func(typ input.DispatchTouchEventType, xs ...float64) {
		points := []*input.TouchPoint{}
		for i, x := range xs {
			id := float64(i)
			points = append(points, &input.TouchPoint{X: x, Y: y, ID: &id})
		}
		p.Do(func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: typ, TouchPoints: points})
			return chromedp.Void{}, err
		})
	}
	touch(input.DispatchTouchEventTypeTouchStart, fromA, fromB)
	for k := 1.0; k <= 5; k++ {
		touch(input.DispatchTouchEventTypeTouchMove, fromA+(toA-fromA)*k/5, fromB+(toB-fromB)*k/5)
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
	p.Settle()
}

// TestViolationsAreWalked: n and p, their buttons, a click on a mark, the button beside a
// story and a link into the page lead to violations, in order of time.
func TestViolationsAreWalked(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	r := result(t, plan, h)
	file := written(t, r, h)
	p := open(t, file, look{})
	head := func() string {
		return eval[string](p, `[...document.querySelectorAll("#timeline .picked > p")].map((e) => e.textContent).join(" ")`)
	}
	shows := func(what, want string) {
		t.Helper()
		if got := head(); !strings.Contains(got, want) {
			t.Errorf("%s: the panel is headed %q, want %q", what, got, want)
		}
	}
	whole := p.width()
	p.Press("n") // without focus too
	shows("n", "mutual-exclusion · 1 Never two clients at once in the section that the lock guards. Violation 1 of 21")
	if from, to := p.span(); from > r.Properties["mutual-exclusion"].Violations[0].StartS || to < r.Properties["mutual-exclusion"].Violations[0].EndS || to-from > whole/2 {
		t.Errorf("n shows %.3f s to %.3f s, want the violation and not much more", from, to)
	}
	if story := eval[string](p, `document.querySelector("#timeline .picked").textContent`); !strings.Contains(story, r.Properties["mutual-exclusion"].Violations[0].Story[0]) {
		t.Errorf("the story is not told under the timeline: %q", story)
	}
	p.Press("n")
	shows("n n", "Violation 2 of 21")
	p.Press("p", "p")
	shows("n n p p", "Violation 21 of 21")
	p.Click("#timeline [data-do=next]")
	shows("the button behind the last", "Violation 1 of 21")
	p.Click("#timeline [data-do=previous]")
	shows("the other button", "Violation 21 of 21")
	p.Click(`[data-violation="10"]`)
	shows("the button beside a story", "ownership · 1")
	p.Click("#timeline [data-do=all]")
	at := p.Box(canvas)
	v := r.Properties["mutual-exclusion"].Violations[0]
	p.Do(chromedp.MouseClickXY(at.Left+128+v.StartS/whole*(at.Width-142), at.Top+36+24+4+8))
	p.Settle()
	shows("a click on a mark", "mutual-exclusion · 1 ")

	p = open(t, file, look{fragment: "violation-10"})
	shows("a link from outside", "ownership · 1 ")
	if p.width() > whole/2 {
		t.Errorf("a link from outside shows %.3f s, want the violation", p.width())
	}
}

// TestStoriesLinkIntoTheTimeline: each time in a story leads to the operation that it is
// about, and so does each row of the table of operations; the fragment says it all.
func TestStoriesLinkIntoTheTimeline(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	r := result(t, plan, h)
	file := written(t, r, h)
	p := open(t, file, look{})
	acquire := r.Properties["mutual-exclusion"].Violations[0].Operations[0]
	p.Click("#violation-0 .story a")
	if hash, want := eval[string](p, `location.hash`), fmt.Sprintf("#t=4.004&op=%d", acquire); hash != want {
		t.Errorf("the first time of the first story leads to %q, want %q", hash, want)
	}
	says := eval[string](p, `document.querySelector("#timeline .selected").textContent`)
	for _, want := range []string{"client 0 worker 0", fmt.Sprintf("acquire (operation %d): ok", acquire), "overstays by", "F1 pause-client", "part of the violation mutual-exclusion 1"} {
		if !strings.Contains(says, want) {
			t.Errorf("of the operation that a story links to the page says %q, want %q in it", says, want)
		}
	}
	if from, to := p.span(); from > 4.004 || to < 4.004 || to-from > 7 {
		t.Errorf("the link shows %.3f s to %.3f s, want what is around 4.004 s", from, to)
	}
	if at := p.Box(canvas); at.Top > 1000 || at.Top+at.Height < 0 {
		t.Errorf("the timeline is at %.0f, out of sight", at.Top)
	}
	eval[bool](p, `(document.querySelector("#violation-10 details").open = true)`)
	p.Click("#violation-10 details tr:nth-child(2) a")
	if says := eval[string](p, `document.querySelector("#timeline .selected").textContent`); !strings.Contains(says, "acquire (operation") || !strings.Contains(says, "ownership 1") {
		t.Errorf("a row of the table leads to %q, want the second operation of the ownership violation", says)
	}
	eval[bool](p, `(history.back(), true)`)
	p.Until(fmt.Sprintf(`document.querySelector("#timeline .selected").textContent.includes("operation %d)")`, acquire))

	p = open(t, file, look{fragment: fmt.Sprintf("t=4.004&op=%d", acquire)})
	if says := eval[string](p, `document.querySelector("#timeline .selected").textContent`); !strings.Contains(says, "overstays by") {
		t.Errorf("a fragment from outside leads to %q", says)
	}
	p = open(t, file, look{fragment: "t=4.004&op=999999999"})
	if says := eval[string](p, `document.querySelector("#timeline .selected").textContent`); !strings.Contains(says, "is not in this page") {
		t.Errorf("an operation that is not there: %q", says)
	}
}

// TestKeysReachOperations: without a mouse every operation can be selected and is told.
func TestKeysReachOperations(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	p := open(t, written(t, result(t, plan, h), h), look{})
	says := func() string { return eval[string](p, `document.querySelector("#timeline .selected").textContent`) }
	eval[bool](p, `(document.querySelector("#timeline canvas").focus(), true)`)
	p.Press(".")
	if got := says(); !strings.HasPrefix(got, "client 0 worker 0\nacquire (operation ") {
		t.Errorf(". selects %q, want the first operation of the first lane", got)
	}
	first := says()
	p.Press(".")
	if got := says(); !strings.Contains(got, "deduct (operation ") || !strings.Contains(got, "stock 100000 →") && !strings.Contains(got, " → ") {
		t.Errorf(". . selects %q, want the deduction with what it wrote", got)
	}
	p.Press(",")
	if got := says(); got != first {
		t.Errorf(". . , selects %q, want %q", got, first)
	}
	p.Press(kb.ArrowDown)
	if got := says(); !strings.HasPrefix(got, "client 0 worker 1\n") {
		t.Errorf("↓ selects %q, want an operation of the lane below", got)
	}
	p.Press(kb.ArrowUp)
	if got := says(); !strings.HasPrefix(got, "client 0 worker 0\n") {
		t.Errorf("↓ ↑ selects %q, want an operation of the first lane", got)
	}
	p.Press(kb.Enter)
	if p.width() > 1 {
		t.Errorf("Enter shows %.3f s, want the operation from near", p.width())
	}
	p.Press(kb.Escape)
	if got := says(); got != "" {
		t.Errorf("after Escape %q is still selected", got)
	}
	region := eval[string](p, `document.querySelector("#timeline .selected").getAttribute("aria-live")`)
	if region != "polite" {
		t.Errorf("what is selected is not announced: aria-live=%q", region)
	}
}

// TestTooltips: the pointer over a lane tells what is there.
func TestTooltips(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	p := open(t, written(t, result(t, plan, h), h), look{})
	p.Press("n")
	at := p.Box(canvas)
	from, to := p.span()
	over := func(s, y float64) string {
		p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.Left+128+(s-from)/(to-from)*(at.Width-142), at.Top+y))
		p.Settle()
		return eval[string](p, `document.querySelector("#timeline .tip").hidden ? "" : document.querySelector("#timeline .tip").textContent`)
	}
	const lanes = 36 + 24 + 4 + 19 + 19 + 2
	for _, c := range []struct {
		what  string
		s, y  float64
		wants []string
	}{
		{"the overstayed hold", 6, lanes + 14, []string{"hold: 4.0", "overstays by 1.4", "F1 pause-client, client 0", "proof: process 4711 is in state T"}},
		{"the fault's bar", 5.5, lanes - 12, []string{"F1 pause-client, client 0: 4.02", "healed: process 4711 is in state S"}},
		{"a mark", 5.005, lanes - 32, []string{"violation: mutual-exclusion 1, 5.005 s to 5.055 s", "click"}},
		{"the ledger", 6.47, lanes + 10*28 + 14, []string{"stock ", "an update is lost"}},
	} {
		got := over(c.s, c.y)
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("over %s the tooltip says %q, want %q in it", c.what, got, want)
			}
		}
	}
	if got := over(5, -200); got != "" {
		t.Errorf("away from the timeline the tooltip still says %q", got)
	}
}

// TestFilters: by lock, SKU and client; violations that do not belong are not walked.
func TestFilters(t *testing.T) {
	h := twoLocks(t)
	r := result(t, usual(), h)
	p := open(t, written(t, r, h), look{})
	all := eval[int](p, `Number(document.body.dataset.holds)`)
	choose := func(name, text string) string {
		t.Helper()
		eval[bool](p, fmt.Sprintf(`(() => { const s = document.querySelector("select[data-filter=%s]");
			s.value = [...s.options].find((o) => o.textContent === %q).value; s.dispatchEvent(new Event("change")); return true; })()`, name, text))
		p.Settle()
		return eval[string](p, `document.querySelector("#timeline .matches").textContent`)
	}
	holds := func() int { return eval[int](p, `Number(document.body.dataset.holds)`) }
	choose("lock", "lock:sku-1")
	one := holds()
	choose("lock", "lock:sku-0")
	other := holds()
	if one == 0 || other == 0 || one+other != all {
		t.Errorf("%d holds of one lock and %d of the other are shown, of %d together", one, other, all)
	}
	says := choose("lock", "lock:sku-1")
	p.Press("n")
	if got := eval[string](p, `document.querySelector("#timeline .picked-head")?.textContent || ""`); got != "" || !strings.Contains(says, "0 of 21 violations") {
		t.Errorf("only the other lock was violated, yet n leads to %q; the page says %q", got, says)
	}
	p.Click("#timeline [data-do=all]")
	choose("lock", "all")
	choose("sku", "sku-1")
	if got := holds(); got != one {
		t.Errorf("filtered by the SKU that the lock guards %d holds are shown, want the lock's %d", got, one)
	}
	choose("sku", "all")
	before := p.Box(canvas).Height
	choose("client", "client 3")
	if after := p.Box(canvas).Height; before-after != 14*20-2*28 {
		t.Errorf("filtered by client the picture is %.0f pixels lower, want 12 of 14 lanes less", before-after)
	}
	choose("client", "client 1")
	p.Click(`[data-violation="10"]`) // it is of clients 0 and 3
	if got := eval[string](p, `document.querySelector("select[data-filter=client]").value`); got != "-1" {
		t.Errorf("the filter hides a violation that was asked for: it is still %q", got)
	}
}

// twoLocks is the usual test, with a second SKU and its lock sold
// by two more clients.
func twoLocks(t testing.TB) *history.History {
	t.Helper()
	plan := usual()
	h := plan.record(t)
	quiet := usual()
	quiet.pauseAt, quiet.killAt, quiet.clients = 0, 0, 2
	more := quiet.record(t)
	for i := range more.Operations {
		o := more.Operations[i]
		o.ID, o.Client, o.Process, o.Object = o.ID+1_000_000, o.Client+5, o.Process+1000, strings.Replace(o.Object, "sku-0", "sku-1", 1)
		if o.Grant != 0 {
			o.Grant += 1_000_000
		}
		h.Operations = append(h.Operations, o)
	}
	slices.SortStableFunc(h.Operations, func(a, b history.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	return h
}
