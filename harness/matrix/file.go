package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Where a matrix stands in a store: root/matrices/<name>/<start time>/matrix.json.
const (
	Folder = "matrices"
	File   = "matrix.json"
)

// ErrNotAMatrix: the folder is not one of a stored matrix.
var ErrNotAMatrix = errors.New("not the folder of a stored matrix")

// Write replaces the matrix in dir, as a whole or not at all.
func (m *Matrix) Write(dir string) error {
	return writeJSON(dir, File, m)
}

// Read reads the matrix in dir, or the file itself. An error that wraps ErrNotAMatrix says
// that there is none.
func Read(dir string) (*Matrix, error) {
	file := dir
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		file = filepath.Join(dir, File)
	}
	m, err := readJSON[Matrix](dir, file, File)
	if err != nil {
		return nil, err
	}
	if abs, err := filepath.Abs(file); err == nil && filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(abs)))) == Folder {
		m.Store = filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(abs))))
	}
	return m, nil
}

// readJSON reads the file of that name of the matrix in dir. If there is none, or it is
// something else, the error wraps ErrNotAMatrix.
func readJSON[T any](dir, file, name string) (*T, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it has no %s", dir, ErrNotAMatrix, name)
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", file, ErrNotAMatrix, err)
	}
	return v, nil
}

// writeJSON replaces a file as a whole or not at all.
func writeJSON(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	next := filepath.Join(dir, "."+name)
	if err := os.WriteFile(next, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, name))
}
