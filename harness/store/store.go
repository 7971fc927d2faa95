package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The names of the files in a test's folder.
const (
	TestFile    = "test.json"
	HistoryFile = "history.jsonl"
	WireFile    = "wire.jsonl" // only of tests with a wire
	ResultFile  = "results.json"
	ReportFile  = "report.html"
	JUnitFile   = "junit.xml"
	LogFile     = "harness.log"
	Schedule    = "schedule.yaml"
	NodeLogs    = "nodes"
	ClientLogs  = "clients"
	Journals    = "journal"
	latest      = "latest"
)

// stampForm is how a test's folder is named after its start.
const stampForm = "20060102T150405.000Z"

// sameMoment bounds how many tests of one name may start in the same millisecond.
const sameMoment = 1000

// ErrNotATest: the folder is not one of a stored test.
var ErrNotATest = errors.New("not the folder of a stored test")

// Dir is the folder of one test.
type Dir string

// Create makes the folder of a test that starts now: root/<test name>/<start time>, and
// points root/latest to it.
func Create(root string, t *Test) (Dir, error) {
	stamp, err := claim(filepath.Join(root, t.Name), t)
	if err != nil {
		return "", fmt.Errorf("the store %s cannot be written: %w", root, err)
	}
	d := Dir(filepath.Join(root, t.Name, stamp))
	for _, sub := range []string{NodeLogs, ClientLogs, Journals} {
		if err := os.MkdirAll(d.Path(sub), 0o755); err != nil {
			return "", fmt.Errorf("the store %s cannot be written: %w", root, err)
		}
	}
	if err := d.write(TestFile, t); err != nil {
		return "", fmt.Errorf("the store %s cannot be written: %w", root, err)
	}
	return d, point(root, filepath.Join(t.Name, stamp), t.Run)
}

// claim makes the folder that is named after the test's start. Tests of one name that
// start in the same millisecond, side by side, are counted as starting one after the other.
func claim(in string, t *Test) (stamp string, err error) {
	for range sameMoment {
		stamp = t.Started.UTC().Format(stampForm)
		if err = os.MkdirAll(in, 0o755); err != nil {
			return "", err
		}
		err = os.Mkdir(filepath.Join(in, stamp), 0o755)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the last test of this name was just removed, and the folder with it
		}
		if !errors.Is(err, fs.ErrExist) {
			return stamp, err
		}
		t.Started = t.Started.Add(time.Millisecond)
	}
	return "", err
}

// point makes root/latest a link to target; a link is swapped in, so that two tests
// that start at once do not trip over each other.
func point(root, target, unique string) error {
	next := filepath.Join(root, "."+latest+"-"+unique)
	if err := os.Symlink(target, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(root, latest)); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// Path gives the path of a file in the folder.
func (d Dir) Path(name ...string) string {
	return filepath.Join(append([]string{string(d)}, name...)...)
}

// WriteTest replaces test.json.
func (d Dir) WriteTest(t *Test) error { return d.write(TestFile, t) }

// WriteResult replaces results.json, and the summary of it that List reads.
func (d Dir) WriteResult(r *Result) error {
	if err := d.write(ResultFile, r); err != nil {
		return err
	}
	info, err := os.Lstat(d.Path(ResultFile))
	if err != nil {
		return err
	}
	return d.summarise(r.facts(), info)
}

// write replaces a file as a whole or not at all.
func (d Dir) write(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	next := d.Path("." + name)
	if err := os.WriteFile(next, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, d.Path(name))
}

// ReadTest reads test.json of a stored test.
func (d Dir) ReadTest() (*Test, error) { return read[Test](d, TestFile) }

// ReadResult reads results.json of a stored test that was judged.
func (d Dir) ReadResult() (*Result, error) { return read[Result](d, ResultFile) }

func read[T any](d Dir, name string) (*T, error) {
	b, err := os.ReadFile(d.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it has no %s", d, ErrNotATest, name)
	}
	if err != nil {
		return nil, err
	}
	t := new(T)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("%s: %w: %s: %w", d, ErrNotATest, name, err)
	}
	return t, nil
}

// TestName names a test by what makes it: lock × deduction × topology × nemesis.
func TestName(lock, deduct, topology string, nemesis []string) string {
	n := strings.Join(nemesis, ",")
	if n == "" {
		n = "none"
	}
	return fmt.Sprintf("%s+%s_%s_%s", lock, deduct, topology, n)
}

// Now is the start time of a test, at the precision that the folder's name has.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
