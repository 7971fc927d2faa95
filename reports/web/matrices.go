package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"picklock/harness/compare"
	"picklock/harness/follow"
	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/reports/changes"
	"picklock/reports/grid"
)

// Bounds of what is read of matrices.
const (
	maxMatrices = 5000 // folders
	maxMatrix   = 256 << 20
	nights      = 30 // of a trend
)

// matrixEntry is a matrix in the list.
type matrixEntry struct {
	Path, Name, Start string
	Whole             bool // it has a matrix.json
	Page              bool // and a matrix.html
	Trouble           string
	Outcome           matrix.Outcome
	Counts            map[matrix.Outcome]int // of the cells
	Cells, Runs       int
	Missing           int
	WallS             float64
	Changed           time.Time
}

// listMatrices lists the stored matrices, newest first.
func (h *Handler) listMatrices() ([]matrixEntry, error) {
	var all []matrixEntry
	names, err := h.folders(matrix.Folder)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		starts, err := h.folders(matrix.Folder + "/" + n)
		if err != nil {
			return nil, err
		}
		for _, s := range starts {
			at, ok := store.Stamped(s)
			if !ok || len(all) == maxMatrices {
				continue
			}
			all = append(all, h.readMatrix(matrixEntry{Path: matrix.Folder + "/" + n + "/" + s, Name: n, Start: at}))
		}
	}
	slices.SortFunc(all, func(a, b matrixEntry) int { return strings.Compare(b.Start+b.Path, a.Start+a.Path) })
	return all, nil
}

