package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/reports"
	"picklock/reports/text"
)

// screen shows a test to a person: a live line on a terminal, plain lines elsewhere, and
// nothing but the result in JSON.
type screen struct {
	out   io.Writer
	json  bool
	live  bool // the output is a terminal, with somebody before it
	color bool
	width int
	last  string    // the last phase that was told
	told  time.Time // when a plain line last told of the load
}

// plainEvery is how often a plain line tells how the load goes.
const plainEvery = 5 * time.Second

func newScreen(cmd *cobra.Command, asJSON bool) *screen {
	s := &screen{out: cmd.OutOrStdout(), json: asJSON, width: 80}
	if f, ok := s.out.(*os.File); ok && !asJSON && term.IsTerminal(int(f.Fd())) {
		// A dumb terminal can neither move its cursor nor wipe a line. Some CI systems give
		// a job a terminal, and keep each line that is drawn anew.
		able, ci := os.Getenv("TERM") != "dumb", os.Getenv("CI")
		s.live = able && (ci == "" || ci == "false")
		s.color = able && os.Getenv("NO_COLOR") == ""
		s.measure()
	}
	return s
}

// measure takes the terminal's width anew: a person may have changed it meanwhile.
func (s *screen) measure() {
	if f, ok := s.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			s.width = w
		}
	}
}

func (s *screen) say(format string, args ...any) {
	if !s.json {
		s.clear()
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// columns is how wide lists and tables get: as wide as the terminal, but no wider than the
// eye follows, and 80 elsewhere.
func (s *screen) columns() int { return min(max(s.width, 60), 100) }

// table prints rows of two cells.
func (s *screen) table(pairs [][2]string) error {
	var rows [][]string
	for _, p := range pairs {
		rows = append(rows, p[:])
	}
	return text.Table(s.out, s.columns(), rows)
}

// head says what is going to be run; on a terminal it is broken at its words.
func (s *screen) head(words string) {
	if s.live {
		words = strings.Join(text.Wrap(words, s.width), "\n")
	}
	fmt.Fprintln(s.out, words)
}

// clear wipes the live line.
func (s *screen) clear() {
	if s.live {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

func (s *screen) progress(p harness.Progress) {
	if s.json {
		return
	}
	if p.Phase != "" {
		if s.last != p.Phase {
			s.say("%s", p.Phase)
		}
		s.last = p.Phase
		return
	}
	line := fmt.Sprintf("%5.1f s of %.0f s  %6.0f operations/s  violations so far: %d", p.Elapsed.Seconds(), p.Limit.Seconds(), p.PerSecond, p.Violations)
	if p.Fault != "" {
		line += "  fault: " + p.Fault
	}
	s.line(line)
}

// line is the live line; where there is none, it is told every few seconds.
func (s *screen) line(line string) {
	if s.live {
		fmt.Fprint(s.out, "\r\x1b[K"+text.Clip(line, s.width-1))
		return
	}
	if !s.json && time.Since(s.told) >= plainEvery {
		s.told = time.Now()
		fmt.Fprintln(s.out, strings.TrimSpace(line))
	}
}

// result shows the verdict.
func (s *screen) result(out harness.Outcome) error {
	if s.json {
		return printJSON(s, out.Result)
	}
	return reports.Terminal(s.out, out.Result, string(out.Dir), s.color)
}

// keep writes the results and the reports into the test's folder.
func keep(out harness.Outcome) error {
	return keepDraft(out, reports.Begin(out.History))
}

// keepDraft is keep with a report that was begun while the history was judged.
func keepDraft(out harness.Outcome, draft *reports.Draft) error {
	err := errors.Join(out.Dir.WriteResult(out.Result), draft.Write(string(out.Dir), out.Result), writeJUnit(out))
	if err != nil {
		return fmt.Errorf("write the results into %s: %w", out.Dir, err)
	}
	return nil
}

func writeJUnit(out harness.Outcome) error {
	f, err := os.Create(out.Dir.Path(store.JUnitFile))
	if err != nil {
		return err
	}
	return errors.Join(reports.JUnit(f, out.Result), f.Close())
}
