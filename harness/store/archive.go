package store

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Endings are how the file of an archive can end, and with that, how it is compressed.
var Endings = []string{".tar.zst", ".tar.gz", ".tgz"}

// ArchiveName is how the archive of a test is called if nobody names it.
func ArchiveName(t *Test) string {
	return t.Name + "_" + t.Started.UTC().Format(stampForm) + Endings[0]
}

// Export writes the test into a new archive at file, which is compressed as its name ends.
// The same folder gives the same bytes: files stand in the order of their names below
// <test name>/<start time>/, belong to nobody, and keep their times. Left out are hidden
// files, links, the summary, which is made anew, and the journals of a history that is
// whole, since nothing reads them.
func Export(d Dir, file string) (err error) {
	compress, err := compressor(file)
	if err != nil {
		return err
	}
	t, err := d.ReadTest()
	if err != nil {
		return err
	}
	under, err := place(t)
	if err != nil {
		return err
	}
	if by, held, _ := d.held(); held {
		return fmt.Errorf("%s: %w: the test is running, in process %s", d, ErrArchive, by)
	}
	files, err := d.exported()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is there already, and would be lost", ErrArchive, file)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(fmt.Errorf("export %s: %w", d, err), os.Remove(file))
		}
	}()
	z, err := compress(f)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, name := range files {
		if err := d.pack(w, name, path.Join(under, name)); err != nil {
			return errors.Join(err, z.Close())
		}
	}
	return errors.Join(w.Close(), z.Close(), f.Sync())
}

func compressor(file string) (func(io.Writer) (io.WriteCloser, error), error) {
	switch {
	case strings.HasSuffix(file, ".tar.zst"):
		return func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(packWindow))
		}, nil
	case strings.HasSuffix(file, ".tar.gz"), strings.HasSuffix(file, ".tgz"):
		return func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, nil
	}
	return nil, fmt.Errorf("%w: the name of an archive must end in %s, unlike %s", ErrArchive, strings.Join(Endings, ", "), file)
}

// packWindow is how far zstd looks back; whoever reads must have as much memory.
const packWindow = 4 << 20

// place is where a test stands in a store, with slashes: <test name>/<start time>.
func place(t *Test) (string, error) {
	if t.Name == "" || !plainName(t.Name) || t.Name == matricesFolder || t.Name == latest || t.Started.IsZero() {
		return "", fmt.Errorf("%w: %s does not name a test that a store could hold: %q of %s", ErrArchive, TestFile, t.Name, t.Started)
	}
	return t.Name + "/" + t.Started.UTC().Format(stampForm), nil
}

// exported are the files of the test that go into an archive, with slashes, in order.
func (d Dir) exported() (files []string, err error) {
	whole, err := d.Whole()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = filepath.WalkDir(string(d), func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == string(d) {
			return err
		}
		name, err := filepath.Rel(string(d), p)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (hidden(e.Name()) || name == Journals && whole):
			return filepath.SkipDir
		case hidden(e.Name()), !e.Type().IsRegular(), name == summaryFile:
			return nil
		}
		if name = filepath.ToSlash(name); !plainPath("name/time/" + name) {
			return fmt.Errorf("%w: %s holds %q, which no archive takes in (names of printable characters, at most %d deep)", ErrArchive, d, name, maxDepth)
		}
		files = append(files, name)
		return nil
	})
	slices.Sort(files)
	return files, err
}

// pack adds one file to an archive.
func (d Dir) pack(w *tar.Writer, name, as string) error {
	f, info, err := openRegular(d.Path(filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	err = w.WriteHeader(&tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: as, Size: info.Size(), Mode: 0o644, ModTime: info.ModTime()})
	if err != nil {
		return err
	}
	n, err := io.Copy(w, f)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n < info.Size() {
		return fmt.Errorf("%s changed while it was read", name)
	}
	return err
}

// Import unpacks the archive of a test into the store at root, which is made if need be,
// and points latest to the newest. A test that the store has already is an error.
func Import(root, file string, most Limits) (dir Dir, err error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("the store %s cannot be written: %w", root, err)
	}
	tmp, err := os.MkdirTemp(root, importing)
	if err != nil {
		return "", fmt.Errorf("the store %s cannot be written: %w", root, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	lock, err := lockFolder(tmp)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	d, err := Unpack(file, tmp, most)
	if err != nil {
		return "", err
	}
	t, err := d.ReadTest()
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	under, err := place(t)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if info, err := os.Lstat(d.Path(ResultFile)); err == nil {
		facts, err := d.judged()
		if err != nil {
			return "", fmt.Errorf("%s: %w: %s: %w", file, ErrArchive, ResultFile, err)
		}
		if err := d.summarise(facts, info); err != nil {
			return "", err
		}
	}
	// The folder is as old as what is in it: it was not written to just now by a test that runs.
	if at := d.written(); !at.IsZero() {
		if err := os.Chtimes(string(d), at, at); err != nil {
			return "", err
		}
	}
	dir = Dir(filepath.Join(root, filepath.FromSlash(under)))
	if err := os.MkdirAll(filepath.Dir(string(dir)), 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(string(d), string(dir)); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s: %w: the store has this test already, as %s", file, ErrArchive, dir)
	} else if err != nil {
		return "", err
	}
	return dir, repoint(root, cmp.Or(t.Run, filepath.Base(tmp)))
}

// importing is what the folder begins with in which an archive is unpacked.
const importing = ".importing-"