// folders are the folders in one, by name; none if there is no such folder.
func (h *Handler) folders(in string) (names []string, err error) {
	if _, err := store.LookIn(h.root, in); err != nil {
		return nil, nil
	}
	all, err := fs.ReadDir(h.root.FS(), in)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	for _, e := range all {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// readMatrix fills in what matrix.json says, if there is one.
func (h *Handler) readMatrix(e matrixEntry) matrixEntry {
	name := e.Path + "/" + matrix.File
	info, err := store.LookIn(h.root, name)
	if err != nil {
		if info, err := store.LookIn(h.root, e.Path+"/"+matrix.JournalFile); err == nil {
			e.Changed = info.ModTime()
		} else if info, err := store.LookIn(h.root, e.Path); err == nil {
			e.Changed = info.ModTime()
		}
		return e
	}
	key := fmt.Sprintf("%s %d %d", e.Path, info.Size(), info.ModTime().UnixNano())
	got, err := h.cells.get(key, func() (matrixEntry, error) {
		m, err := h.matrixOf(e.Path)
		if err != nil {
			return e, err
		}
		e.Outcome, e.Counts, e.Cells, e.Missing, e.WallS = m.Outcome, m.Count(), len(m.Cells), m.Missing, m.WallS
		for i := range m.Cells {
			e.Runs += len(m.Cells[i].Runs)
		}
		return e, nil
	})
	if err != nil {
		e.Trouble = clip(err.Error(), 200)
		return e
	}
	got.Whole, got.Changed = true, info.ModTime()
	page, err := store.LookIn(h.root, e.Path+"/"+grid.File)
	got.Page = err == nil && page.Mode().IsRegular()
	return got
}

func (h *Handler) matrixOf(path string) (*matrix.Matrix, error) {
	b, err := store.ReadIn(h.root, path+"/"+matrix.File, maxMatrix)
	if err != nil {
		return nil, err
	}
	m := new(matrix.Matrix)
	return m, json.Unmarshal(b, m)
}

type (
	matricesPage struct {
		frame
		Rows   []matrixRow
		More   int
		Trends []pair
	}
	matrixRow struct {
		mark
		matrixEntry
		Says, Took, Href, Grid, Trend string
		Going                         bool
	}
	matrixPage struct {
		frame
		matrixRow
		Files []fileView
		Live  *liveView
		Runs  []runView
		Total int
	}
	runView struct {
		mark
		Cell, Seed, Why, Href string
	}
)

// shownMatrices is how many the list has at most.
const shownMatrices = 300

func viewMatrix(e matrixEntry, now time.Time) matrixRow {
	v := matrixRow{matrixEntry: e, mark: markOfOutcome(e.Outcome), Took: seconds(e.WallS), Href: under("matrices", strings.TrimPrefix(e.Path, matrix.Folder+"/")), Trend: address("trend", e.Name)}
	switch {
	case e.Trouble != "":
		v.mark, v.Says = mark{"!", "damaged", "violated"}, e.Trouble
	case !e.Whole && now.Sub(e.Changed) < 2*time.Minute:
		v.mark, v.Going = mark{"▸", "running", "going"}, true
	case !e.Whole:
		v.mark = mark{"…", "unfinished", "unknown"}
	default:
		v.Says = outcomes(e.Counts)
	}
	if e.Page {
		v.Grid = under("store", e.Path, grid.File)
	}
	if e.Missing > 0 {
		v.Says += "; " + counted(e.Missing, "run is missing", "runs are missing")
	}
	return v
}

// matrixList is the page of all matrices.
func (h *Handler) matrixList(w http.ResponseWriter, _ *http.Request) error {
	all, err := h.matrices.get()
	if err != nil {
		return err
	}
	p := matricesPage{frame: frame{"Matrices", "matrices"}, More: max(0, len(all)-shownMatrices)}
	seen := map[string]bool{}
	for _, e := range all {
		if len(p.Rows) < shownMatrices {
			p.Rows = append(p.Rows, viewMatrix(e, h.now()))
		}
		if e.Whole && !seen[e.Name] {
			seen[e.Name] = true
			p.Trends = append(p.Trends, pair{e.Name, address("trend", e.Name)})
		}
	}
	h.render(w, http.StatusOK, "matrices", p)
	return nil
}

// matrix is the page of one matrix: how it goes, if it is running, and its files.
func (h *Handler) matrix(w http.ResponseWriter, r *http.Request, name, start string) error {
	if err := h.isOurs([]string{matrix.Folder, name, start}); err != nil {
		return err
	}
	done, err := h.turn(r)
	if err != nil {
		return err
	}
	defer done()
	at, _ := store.Stamped(start)
	e := h.readMatrix(matrixEntry{Path: matrix.Folder + "/" + name + "/" + start, Name: name, Start: at})
	p := matrixPage{frame: frame{"Matrix " + name, "matrices"}, matrixRow: viewMatrix(e, h.now())}
	if p.Files, err = h.files(e.Path, ofAMatrix); err != nil {
		return err
	}
	if s, err := h.ongoing.get(e.Path); err == nil {
		p.show(&s)
	}
	h.render(w, http.StatusOK, "matrix", p)
	return nil
}

// show fills in how the matrix goes.
func (p *matrixPage) show(s *follow.MatrixState) {
	p.Total = s.Total
	if !s.Whole {
		p.Live = viewMatrixLive(s, p.Href+"/"+liveFile)
	}
	for _, r := range s.Last {
		v := runView{mark: markOfOutcome(r.Outcome), Cell: r.Cell, Seed: utoa(r.Seed), Why: r.Why}
		if strings.Count(r.Dir, "/") == 1 {
			v.Href = under("tests", r.Dir)
		}
		p.Runs = append(p.Runs, v)
	}
}

// trend is a page of reports/changes: every cell of a matrix over the nights.
func (h *Handler) trend(w http.ResponseWriter, r *http.Request, name string) error {
	starts, err := h.folders(matrix.Folder + "/" + name)
	if err != nil {
		return err
	}
	var paths, dirs []string
	key := name
	for _, s := range slices.Backward(starts) { // the newest first
		p := matrix.Folder + "/" + name + "/" + s
		info, err := store.LookIn(h.root, p+"/"+matrix.File)
		if _, ok := store.Stamped(s); !ok || err != nil || len(paths) == nights {
			continue
		}
		paths, dirs = append(paths, p), append(dirs, p)
		key += fmt.Sprintf(" %s %d %d", s, info.Size(), info.ModTime().UnixNano())
	}
	if len(paths) == 0 {
		return fail(http.StatusNotFound, "The store has no whole matrix of that name.")
	}
	done, err := h.turn(r)
	if err != nil {
		return err
	}
	defer done()
	b, err := h.trends.get(key, func() ([]byte, error) {
		var all []*matrix.Matrix
		for _, p := range paths {
			m, err := h.matrixOf(p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			all = append(all, m)
		}
		var b bytes.Buffer
		if err := changes.TrendHTML(&b, compare.NewTrend(name, all, dirs)); err != nil {
			return nil, err
		}
		return bytes.Replace(b.Bytes(), []byte("<main>"), []byte("<main>\n<p><a href=\"/matrices\">all matrices</a></p>"), 1), nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", otherFiles)
	send(w, http.StatusOK, b)
	return nil
}

func queryEscape(s string) string { return url.QueryEscape(s) }
