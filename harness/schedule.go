package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"picklock/harness/store"
	"picklock/harness/yamlfile"
	"picklock/nemesis"
)

// scheduleFile is the form of a schedule on disk: YAML, of which JSON is a part.
type scheduleFile struct {
	Faults []store.Planned `yaml:"faults"`
}

// ReadSchedule reads the faults of a schedule file. An error that wraps ErrUsage says in
// which line it is wrong.
func ReadSchedule(path string) ([]store.Planned, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("there is no schedule file %s", path)
	}
	if err != nil {
		return nil, usage("schedule: %s", err)
	}
	faults, err := ParseSchedule(b)
	if err != nil {
		return nil, usage("schedule %s: %s", path, err)
	}
	return faults, nil
}

// ParseSchedule parses the text of a schedule file: unknown fields are errors.
func ParseSchedule(text []byte) ([]store.Planned, error) {
	var f scheduleFile
	if err := yamlfile.Decode(text, &f); err != nil && !errors.Is(err, io.EOF) { // an empty file
		return nil, err
	}
	if len(f.Faults) == 0 {
		return nil, errors.New("it has no faults; it is written like this: {faults: [{kind: kill-client, at: 1s, for: 500ms}]}")
	}
	return f.Faults, nil
}

// WriteSchedule writes the faults so that ReadSchedule reads them.
func WriteSchedule(path string, faults []store.Planned) error {
	b, err := yaml.Marshal(scheduleFile{faults})
	if err != nil {
		return fmt.Errorf("write the schedule: %w", err)
	}
	return os.WriteFile(path, b, 0o644)
}

// planned is the schedule in the nemesis' form.
func planned(faults []store.Planned) []nemesis.Planned {
	all := make([]nemesis.Planned, len(faults))
	for i, p := range faults {
		all[i] = nemesis.Planned{
			Kind: p.Kind, At: time.Duration(p.At), For: time.Duration(p.For), Pick: p.Pick, Target: p.Target,
			On: p.On, Nth: p.Nth, After: p.After, Recovered: p.Recovered, Until: p.Until, With: p.With,
		}
	}
	return all
}

// stored is the inverse of planned.
func stored(faults []nemesis.Planned) []store.Planned {
	all := make([]store.Planned, len(faults))
	for i, p := range faults {
		all[i] = store.Planned{
			Kind: p.Kind, At: store.Duration(p.At), For: store.Duration(p.For), Pick: p.Pick, Target: p.Target,
			On: p.On, Nth: p.Nth, After: p.After, Recovered: p.Recovered, Until: p.Until, With: p.With,
		}
	}
	return all
}

// latest is when the last fault of an explicit schedule is over if nothing takes longer
// than planned. Faults that wait for others begin after them.
func latest(faults []store.Planned) time.Duration {
	ends := make([]time.Duration, len(faults))
	var last time.Duration
	for range faults { // a chain is no longer than the schedule
		for i, p := range faults {
			begin := time.Duration(p.At)
			if p.After > 0 && p.After <= len(faults) {
				before := faults[p.After-1]
				from := ends[p.After-1]
				if !p.Recovered {
					from -= time.Duration(before.For)
				}
				begin = max(begin, from)
			}
			if p.Until > 0 && p.Until <= len(faults) {
				begin = max(begin, ends[p.Until-1]-time.Duration(faults[p.Until-1].For))
			}
			ends[i] = begin + time.Duration(p.For)
			last = max(last, ends[i])
		}
	}
	return last
}
