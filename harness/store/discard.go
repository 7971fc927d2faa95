package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
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
	if _, err := os.Stat(filepath.Join(root, latest)); !errors.Is(err, fs.ErrNotExist) {
		return err // it points to another test
	}
	return repoint(root, filepath.Base(string(d)))
}

// repoint points root/latest to the newest test, or removes it where there is none. unique
// keeps processes that do so at once apart.
func repoint(root, unique string) error {
	paths, err := folders(root, "")
	if err != nil {
		return err
	}
	newest := ""
	for _, p := range paths {
		_, named := stampTime(path.Base(p))
		if info, err := os.Lstat(filepath.Join(root, p, TestFile)); named && err == nil && info.Mode().IsRegular() && path.Base(p) > path.Base(newest) {
			newest = p
		}
	}
	if newest == "" {
		return unlessGone(os.Remove(filepath.Join(root, latest)))
	}
	return point(root, filepath.FromSlash(newest), unique)
}
