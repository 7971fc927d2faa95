package store

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenIn opens a regular file of a store to read, for those who must not see more than the
// store: name is relative to root and has slashes. Hidden files are refused, and links,
// wherever they lead; and whatever happens meanwhile, os.Root lets nothing out of root. An
// error that wraps fs.ErrNotExist says that there is no such file for them.
func OpenIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	seen, err := LookIn(root, name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file: %w", name, fs.ErrNotExist)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // were it a pipe by now, it would not wait
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(seen, info)) {
		err = fmt.Errorf("%s was replaced just now: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		_ = f.Close() // it was not even read
		return nil, nil, err
	}
	return f, info, nil
}

// LookIn is what there is at name, by the rules of OpenIn; it may be a folder.
func LookIn(root *os.Root, name string) (info fs.FileInfo, err error) {
	if !fs.ValidPath(name) || strings.ContainsRune(name, 0) {
		return nil, fmt.Errorf("%q is not the name of a file in a store: %w", name, fs.ErrNotExist)
	}
	for at := 0; at < len(name); at++ {
		if hidden(name[at:]) {
			return nil, fmt.Errorf("%s is hidden: %w", name, fs.ErrNotExist)
		}
		next := strings.IndexByte(name[at:], '/')
		if next < 0 {
			at = len(name)
		} else {
			at += next
		}
		if info, err = root.Lstat(name[:at]); err != nil {
			return nil, err
		}
		if !info.IsDir() && (at < len(name) || !info.Mode().IsRegular()) {
			return nil, fmt.Errorf("%s is neither a folder nor a file: %w", name[:at], fs.ErrNotExist)
		}
	}
	return info, nil
}

// ReadIn reads a file as OpenIn opens it. One with more than limit bytes is an error.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", path.Base(name), info.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Stamped is the time that the folder of a test or of a matrix is named after, if it is.
func Stamped(name string) (at string, ok bool) {
	t, ok := stampTime(name)
	return t.Format("2006-01-02 15:04:05"), ok
}
