package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"picklock/harness/matrix"
)

// The words for the matrices of a store that were run last.
const (
	Latest   = "latest"
	Previous = "previous"
)

// ErrNoMatrix: the store has no matrix of that name, or too few.
var ErrNoMatrix = errors.New("no such matrix")

// Load reads one side of a comparison: the folder of a stored matrix, its matrix.json, or
// a baseline. What a file is, is told by its first character.
func Load(path string) (*Snapshot, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no matrix or baseline %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		is, err := isJSON(path)
		if err != nil {
			return nil, err
		}
		if !is {
			return ReadBaseline(path)
		}
	}
	m, err := matrix.Read(path)
	if err != nil {
		return nil, err
	}
	if m.Name == "" && len(m.Cells) == 0 {
		return nil, fmt.Errorf("%s: %w: it has neither a name nor cells", path, matrix.ErrNotAMatrix)
	}
	return Take(m)
}

// isJSON: the file begins with a brace, as a matrix.json does and a baseline does not.
func isJSON(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	begin, err := io.ReadAll(io.LimitReader(f, 512))
	return bytes.HasPrefix(bytes.TrimSpace(begin), []byte("{")), err
}

// Names are the names of the matrices in a store, sorted.
func Names(root string) ([]string, error) { return folders(filepath.Join(root, matrix.Folder)) }

// Stored are the folders of all matrices of a name, oldest first. A folder without
// matrix.json, of a matrix that has just begun, is left out.
func Stored(root, name string) ([]string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("%w: a name is one word, not %q", ErrNoMatrix, name)
	}
	in := filepath.Join(root, matrix.Folder, name)
	starts, err := folders(in)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range starts {
		dir := filepath.Join(in, s)
		if _, err := os.Stat(filepath.Join(dir, matrix.File)); err == nil {
			out = append(out, dir)
		}
	}
	if len(out) == 0 {
		names, err := Names(root)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the store %s has no matrix named %q; %s", ErrNoMatrix, root, name, has(names))
	}
	return out, nil
}

func has(names []string) string {
	if len(names) == 0 {
		return "it has none at all"
	}
	return "it has " + strings.Join(names, ", ")
}

// Named is the name that is meant where none is given: the only one in the store.
func Named(root string) (string, error) {
	names, err := Names(root)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", fmt.Errorf("%w: the store %s has none", ErrNoMatrix, root)
	case len(names) > 1:
		return "", fmt.Errorf("%w: the store %s has %s; one must be named", ErrNoMatrix, root, strings.Join(names, ", "))
	}
	return names[0], nil
}

// Find is the folder of the latest or previous matrix of a name. Any other word is a path,
// and comes back as it is.
func Find(root, name, word string) (string, error) {
	if word != Latest && word != Previous {
		return word, nil
	}
	all, err := Stored(root, name)
	if err != nil {
		return "", err
	}
	if word == Latest {
		return all[len(all)-1], nil
	}
	if len(all) < 2 {
		return "", fmt.Errorf("%w: the store %s has only one matrix named %q, so there is no previous one", ErrNoMatrix, root, name)
	}
	return all[len(all)-2], nil
}

// folders are the names of the folders in one, sorted; none if it does not exist.
func folders(in string) ([]string, error) {
	entries, err := os.ReadDir(in)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}
