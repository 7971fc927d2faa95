package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Discard removes the folder of a test that never began, and points root/latest to the
// newest that is left; without one there is no latest.
func Discard(root string, d Dir) error {
	if err := os.RemoveAll(string(d)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Dir(string(d))); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // ErrExist: tests of the same name are there
	}
	link := filepath.Join(root, latest)
	if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
		return err // it points to another test
	}
	tests, err := filepath.Glob(filepath.Join(root, "*", "*", TestFile))
	if err != nil {
		return err
	}
	newest := ""
	for _, path := range tests {
		if dir := filepath.Dir(path); newest == "" || filepath.Base(dir) > filepath.Base(newest) {
			newest = dir
		}
	}
	if newest == "" {
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	target, err := filepath.Rel(root, newest)
	if err != nil {
		return err
	}
	return point(root, target, filepath.Base(string(d)))
}
