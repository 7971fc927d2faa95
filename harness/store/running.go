package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// markFile stands in the folder of a test while its harness is alive, and is locked by it.
const markFile = ".running"

// fresh is how long after its last change a folder without a verdict counts as that of a
// running test, where no mark says more: a test writes at least each second while it runs,
// and some harnesses write from another machine, whose locks are not seen here.
const fresh = 30 * time.Second

// Mark is what a running test has in its folder. The kernel takes the lock back when the
// harness ends, however it ends, so a mark that nobody holds was left by one that died.
type Mark struct{ file *os.File }

// Hold marks the folder as that of a running test, until Release or the end of the process.
func (d Dir) Hold() (*Mark, error) {
	f, err := os.OpenFile(d.Path(markFile), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("mark %s as running: %w", d, err)
	}
	_, err = fmt.Fprintln(f, os.Getpid())
	if err == nil {
		err = lockWhole(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mark %s as running: %w", d, err), f.Close())
	}
	return &Mark{f}, nil
}

// Release takes the mark away. That it cannot is no error: nobody holds it any more.
func (m *Mark) Release() {
	_ = os.Remove(m.file.Name())
	_ = m.file.Close()
}

// lockWhole locks a file for this descriptor alone (an open-file-description lock: others
// can ask for it without taking it, and no child process inherits it).
func lockWhole(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

// held says whether somebody holds the mark of the folder, and who; exists, whether there
// is a mark at all.
func (d Dir) held() (by string, held, exists bool) {
	f, _, err := openRegular(d.Path(markFile))
	if err != nil {
		return "", false, !errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = f.Close() }() // it was only read
	asked := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &asked); err != nil || asked.Type == unix.F_UNLCK {
		return "", false, true
	}
	var pid [32]byte
	n, _ := f.Read(pid[:]) // who it is only makes the message better
	return strings.TrimSpace(string(pid[:n])), true, true
}

// unjudged says how a test stands that has no verdict, and how that is known.
func (d Dir) unjudged(now time.Time) (State, string) {
	by, held, marked := d.held()
	if held {
		return Running, fmt.Sprintf("its harness, process %s, holds %s", by, markFile)
	}
	if ago := now.Sub(d.changed()); ago < fresh && !marked {
		return Running, fmt.Sprintf("its folder changed %.0f s ago", max(0, ago.Seconds()))
	}
	if marked {
		return BrokenOff, "its harness died: it left " + markFile
	}
	switch ended, why := d.ended(); {
	case ended && why == "":
		return Recorded, "the record is whole; picklock check judges it"
	case ended:
		return Interrupted, why
	}
	if whole, err := d.Whole(); err == nil && whole {
		return Recorded, "the record is whole; picklock check judges it"
	}
	return BrokenOff, "its harness died: neither " + LogFile + " nor " + HistoryFile + " has an end"
}

// changed is when the folder was last written to, as far as it and its main files tell.
func (d Dir) changed() time.Time { return d.latest(".", TestFile, HistoryFile, LogFile) }

// written is when its main files were last written to.
func (d Dir) written() time.Time { return d.latest(TestFile, HistoryFile, LogFile, ResultFile) }

func (d Dir) latest(names ...string) (at time.Time) {
	for _, name := range names {
		if info, err := os.Lstat(d.Path(name)); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// ended says whether the harness wrote into its log that the test ended, and with what
// error, if any.
func (d Dir) ended() (ended bool, why string) {
	last, err := lastLine(d.Path(LogFile))
	if err != nil {
		return false, ""
	}
	_, rest, ok := strings.Cut(string(last), `msg="test ends" error=`)
	if !ok {
		return false, ""
	}
	if rest == "<nil>" {
		return true, ""
	}
	return true, strings.Trim(rest, `"`)
}
