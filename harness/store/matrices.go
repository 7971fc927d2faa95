package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Where matrices stand; see the package matrix, which depends on this one.
const matricesFolder = "matrices"

// Matrix is the folder of a stored matrix, as far as a store must know it.
type Matrix struct {
	Dir     string    `json:"dir"`
	Path    string    `json:"path"` // in the store, with slashes: "matrices/nightly/20260102T030405.000Z"
	Name    string    `json:"name"`
	Started time.Time `json:"started"` // as its folder says
	Changed time.Time `json:"changed"` // when something in it was last written
	Tests   []string  `json:"tests"`   // that it refers to, as Entry.Path
	Use     Use       `json:"use"`
}

// Matrices gives the matrices of a store, newest first. Tests are those that any of its
// JSON files refers to as "dir", also of a matrix that was broken off and can be resumed.
func Matrices(root string) ([]Matrix, error) {
	names, err := os.ReadDir(filepath.Join(root, matricesFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Matrix
	for _, n := range names {
		if !n.IsDir() || hidden(n.Name()) {
			continue
		}
		of, err := os.ReadDir(filepath.Join(root, matricesFolder, n.Name()))
		if err != nil {
			return nil, err
		}
		for _, m := range of {
			if started, ok := stampTime(m.Name()); ok && m.IsDir() { // others are not a matrix's
				p := path.Join(matricesFolder, n.Name(), m.Name())
				all = append(all, Matrix{Dir: filepath.Join(root, filepath.FromSlash(p)), Path: p, Name: n.Name(), Started: started})
			}
		}
	}
	errs := make([]error, len(all))
	each(len(all), func(i int) { errs[i] = all[i].read() })
	slices.SortFunc(all, func(a, b Matrix) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Path, b.Path))
	})
	return all, errors.Join(errs...)
}

// read looks into the files of the matrix.
func (m *Matrix) read() error {
	tests := map[string]bool{}
	err := filepath.WalkDir(m.Dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return unlessGone(err)
		}
		info, err := e.Info()
		if err != nil {
			return unlessGone(err)
		}
		m.Use.Bytes += onDisk(info)
		if info.ModTime().After(m.Changed) {
			m.Changed = info.ModTime()
		}
		if e.IsDir() {
			return nil
		}
		m.Use.Files++
		if ext := filepath.Ext(p); !info.Mode().IsRegular() || ext != ".json" && ext != ".jsonl" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return unlessGone(err)
		}
		for _, dir := range dirsIn(text) {
			tests[dir] = true
		}
		return nil
	})
	for t := range tests {
		m.Tests = append(m.Tests, t)
	}
	slices.Sort(m.Tests)
	return err
}

// dirsIn gives the values of all fields "dir" of JSON text, also of text that breaks off.
// To find them as text is some times faster than to parse all stories and measures; that
// a story could quote such a field, escaped, does not make it one.
func dirsIn(text []byte) (dirs []string) {
	field := []byte(`"dir"`)
	for {
		at := bytes.Index(text, field)
		if at < 0 {
			return dirs
		}
		text = bytes.TrimLeft(text[at+len(field):], " \t\r\n")
		rest, ok := bytes.CutPrefix(text, []byte(":"))
		if !ok {
			continue
		}
		rest = bytes.TrimLeft(rest, " \t\r\n")
		var dir string
		if end := stringEnd(rest); end > 0 && json.Unmarshal(rest[:end], &dir) == nil {
			dirs = append(dirs, path.Clean(filepath.ToSlash(dir)))
			text = rest[end:]
		}
	}
}

// stringEnd is the length of the JSON string that b begins with; 0 without one.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// refer says of each entry which matrices refer to it.
func refer(root string, entries []Entry) error {
	all, err := Matrices(root)
	if err != nil {
		return err
	}
	by := map[string][]string{}
	for _, m := range all {
		for _, t := range m.Tests {
			by[t] = append(by[t], m.Path)
		}
	}
	for i := range entries {
		entries[i].Matrices = by[entries[i].Path]
	}
	return nil
}
