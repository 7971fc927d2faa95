package store

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"picklock/harness/history"
)

// openRegular opens a file to read if it is a regular one: a link could lead out of the
// store, and a pipe would never answer. It also says what is known of the file.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close() // it was not even read
		return nil, nil, err
	}
	return f, info, nil
}

// tail is how much of a file's end is looked at for its last line. Lines are some hundred
// bytes.
const tail = 64 << 10

// lastLine is the last line of a file, without its end; nil if it has none, or if it ends
// within a line.
func lastLine(path string) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	from := max(0, info.Size()-tail)
	b, err := io.ReadAll(io.NewSectionReader(f, from, tail))
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(b, []byte("\n"))
	if !ok {
		return nil, nil
	}
	at := bytes.LastIndexByte(body, '\n')
	if at < 0 && from > 0 {
		return nil, nil // the line began before what was read
	}
	return body[at+1:], nil
}

// Whole says whether the history ends with its closing event. If it does, the journals of
// the clients have nothing to add.
func (d Dir) Whole() (bool, error) {
	line, err := lastLine(d.Path(HistoryFile))
	if err != nil || line == nil {
		return false, err
	}
	at := bytes.LastIndex(line, []byte(`,"crc":"`)) // the checksum stands before the brace
	if at < 0 {
		return false, nil
	}
	e, err := history.ParseEvent(append(line[:at:at], '}'))
	return err == nil && e.Type == history.End, nil
}

// Use is what a folder takes up.
type Use struct {
	Bytes int64 `json:"bytes"` // on the disk, as du counts them
	Files int   `json:"files"` // all but folders
}

// Use measures the folder. Links count as themselves, files that vanish meanwhile not at all.
func (d Dir) Use() (Use, error) { return use(string(d)) }

func use(dir string) (u Use, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return unlessGone(err)
		}
		info, err := e.Info()
		if err != nil {
			return unlessGone(err)
		}
		u.Bytes += onDisk(info)
		if !e.IsDir() {
			u.Files++
		}
		return nil
	})
	return u, err
}

func unlessGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// onDisk is what the disk holds of a file: more than its length by what its blocks do not
// fill, less where it has holes.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
