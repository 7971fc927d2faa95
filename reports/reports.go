// Package reports turns the result of one test into what people and other programs read:
// report.html, charts, porcupine's pictures, text for a terminal, JUnit XML.
//
// In go a store.Result and the history that it was judged from; out come files and text.
// The package judges nothing and never touches servers, clients or a clock: the same
// input gives the same report, at any time and on any machine. Everything that servers
// or clients said (names, errors, proofs, tokens) is foreign text and is escaped.
package reports

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// ReportFile is the name of the report in a test's folder.
const ReportFile = "report.html"

//go:embed assets
var assets embed.FS

// Link leads from the report to a file beside it.
type Link struct {
	Text string
	Href string // relative, with slashes
	// Property that the file is about; empty: the whole test.
	Property models.Property
}

// Write writes report.html, charts/<name>.svg for each chart that shows something and a page
// porcupine-<property>-<object>.html for each picture into the existing folder dir.
// Where h is nil, whatever needs the history is left out. What cannot be drawn does
// not keep the report from being written: the error then says what is missing from it.
func Write(dir string, r *store.Result, h *history.History) error {
	return newDraft(h).Write(dir, r)
}

// Write is the function Write for the history of the draft. It may be called once.
func (d *Draft) Write(dir string, r *store.Result) error {
	links, missing := writePictures(dir, r, d.h)
	seen := d.of(r)
	var others errgroup.Group
	if d.h != nil {
		others.Go(func() error { return writeCharts(dir, seen) })
	}
	names := []string{"results.json", "test.json", "history.jsonl", "junit.xml"}
	if _, err := os.Stat(filepath.Join(dir, store.WireFile)); err == nil {
		names = append(names, store.WireFile)
	}
	for _, name := range names {
		links = append(links, Link{Text: name, Href: name})
	}
	err := writeFile(filepath.Join(dir, ReportFile), func(w io.Writer) error { return writePage(w, dir, r, d.h, links, seen) })
	return errors.Join(err, missing, others.Wait())
}

func writeCharts(dir string, seen *views) error {
	cs, err := seen.charts()
	if len(cs) == 0 {
		return err
	}
	if e := os.Mkdir(filepath.Join(dir, "charts"), 0o755); e != nil && !errors.Is(e, fs.ErrExist) {
		return errors.Join(err, fmt.Errorf("make the folder for charts: %w", e))
	}
	for _, c := range cs {
		if c.SVG == "" {
			continue
		}
		err = errors.Join(err, writeFile(filepath.Join(dir, "charts", c.File), func(w io.Writer) error {
			_, e := io.WriteString(w, string(c.SVG))
			return e
		}))
	}
	return err
}

// writePictures writes porcupine's pages and gives the links to them.
func writePictures(dir string, r *store.Result, h *history.History) ([]Link, error) {
	var links []Link
	var errs []error
	taken := map[string]bool{}
	hits := faults(r, h)
	for _, p := range properties(r) {
		for _, pic := range r.Properties[p].Pictures {
			base := "porcupine-" + safeName(string(p)) + "-" + safeName(pic.Object)
			name := base + ".html"
			for n := 2; taken[name]; n++ {
				name = fmt.Sprintf("%s-%d.html", base, n)
			}
			taken[name] = true
			if err := writeFile(filepath.Join(dir, name), func(w io.Writer) error { return drawPicture(w, pic, h, hits) }); err != nil {
				errs = append(errs, err)
				continue
			}
			links = append(links, Link{
				Text: fmt.Sprintf("porcupine's picture of %s on %s: its search for an order, with the faults (events in order, not on a time axis)", p, clip(pic.Object)),
				Href: name, Property: p,
			})
		}
	}
	return links, errors.Join(errs...)
}

// writeFile writes beside the file first, so that a failure leaves no half of it.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), os.Remove(f.Name()))
	}
	return nil
}

// safeName keeps letters, digits, dots and dashes of a name that a user or a server
// chose, so that it is the name of a file in one folder and nothing else.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, ".-")
	if len(s) > 60 {
		s = s[:60]
	}
	if s == "" {
		return "unnamed"
	}
	return s
}

// HTML writes the report as one self-contained page: it loads nothing, and only its
// links lead out of it. Where h is nil, there are no timeline, charts or pictures.
func HTML(w io.Writer, r *store.Result, h *history.History, links []Link) error {
	return writePage(w, "", r, h, links, newDraft(h).of(r))
}

// writePage writes the page of the test whose folder dir is; empty: what only the folder has
// is left out.
func writePage(w io.Writer, dir string, r *store.Result, h *history.History, links []Link, seen *views) error {
	p, err := newPage(r, h, links, seen)
	if err != nil {
		return fmt.Errorf("prepare the report: %w", err)
	}
	if dir != "" {
		p.lamports(dir, r, h)
	}
	t, err := template.ParseFS(assets, "assets/report.html.tmpl", "assets/lamport.html.tmpl")
	if err != nil {
		return fmt.Errorf("read the report's template: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func asset(name string) (string, error) {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(b), nil
}

// Style is the style sheet that all pages share: colours for light and dark, tables,
// buttons, the verdict on top.
func Style() (string, error) { return asset("report.css") }
