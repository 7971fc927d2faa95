//go:build browser

package reports_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/reports"
)

// The tests of this file's build tag open reports from disk in a headless Chromium, and
// play the reader with its own keys, mouse and fingers. They need chromium in PATH.

// tab is a report that is open in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	wrong []string // what a report must never do: complain, ask the network, open a dialog
	loads int      // documents that were loaded
}

// look is how a report is looked at. The zero value is a light desktop.
type look struct {
	dark, noScript bool
	width, height  int    // CSS pixels; 0: 1400 × 1000
	fragment       string // behind #
}

// written writes the report of a test into a folder of its own and gives its path.
func written(t testing.TB, r *store.Result, h *history.History) string {
	t.Helper()
	dir := t.TempDir()
	if err := reports.Write(dir, r, h); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, reports.ReportFile)
}

// open opens a file. At the end of the test the page must have done nothing wrong.
func open(t *testing.T, file string, l look) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	ctx, cancelTab := chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("hide-scrollbars", true)))
	p := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		p.mu.Lock()
		if len(p.wrong) > 0 {
			t.Errorf("the page did what no report may: %s", strings.Join(p.wrong, "; "))
		}
		if p.loads != 1 {
			t.Errorf("%d documents were loaded, want the report alone", p.loads)
		}
		p.mu.Unlock()
		cancelTab()
		cancel()
	})
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	if l.width == 0 {
		l.width, l.height = 1400, 1000
	}
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	p.do(
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, network.Enable, network.EnableParams{})
			return chromedp.Void{}, err
		},
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
			return chromedp.Void{}, err
		},
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			return chromedp.Void{}, err
		},
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.noScript})
			return chromedp.Void{}, err
		},
		chromedp.EmulateViewport(int64(l.width), int64(l.height)),
		chromedp.Navigate((&url.URL{Scheme: "file", Path: file, Fragment: l.fragment}).String()),
	)
	if !l.noScript {
		p.until(`document.body.dataset.timeline === "drawn" || !document.getElementById("timeline-data")`)
	}
	return p
}

// watch notes what the page must not do. It runs in the browser's reading loop.
func (p *tab) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		p.wrong = append(p.wrong, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		p.wrong = append(p.wrong, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		p.wrong = append(p.wrong, "log: "+e.Entry.Text)
	case *cdppage.EventJavascriptDialogOpening:
		p.wrong = append(p.wrong, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		if strings.HasPrefix(e.Request.URL, "file:") && strings.Contains(e.Request.URL, reports.ReportFile) {
			p.loads++
		} else {
			p.wrong = append(p.wrong, "request: "+e.Request.URL)
		}
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// eval gives the value of an expression, or of the promise that it gives.
func eval[T any](p *tab, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, func(e *runtime.EvaluateParams) { yes := true; e.AwaitPromise = &yes }))
	if err != nil {
		p.t.Fatalf("evaluate %.200s: %v", js, err)
	}
	return v
}

// until waits until an expression is true, for at most half a minute.
func (p *tab) until(js string) {
	p.t.Helper()
	for range 600 {
		if eval[bool](p, "Boolean("+js+")") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatalf("this never came true: %s", js)
}

// busy is the processor time that the page's main thread took so far, in ms: what a
// machine that is busy with something else does not change.
func (p *tab) busy() float64 {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, func(ctx context.Context, to *chromedp.Target) (performance.GetMetricsResult, error) {
		return cdp.Call(ctx, to, performance.GetMetrics, cdp.Empty{})
	})
	if err != nil {
		p.t.Fatalf("measure the page: %v", err)
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	p.t.Fatal("the browser does not tell how busy the page is")
	return 0
}

// settle waits until what was asked for is painted.
func (p *tab) settle() {
	p.t.Helper()
	eval[bool](p, `new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(() => f(true))))`)
}

// press presses keys one after the other; of each the page is painted before the next.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
		p.settle()
	}
}

// click clicks the middle of an element, as a reader does.
func (p *tab) click(selector string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(document.querySelector(%q).scrollIntoView({ block: "nearest" }), true)`, selector))
	b := p.box(selector)
	p.do(chromedp.MouseClickXY(b.Left+b.Width/2, b.Top+b.Height/2))
	p.settle()
}

// box is where an element is on the screen.
type box struct{ Left, Top, Width, Height float64 }

func (p *tab) box(selector string) box {
	p.t.Helper()
	return eval[box](p, fmt.Sprintf(`(() => { const b = document.querySelector(%q).getBoundingClientRect();
		return { Left: b.left, Top: b.top, Width: b.width, Height: b.height }; })()`, selector))
}

func (p *tab) wheel(x, y, by float64) {
	p.t.Helper()
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x, y, func(m *input.DispatchMouseEventParams) {
		m.DeltaX, m.DeltaY = 0.001, by // a zero would be left out, which is an error
	}))
	p.settle()
}

func (p *tab) drag(fromX, fromY, toX, toY float64) {
	p.t.Helper()
	left := func(m *input.DispatchMouseEventParams) { m.Button = input.MouseButtonLeft; m.ClickCount = 1 }
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, fromX, fromY, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (fromX+toX)/2, (fromY+toY)/2, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, toX, toY, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, toX, toY, left))
	p.settle()
}

// span is what part of the test the timeline says it shows, in seconds.
func (p *tab) span() (from, to float64) {
	p.t.Helper()
	s := eval[string](p, `document.querySelector("#timeline .span").textContent`)
	if _, err := fmt.Sscanf(s, "%f s to %f s", &from, &to); err != nil {
		p.t.Fatalf("the timeline says that it shows %q: %v", s, err)
	}
	return from, to
}

// shot keeps a screenshot of the page where PICKLOCK_SHOTS names a folder: for people who look.
func (p *tab) shot(name string) { p.shotBy(name, chromedp.FullScreenshot(100)) }

// shotOf keeps one of an element.
func (p *tab) shotOf(selector, name string) {
	p.shotBy(name, chromedp.Screenshot(chromedp.CSS(selector)))
}

func (p *tab) shotBy(name string, how chromedp.Action[[]byte]) {
	p.t.Helper()
	dir := os.Getenv("PICKLOCK_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, how)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.t.Fatalf("screenshot: %v", err)
	}
}
