package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"picklock/harness/store"
)

func newStoreExport(root *string) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "export DIR|NAME|START|latest",
		Short: "Write a stored test into one archive, to be read elsewhere",
		Long: `Write a stored test into one archive (.tar.zst or .tar.gz), which picklock check and
picklock rerun take in place of a folder, and picklock store import puts into another
store. The same folder always gives the same archive.`,
		Example: `  picklock store export latest --out found.tar.zst
  picklock check found.tar.zst`,
		Args: exactly(1, "one stored test"), ValidArgsFunction: completeTests(root),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := findTest(*root, args[0])
			if err != nil {
				return err
			}
			if to == "" {
				t, err := e.Dir.ReadTest()
				if err != nil {
					return err
				}
				to = store.ArchiveName(t)
			}
			if err := store.Export(e.Dir, to); err != nil {
				return err
			}
			info, err := os.Stat(to)
			if err != nil {
				return err
			}
			u, err := e.Dir.Use()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, of %s in the store\n", printable(to), humanize.Bytes(uint64(info.Size())), humanize.Bytes(uint64(u.Bytes)))
			return nil
		},
	}
	cmd.Flags().StringVarP(&to, "out", "o", "", "a new file, whose name ends in "+strings.Join(store.Endings, ", ")+"\n(default: <test name>_<start time>.tar.zst in this folder)")
	return cmd
}

func newStoreImport(root *string) *cobra.Command {
	var most unpackFlag
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Put an archive of picklock store export into the store",
		Long:    "Put an archive of picklock store export into the store, with the results and the reports\nthat are in it. Of an archive that you do not trust, picklock check FILE --out DIR makes\nthem anew.",
		Example: "  picklock store import found.tar.zst",
		Args:    exactly(1, "one archive"),
		RunE: func(cmd *cobra.Command, args []string) error {
			limits, err := most.limits()
			if err != nil {
				return err
			}
			d, err := store.Import(*root, args[0], limits)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), printable(string(d)))
			return nil
		},
	}
	most.add(cmd)
	return cmd
}

// unpackFlag bounds what an archive may unpack to.
type unpackFlag string

func (u *unpackFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(u), "max-unpacked", "", "what an archive may unpack to (default: "+humanize.IBytes(uint64(store.DefaultLimits.Bytes))+")")
}

func (u *unpackFlag) limits() (l store.Limits, err error) {
	if *u == "" {
		return l, nil
	}
	if l.Bytes, err = amount(string(*u)); err != nil {
		return l, &flagError{fmt.Errorf("--max-unpacked: %w", err)}
	}
	l.Bytes = max(l.Bytes, 1)
	return l, nil
}

// source is a stored test that a command was given: a folder, or an archive of one.
type source struct {
	dir     store.Dir
	archive string // empty: it is a folder
	tmp     string // where the archive was unpacked for this command only
}

// openSource unpacks an archive into a folder that close removes, or into the store into
// if that is not empty.
func openSource(path, into string, most store.Limits) (*source, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		if into != "" && err == nil {
			return nil, &flagError{fmt.Errorf("--out is for archives; %s is none", path)}
		}
		return &source{dir: store.Dir(path)}, nil
	}
	s := &source{archive: path}
	if into != "" {
		s.dir, err = store.Import(into, path, most)
		return s, err
	}
	if s.tmp, err = os.MkdirTemp("", "picklock-archive-"); err != nil {
		return nil, err
	}
	if s.dir, err = store.Unpack(path, s.tmp, most); err != nil {
		return nil, s.close(err)
	}
	return s, nil
}

// close removes what was unpacked for the command only, and gives err as one that names
// the archive.
func (s *source) close(err error) error {
	if s.tmp == "" {
		return err
	}
	if err != nil && s.dir != "" {
		err = &inArchive{err, strings.ReplaceAll(err.Error(), string(s.dir), s.archive)}
	}
	return errors.Join(err, os.RemoveAll(s.tmp))
}

type inArchive struct {
	error
	text string
}

func (e *inArchive) Error() string { return e.text }
func (e *inArchive) Unwrap() error { return e.error }
