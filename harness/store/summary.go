package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"picklock/models"
)

// summaryFile holds what a list of tests shows of results.json, which can be large. It is
// written beside it, and believed only while results.json has the size and the time that
// stand in it.
const summaryFile = "summary.json"

// Facts are what a list shows of a test. Without a verdict, what the judging finds out is
// not set.
type Facts struct {
	Run      string    `json:"run"`
	Started  time.Time `json:"started"`
	Lock     string    `json:"lock"`
	Deduct   string    `json:"deduct"`
	Topology string    `json:"topology"`
	Nemesis  []string  `json:"nemesis"` // empty: none
	Seed     uint64    `json:"seed"`
	Server   string    `json:"server,omitempty"` // empty: what the runtime has
	Runtime  string    `json:"runtime,omitempty"`

	Verdict   models.Verdict    `json:"verdict,omitempty"`
	Vacuous   bool              `json:"vacuous,omitempty"`
	DurationS float64           `json:"duration_s,omitempty"` // from the beginning of the load to the last event
	Violated  []models.Property `json:"violated,omitempty"`
	Undecided []models.Property `json:"undecided,omitempty"`
	Compared  int               `json:"compared,omitempty"` // properties of which it is known what to expect
	Unmet     []models.Property `json:"unmet,omitempty"`    // of these, not as expected
	Broken    string            `json:"broken,omitempty"`   // the history breaks off, and was judged up to there
}

type summary struct {
	Version  int   `json:"version"`
	Size     int64 `json:"results_size"`
	Modified int64 `json:"results_mtime_ns"`
	Facts
}

// summaryVersion counts the forms of summary.json; others are not read.
const summaryVersion = 1

// lean is the part of results.json that a list needs.
type lean struct {
	Verdict    models.Verdict                                        `json:"verdict"`
	Vacuous    bool                                                  `json:"vacuous"`
	Test       Test                                                  `json:"test"`
	Properties map[models.Property]*struct{ Verdict models.Verdict } `json:"properties"`
	Measures   struct {
		DurationS float64 `json:"duration_s"`
	} `json:"measures"`
	Expected []Expected `json:"expected"`
	Broken   string     `json:"broken"`
}

func (l *lean) facts() Facts {
	f := planned(&l.Test)
	f.Verdict, f.Vacuous, f.DurationS, f.Broken, f.Compared = l.Verdict, l.Vacuous, l.Measures.DurationS, l.Broken, len(l.Expected)
	for id, j := range l.Properties {
		switch {
		case j == nil:
		case j.Verdict == models.Violated:
			f.Violated = append(f.Violated, id)
		case j.Verdict != models.Valid:
			f.Undecided = append(f.Undecided, id)
		}
	}
	slices.Sort(f.Violated)
	slices.Sort(f.Undecided)
	for _, e := range l.Expected {
		if !e.Met {
			f.Unmet = append(f.Unmet, models.Property(e.Property))
		}
	}
	return f
}

// facts of a result, as they are read back from results.json.
func (r *Result) facts() Facts {
	l := lean{Verdict: r.Verdict, Vacuous: r.Vacuous, Test: r.Test, Expected: r.Expected, Broken: r.Broken,
		Properties: map[models.Property]*struct{ Verdict models.Verdict }{}}
	l.Measures.DurationS = r.Measures.DurationS
	for id, j := range r.Properties {
		if j != nil {
			l.Properties[id] = &struct{ Verdict models.Verdict }{j.Verdict}
		}
	}
	return l.facts()
}

// planned are the facts of a test before it is judged.
func planned(t *Test) Facts {
	return Facts{Run: t.Run, Started: t.Started, Lock: t.Lock, Deduct: t.Deduct, Topology: t.Topology, Nemesis: t.Nemesis,
		Seed: t.Seed, Server: t.Server, Runtime: t.Runtime}
}

// summarise writes the summary of what results.json, of this size and time, says.
func (d Dir) summarise(f Facts, results fs.FileInfo) error {
	b, err := json.Marshal(summary{summaryVersion, results.Size(), results.ModTime().UnixNano(), f})
	if err != nil {
		return err
	}
	next := d.Path("." + summaryFile)
	if err := os.WriteFile(next, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, d.Path(summaryFile))
}

// summarised reads the summary, if it is that of this results.json.
func (d Dir) summarised(results fs.FileInfo) (Facts, bool) {
	var s summary
	if err := decode(d.Path(summaryFile), &s); err != nil || s.Version != summaryVersion {
		return Facts{}, false
	}
	return s.Facts, s.Size == results.Size() && s.Modified == results.ModTime().UnixNano()
}

// judged reads the facts of a test that has a verdict, in full from results.json.
func (d Dir) judged() (Facts, error) {
	var l lean
	if err := decode(d.Path(ResultFile), &l); err != nil {
		return Facts{}, err
	}
	if !slices.Contains([]models.Verdict{models.Valid, models.Violated, models.Unknown}, l.Verdict) {
		return Facts{}, fmt.Errorf("the verdict is %q, not valid, violated or unknown", l.Verdict)
	}
	if l.Test.Lock == "" {
		return Facts{}, errNoLock
	}
	return l.facts(), nil
}

// errNoLock is what is wrong with JSON that is not of a test.
var errNoLock = errors.New("it names no lock")

// planned reads test.json of a folder that may be somebody else's.
func (d Dir) planned() (*Test, error) {
	t := new(Test)
	if err := decode(d.Path(TestFile), t); err != nil {
		return nil, err
	}
	if t.Lock == "" {
		return nil, errNoLock
	}
	return t, nil
}

// largest is the most of a file of JSON that is read. The largest results are some MB.
const largest = 256 << 20

// decode reads a regular file that holds one JSON value.
func decode(path string, to any) error {
	f, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info.Size() > largest {
		return fmt.Errorf("it has %d bytes; picklock writes %d at most", info.Size(), largest)
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return json.Unmarshal(b, to)
}
