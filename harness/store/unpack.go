package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// ErrArchive says that a file is not the archive of a stored test as Export makes it, or
// that one cannot be made or taken in.
var ErrArchive = errors.New("not the archive of a stored test")

// Limits bound what is unpacked, since some bytes of an archive can stand for terabytes.
type Limits struct {
	Bytes int64 // of all files together; 0: DefaultLimits
	Files int   // 0: DefaultLimits
}

// DefaultLimits hold a test of some ten million operations.
var DefaultLimits = Limits{Bytes: 8 << 30, Files: 50_000}

const (
	maxDepth   = 10       // names in one path; picklock's own have some 6
	maxName    = 255      // bytes of one name, as most file systems have it
	unpackMost = 64 << 20 // bytes of memory that a compressor may ask for
	padding    = 1 << 20  // bytes that may follow the end of the archive, all zero
)

// Unpack unpacks the archive of one stored test into the folder into, which must exist, and
// gives the test's folder in it. Only regular files of plain names get in, all below one
// folder <test name>/<start time>; anything else is an error that wraps ErrArchive, as is
// an archive that is damaged, cut off, or larger than most. What was unpacked until then
// stays; the caller removes it.
func Unpack(file, into string, most Limits) (Dir, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	d, err := unpack(f, into, most)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

func unpack(in io.Reader, into string, most Limits) (Dir, error) {
	if most.Bytes == 0 {
		most.Bytes = DefaultLimits.Bytes
	}
	if most.Files == 0 {
		most.Files = DefaultLimits.Files
	}
	text, done, err := decompressor(bufio.NewReader(in))
	if err != nil {
		return "", err
	}
	defer done()
	to, err := os.OpenRoot(into)
	if err != nil {
		return "", err
	}
	defer func() { _ = to.Close() }() // only names were looked up in it
	// Headers are bounded as well: each file may have some KiB of them.
	bounded := &counted{in: text, left: most.Bytes + int64(most.Files)*8<<10 + padding}
	u := unpacking{to: to, most: most, left: most.Bytes}
	for r := tar.NewReader(bounded); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.take(h, r)
		}
		if err != nil {
			return "", u.wrong(bounded, err)
		}
	}
	if err := ends(bounded); err != nil {
		return "", u.wrong(bounded, err)
	}
	if u.under == "" {
		return "", fmt.Errorf("%w: it is empty", ErrArchive)
	}
	return Dir(filepath.Join(into, filepath.FromSlash(u.under))), nil
}

// decompressor finds out how the archive is compressed, by how it begins.
func decompressor(in *bufio.Reader) (io.Reader, func(), error) {
	magic, _ := in.Peek(4) // less than that is neither
	switch {
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(unpackMost), zstd.WithDecoderMaxMemory(unpackMost), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrArchive, err)
		}
		return z, z.Close, nil
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrArchive, err)
		}
		return z, func() {}, nil
	}
	return nil, nil, fmt.Errorf("%w: it is compressed neither by zstd nor by gzip", ErrArchive)
}

// counted bounds what is read of the decompressed archive.
type counted struct {
	in   io.Reader
	left int64
}

var errTooLarge = errors.New("it unpacks to more than is allowed")

func (c *counted) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.in.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// ends reads what follows the archive: zeros, and the checksum of the compressor.
func ends(in io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(in, padding+1))
	if err != nil {
		return err
	}
	if len(rest) > padding || len(bytes.TrimLeft(rest, "\x00")) > 0 {
		return errors.New("something follows its end")
	}
	return nil
}

type unpacking struct {
	to    *os.Root
	most  Limits
	left  int64
	files int
	under string // the test's folder
}

// wrong makes an error of the archive's content one that says so.
func (u *unpacking) wrong(in *counted, err error) error {
	switch {
	case errors.As(err, new(diskError)):
		return err
	case errors.Is(err, errTooLarge), in.left <= 0, errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%w: it unpacks to more than is allowed, which are %d files with %d bytes", ErrArchive, u.most.Files, u.most.Bytes)
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: it is damaged: its checksum is not that of what it holds", ErrArchive)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it is cut off after %d files", ErrArchive, u.files)
	}
	return fmt.Errorf("%w: %w", ErrArchive, err)
}

// diskError is what went wrong here, and not in the archive.
type diskError struct{ error }

func (d diskError) Unwrap() error { return d.error }

// take unpacks one file.
func (u *unpacking) take(h *tar.Header, r io.Reader) error {
	if u.files++; u.files > u.most.Files {
		return errTooLarge
	}
	if h.Typeflag == tar.TypeDir { // other programs write these; folders are made as they are needed
		if name := strings.TrimSuffix(h.Name, "/"); !plainPath(name) {
			return fmt.Errorf("%q is not the name of a folder in it", h.Name)
		}
		return nil
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%q is neither a file nor a folder (links and devices are refused)", h.Name)
	}
	parts := strings.SplitN(h.Name, "/", 3)
	if !plainPath(h.Name) || len(parts) < 3 {
		return fmt.Errorf("%q is not the name of a file in the folder of a test", h.Name)
	}
	under := parts[0] + "/" + parts[1]
	if u.under == "" {
		u.under = under
	}
	if u.under != under {
		return fmt.Errorf("it has more than one test: %q and %q", u.under, under)
	}
	if h.Size > u.left {
		return errTooLarge
	}
	n, err := u.write(h, r)
	u.left -= n
	return err
}

func (u *unpacking) write(h *tar.Header, r io.Reader) (n int64, err error) {
	if err := u.to.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return 0, u.refused(h, err)
	}
	f, err := u.to.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, u.refused(h, err)
	}
	n, err = io.Copy(onlyDiskErrors{f}, io.LimitReader(r, u.left+1))
	if n > u.left {
		err = errTooLarge
	}
	if err := f.Close(); err != nil {
		return n, diskError{err}
	}
	if err != nil {
		return n, err
	}
	if err := u.to.Chtimes(h.Name, h.ModTime, h.ModTime); err != nil {
		return n, fmt.Errorf("%q is of a time that no file can have: %s", h.Name, h.ModTime)
	}
	return n, nil
}

// refused tells names that contradict each other from a disk that refuses.
func (u *unpacking) refused(h *tar.Header, err error) error {
	if info, e := u.to.Lstat(h.Name); errors.Is(err, fs.ErrExist) || e == nil && info != nil || clashes(u.to, h.Name) {
		return fmt.Errorf("it has %q twice, or as a file and a folder", h.Name)
	}
	return diskError{err}
}

// clashes says whether something above name is a file.
func clashes(to *os.Root, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := to.Lstat(dir); err == nil {
			return !info.IsDir()
		}
	}
	return false
}

// onlyDiskErrors tells errors of writing from those of reading.
type onlyDiskErrors struct{ to io.Writer }

func (w onlyDiskErrors) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		err = diskError{err}
	}
	return n, err
}

// plainPath says whether a path leads down from where it begins, through plain names only.
func plainPath(p string) bool {
	parts := strings.Split(p, "/")
	if len(parts) > maxDepth {
		return false
	}
	for _, name := range parts {
		if !plainName(name) {
			return false
		}
	}
	return true
}

// plainName says whether a name is that of a file, visible, and the same on every machine.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !hidden(name) && len(name) <= maxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || !unicode.IsPrint(r) })
}
