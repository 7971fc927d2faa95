// Package web shows a store in a browser: the list of its tests, to be searched, sorted and
// filtered; each test with its report and its files; two of them side by side; the stored
// matrices and their trends; and how a test or a matrix goes that is running now.
//
// In goes the folder of a store, out comes a Handler. It reads and never writes, answers
// GET and HEAD only, and needs nothing from anywhere else. It trusts neither those who ask
// nor what is stored:
//
//   - An address is split into names before anything is opened, all files are opened through
//     an os.Root, without links, and only those that picklock writes (see allowed).
//   - What was stored is text in templates that escape it. Stored pages, which hold scripts of
//     their own, may run these in a sandbox without an origin (see policies).
//   - A page of another site cannot ask for it under a name of its own (see answersTo).
//
// Listing is done behind the scenes, so that a page costs the same for ten thousand tests.
package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"picklock/harness/follow"
	"picklock/harness/matrix"
	"picklock/harness/store"
)

//go:embed assets
var assets embed.FS

// Bounds of a request, and of what is done for many at once.
const (
	maxAddress = 4096 // bytes of path and query
	heavyOnes  = 4    // pages side by side for which results or matrices must be read
	heavyWait  = 5 * time.Second
)

// Options say how the Handler is reached.
type Options struct {
	// Loopback: it is served on this machine only. Of addresses, requests must then name one
	// of this machine's own (127.0.0.1, [::1]), in place of any.
	Loopback bool
	// Hosts are the names that it answers to, beside localhost and addresses. All other names
	// are refused: see answersTo.
	Hosts []string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Handler serves one store. It can be used by many goroutines.
type Handler struct {
	dir   string
	root  *os.Root
	now   func() time.Time
	local bool
	hosts []string

	tests    background[*snapshot]
	matrices background[[]matrixEntry]
	results  kept[*store.Result]
	cells    kept[matrixEntry]
	trends   kept[[]byte]
	running  followers[follow.State]
	ongoing  followers[follow.MatrixState]
	heavy    chan struct{}

	pages  map[string]*template.Template
	static map[string]asset
}

// New makes a Handler for the store in dir. An error that wraps store.ErrNotAStore says that
// there is none.
func New(dir string, o Options) (*Handler, error) {
	hosts, err := hostNames(o.Hosts)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: there is no such folder", dir, store.ErrNotAStore)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrNotAStore, err)
	}
	h := &Handler{dir: dir, root: root, now: o.Now, local: o.Loopback, hosts: hosts, heavy: make(chan struct{}, heavyOnes)}
	if h.now == nil {
		h.now = time.Now
	}
	h.tests = background[*snapshot]{now: h.now, make: (&tests{dir: dir, lister: store.NewLister(dir), now: h.now}).list}
	h.matrices = background[[]matrixEntry]{now: h.now, make: h.listMatrices}
	h.results.n, h.cells.n, h.trends.n = 64, 4096, 16
	h.running = followers[follow.State]{now: h.now, open: h.follow}
	h.ongoing = followers[follow.MatrixState]{now: h.now, open: h.followMatrix}
	if err := errors.Join(h.loadPages(), h.loadStatic()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return h, nil
}

// Close waits for what is done behind the scenes and closes all files. No request may be
// served any more.
func (h *Handler) Close() error {
	h.tests.close()
	h.matrices.close()
	return errors.Join(h.running.close(), h.ongoing.close(), h.root.Close())
}

// failure is an answer other than 200, with a sentence for the reader.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func fail(status int, format string, args ...any) error {
	return &failure{status, fmt.Sprintf(format, args...)}
}

var errBusy = &failure{http.StatusServiceUnavailable, "The store is being read; try again in a moment."}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Content-Security-Policy", ownPages)
	head.Set("Cache-Control", "no-store")
	names, err := h.check(r)
	if err == nil {
		err = h.route(w, r, names)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// check refuses what no browser asks for, and splits the path.
func (h *Handler) check(r *http.Request) (names []string, err error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, fail(http.StatusMethodNotAllowed, "This is read-only: there is GET and HEAD, but no %s.", clip(r.Method, 20))
	}
	if len(r.RequestURI) > maxAddress || len(r.URL.Path)+len(r.URL.RawQuery) > maxAddress {
		return nil, fail(http.StatusRequestURITooLong, "The address has more than %d characters.", maxAddress)
	}
	if !h.answersTo(r.Host) {
		return nil, fail(http.StatusMisdirectedRequest, "This is served as %s, not as %q. To be served under another name, picklock serve must be told it with --host.", h.names(), clip(r.Host, 80))
	}
	if r.ContentLength != 0 {
		return nil, fail(http.StatusRequestEntityTooLarge, "Requests have no body here.")
	}
	return split(r.URL)
}

