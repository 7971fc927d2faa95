//go:build browser

// Package browsertest opens pages in a headless Chromium and plays the reader, with keys,
// mouse and fingers. It knows what every page of picklock owes its readers, whatever it
// shows: no complaint in the console, enough contrast (see Contrast), everything in reach of
// the keyboard (see Keyboard), a name for all that can be used (see Names). It needs the
// build tag "browser", and chromium in PATH.
package browsertest

import (
	"context"
	"fmt"
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
)

// Tab is a page that is open in the browser.
type Tab struct {
	T   testing.TB
	Ctx context.Context

	mu    sync.Mutex
	from  string   // what all addresses begin with that may be asked for
	wrong []string // what a page must never do: complain, ask others, open a dialog
	loads int      // documents that were loaded
}

// Look is how a page is looked at. The zero value is a light desktop.
type Look struct {
	Dark, NoScript bool
	Width, Height  int // CSS pixels; 0: 1400 × 1000
}

// Open opens an address. The page may ask for what begins with from, and for nothing else;
// at the end of the test it must have done nothing wrong.
func Open(t testing.TB, address, from string, l Look) *Tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	ctx, cancelTab := chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("hide-scrollbars", true)))
	p := &Tab{T: t, Ctx: ctx, from: from}
	t.Cleanup(func() {
		if wrong := p.Wrong(); len(wrong) > 0 {
			t.Errorf("the page did what no page may: %s", strings.Join(wrong, "; "))
		}
		cancelTab()
		cancel()
	})
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	p.Do(
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, network.Enable, network.EnableParams{})
			return chromedp.Void{}, err
		},
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
			return chromedp.Void{}, err
		},
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.NoScript})
			return chromedp.Void{}, err
		},
	)
	p.LookAs(l)
	p.Go(address)
	return p
}

// LookAs changes the colour scheme and the size of the window.
func (p *Tab) LookAs(l Look) {
	p.T.Helper()
	if l.Width == 0 {
		l.Width, l.Height = 1400, 1000
	}
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	p.Do(
		func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			return chromedp.Void{}, err
		},
		chromedp.EmulateViewport(int64(l.Width), int64(l.Height)),
	)
}

// Go goes to another address.
func (p *Tab) Go(address string) {
	p.T.Helper()
	p.Do(chromedp.Navigate(address))
}

// watch notes what the page must not do. It runs in the browser's reading loop.
func (p *Tab) watch(event any) {
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
		switch {
		case strings.HasPrefix(e.Request.URL, "data:"): // from the page itself, or the sign in the browser's own field of a date
		case !strings.HasPrefix(e.Request.URL, p.from):
			p.wrong = append(p.wrong, "request: "+e.Request.URL)
		case e.Type == network.ResourceTypeDocument:
			p.loads++
		}
	}
}

// Wrong gives what the page did wrong so far, and forgets it.
func (p *Tab) Wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	wrong := p.wrong
	p.wrong = nil
	return wrong
}

// Loads is how many documents were loaded.
func (p *Tab) Loads() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loads
}

// Do does what a reader does, one after the other.
func (p *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	if err := chromedp.Do(p.Ctx, actions...); err != nil {
		p.T.Fatalf("in the browser: %v", err)
	}
}

// Eval gives the value of an expression, or of the promise that it gives.
func Eval[V any](p *Tab, js string) V {
	p.T.Helper()
	v, err := chromedp.Run(p.Ctx, chromedp.Evaluate[V](js, func(e *runtime.EvaluateParams) { yes := true; e.AwaitPromise = &yes }))
	if err != nil {
		p.T.Fatalf("evaluate %.200s: %v", js, err)
	}
	return v
}

// Until waits until an expression is true, for at most half a minute.
func (p *Tab) Until(js string) {
	p.T.Helper()
	for range 600 {
		if Eval[bool](p, "Boolean("+js+")") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.T.Fatalf("this never came true: %s", js)
}

// Busy is the processor time that the page's main thread took so far, in ms: what a
// machine that is busy with something else does not change.
func (p *Tab) Busy() float64 {
	p.T.Helper()
	got, err := chromedp.Run(p.Ctx, func(ctx context.Context, to *chromedp.Target) (performance.GetMetricsResult, error) {
		return cdp.Call(ctx, to, performance.GetMetrics, cdp.Empty{})
	})
	if err != nil {
		p.T.Fatalf("measure the page: %v", err)
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	p.T.Fatal("the browser does not tell how busy the page is")
	return 0
}

// Settle waits until what was asked for is painted.
func (p *Tab) Settle() {
	p.T.Helper()
	Eval[bool](p, `new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(() => f(true))))`)
}

// Press presses keys one after the other; of each the page is painted before the next.
func (p *Tab) Press(keys ...string) {
	p.T.Helper()
	for _, k := range keys {
		p.Do(chromedp.KeyEvent(k))
		p.Settle()
	}
}

// Click clicks the middle of an element, as a reader does.
func (p *Tab) Click(selector string) {
	p.T.Helper()
	Eval[bool](p, fmt.Sprintf(`(document.querySelector(%q).scrollIntoView({ block: "nearest" }), true)`, selector))
	b := p.Box(selector)
	p.Do(chromedp.MouseClickXY(b.Left+b.Width/2, b.Top+b.Height/2))
	p.Settle()
}

// Box is where an element is on the screen.
type Box struct{ Left, Top, Width, Height float64 }

// Box gives where the first element is that fits.
func (p *Tab) Box(selector string) Box {
	p.T.Helper()
	return Eval[Box](p, fmt.Sprintf(`(() => { const b = document.querySelector(%q).getBoundingClientRect();
		return { Left: b.left, Top: b.top, Width: b.width, Height: b.height }; })()`, selector))
}

// Wheel turns the wheel of a mouse that points at a place.
func (p *Tab) Wheel(x, y, by float64) {
	p.T.Helper()
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x, y, func(m *input.DispatchMouseEventParams) {
		m.DeltaX, m.DeltaY = 0.001, by // a zero would be left out, which is an error
	}))
	p.Settle()
}

// Drag drags from one place to another with the left button.
func (p *Tab) Drag(fromX, fromY, toX, toY float64) {
	p.T.Helper()
	left := func(m *input.DispatchMouseEventParams) { m.Button = input.MouseButtonLeft; m.ClickCount = 1 }
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, fromX, fromY, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (fromX+toX)/2, (fromY+toY)/2, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, toX, toY, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, toX, toY, left))
	p.Settle()
}

// Shot keeps a screenshot of the page where PICKLOCK_SHOTS names a folder: for people who look.
func (p *Tab) Shot(name string) { p.T.Helper(); p.shotBy(name, chromedp.FullScreenshot(100)) }

// ShotOf keeps one of an element.
func (p *Tab) ShotOf(selector, name string) {
	p.T.Helper()
	p.shotBy(name, chromedp.Screenshot(chromedp.CSS(selector)))
}

func (p *Tab) shotBy(name string, how chromedp.Action[[]byte]) {
	p.T.Helper()
	dir := os.Getenv("PICKLOCK_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.Ctx, how)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.T.Fatalf("screenshot: %v", err)
	}
}
