package web

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/reports"
	"picklock/reports/grid"
)

// policies: what pages may do.
//
// Our own pages hold no stored text other than escaped, have one script and one style
// sheet, both of this program, and load nothing else.
//
// Stored pages (report.html, porcupine's pictures, matrix.html) have script and style within
// them. They may run, since the reports are of no use without; but in a sandbox without
// allow-same-origin, which gives the page an origin of its own that nothing else has: its
// script cannot read any other page or file of this server, the store of the browser, or
// cookies. It cannot load or send anything either (default-src 'none' also forbids
// connections), open windows, or send forms. What is left to a hostile report, say one that
// was imported, is its own text and picture, and to lead the reader elsewhere.
//
// Other files are shown without any script.
const (
	ownPages    = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	storedPages = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	otherFiles  = "sandbox; default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// types are the content types of the files that picklock writes.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".json": "application/json", ".jsonl": "application/jsonl; charset=utf-8", ".xml": "application/xml",
	".svg": "image/svg+xml", ".log": "text/plain; charset=utf-8", ".yaml": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".txt": "text/plain; charset=utf-8", ".conf": "text/plain; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
}

// ofATest and ofAMatrix are patterns of the files that picklock writes into a folder.
// Whatever else is there is somebody else's.
var (
	ofATest = []string{
		store.ReportFile, store.ResultFile, store.TestFile, store.HistoryFile, store.JUnitFile, store.LogFile, store.Schedule,
		"porcupine-*.html", "charts/*.svg",
		store.NodeLogs + "/*.log", store.NodeLogs + "/*/*.log", store.NodeLogs + "/*.conf", store.NodeLogs + "/*/*.conf", store.ClientLogs + "/*.log",
	}
	ofAMatrix = []string{grid.File, matrix.File, matrix.PlanFile, matrix.JournalFile, store.JUnitFile, "matrix.svg", "summary.md"}
)

func allowed(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name) // they are our own
		return ok
	})
}

// file sends a stored file. Its address is that of the file in the store, so that links
// from report to report lead where they should.
func (h *Handler) file(w http.ResponseWriter, r *http.Request, names []string) error {
	name := strings.Join(names, "/")
	depth, patterns := 2, ofATest
	if names[0] == matrix.Folder {
		depth, patterns = 3, ofAMatrix
	}
	if len(names) <= depth {
		if len(names) == 3 { // the folder of a matrix, to which its reports lead
			return fail(http.StatusNotFound, "There is no such file; the matrix has a page of its own.")
		}
		return fs.ErrNotExist
	}
	if err := h.isOurs(names[:depth]); err != nil {
		return err
	}
	if !allowed(patterns, strings.Join(names[depth:], "/")) {
		return fail(http.StatusNotFound, "There is no such file, or none of those that picklock writes.")
	}
	f, info, err := store.OpenIn(h.root, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	head := w.Header()
	ext := path.Ext(name)
	head.Set("Content-Type", types[ext])
	head.Set("Content-Security-Policy", otherFiles)
	if ext == ".html" {
		head.Set("Content-Security-Policy", storedPages)
	}
	if ext == ".jsonl" {
		head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
	}
	head.Set("Cache-Control", "no-cache") // ask each time: it may have been judged anew
	head.Set("ETag", fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()))
	http.ServeContent(&patient{w, http.NewResponseController(w)}, r, "", info.ModTime(), f)
	return nil
}

// isOurs says whether the names are those of the folder of a test or of a matrix: it is named
// after its start, or has a test.json.
func (h *Handler) isOurs(names []string) error {
	dir := strings.Join(names, "/")
	info, err := store.LookIn(h.root, dir)
	if err != nil {
		return err
	}
	_, named := store.Stamped(names[len(names)-1])
	if info.IsDir() && !named && names[0] != matrix.Folder {
		info, err := store.LookIn(h.root, dir+"/"+store.TestFile)
		named = err == nil && info.Mode().IsRegular()
	}
	if !info.IsDir() || !named {
		return fs.ErrNotExist
	}
	return nil
}

// patient gives whoever reads slowly, but does read, the time for a large file.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

// pieceWithin is how long a piece of a file, of 32 KiB, may take to be sent.
const pieceWithin = 20 * time.Second

func (p *patient) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(pieceWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// asset is a file of this program.
type asset struct {
	content, kind, tag string
}

// loadStatic prepares the style sheet, the script and the icon.
func (h *Handler) loadStatic() error {
	style, err := reports.Style()
	if err != nil {
		return err
	}
	h.static = map[string]asset{}
	for _, name := range []string{"page.css", "page.js", "icon.svg"} {
		b, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		content := string(b)
		if name == "page.css" {
			content = style + content
		}
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(content)) // it never fails
		h.static[name] = asset{content, types[path.Ext(name)], fmt.Sprintf(`"%x"`, sum.Sum64())}
	}
	return nil
}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name string) error {
	a, ok := h.static[name]
	if !ok {
		return fs.ErrNotExist
	}
	head := w.Header()
	head.Set("Content-Type", a.kind)
	head.Set("Cache-Control", "no-cache")
	head.Set("ETag", a.tag)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.content))
	return nil
}