// split gives the names that a path is made of. A slash that ends it says nothing.
func split(u *url.URL) ([]string, error) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return nil, fail(http.StatusBadRequest, "An address begins with a slash.")
	}
	if rest = strings.TrimSuffix(rest, "/"); rest == "" {
		if u.Path != "/" {
			return nil, fail(http.StatusBadRequest, "An address has no empty names.")
		}
		return nil, nil
	}
	names := strings.Split(rest, "/")
	for i, n := range names {
		name, err := url.PathUnescape(n)
		if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return nil, fail(http.StatusBadRequest, "%q is no name of a page or a file.", clip(n, 80))
		}
		names[i] = name
	}
	return names, nil
}

// route finds the page that is asked for.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, names []string) error {
	if len(names) == 0 {
		return h.list(w, r)
	}
	first, rest := names[0], names[1:]
	if first == "compare" && len(rest) == 0 {
		return h.compare(w, r)
	}
	if r.URL.RawQuery != "" {
		return fail(http.StatusBadRequest, "This page takes nothing behind a question mark.")
	}
	live := len(rest) == 3 && rest[2] == liveFile
	switch {
	case first == "assets" && len(rest) == 1:
		return h.asset(w, r, rest[0])
	case first == "tests" && len(rest) == 2:
		return h.test(w, r, rest[0], rest[1])
	case first == "tests" && live:
		return h.testLive(w, r, rest[0], rest[1])
	case first == "matrices" && len(rest) == 0:
		return h.matrixList(w, r)
	case first == "matrices" && len(rest) == 2:
		return h.matrix(w, r, rest[0], rest[1])
	case first == "matrices" && live:
		return h.matrixLive(w, r, rest[0], rest[1])
	case first == "trend" && len(rest) == 1:
		return h.trend(w, r, rest[0])
	case first == "store" && len(rest) > 2:
		return h.file(w, r, rest)
	}
	return fail(http.StatusNotFound, "There is no such page.")
}

// fail answers with an error. What went wrong inside is not told to others than those who
// asked for something that is not there.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var f *failure
	var q *badQuery
	switch {
	case errors.As(err, &f):
	case errors.As(err, &q):
		f = &failure{http.StatusBadRequest, q.text}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, matrix.ErrNotAMatrix), errors.Is(err, follow.ErrGone), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		f = &failure{http.StatusNotFound, "There is no such thing in this store."}
	case errors.Is(err, fs.ErrPermission):
		f = &failure{http.StatusForbidden, "picklock may not read this."}
	default:
		f = &failure{http.StatusInternalServerError, "It could not be read: " + clip(err.Error(), 300)}
	}
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Content-Security-Policy", ownPages)
	switch f.status {
	case http.StatusMethodNotAllowed:
		head.Set("Allow", "GET, HEAD")
	case http.StatusServiceUnavailable:
		head.Set("Retry-After", "1")
	case http.StatusRequestEntityTooLarge:
		head.Set("Connection", "close")
	}
	h.render(w, f.status, "error", errorPage{frame{Title: http.StatusText(f.status)}, f.status, strings.ToUpper(f.text[:1]) + f.text[1:]})
}

// turn takes one of the places for heavy pages; done gives it back.
func (h *Handler) turn(r *http.Request) (done func(), err error) {
	timer := time.NewTimer(heavyWait)
	defer timer.Stop()
	select {
	case h.heavy <- struct{}{}:
		return func() { <-h.heavy }, nil
	case <-timer.C:
		return nil, &failure{http.StatusServiceUnavailable, "Too many large pages are asked for at once; try again in a moment."}
	case <-r.Context().Done():
		return nil, errBusy
	}
}

// render writes a page as a whole.
func (h *Handler) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := h.pages[name].Execute(&b, data); err != nil {
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(w, status, b.Bytes())
}

// send writes an answer. That the other side is gone is no error here.
func send(w http.ResponseWriter, status int, b []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
