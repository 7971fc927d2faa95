package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"sync"

	"picklock/harness"
	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/reports/bars"
	"picklock/reports/text"
)

// sideBySide shows tests that run side by side: bars on a terminal, and elsewhere nothing
// but the lines that are written to out.
type sideBySide struct {
	screen *screen
	out    io.Writer   // for lines; they scroll above the bars
	board  *bars.Board // nil: the output is no terminal
	close  func()      // takes the bars away; a second call does nothing
	mu     sync.Mutex
	lines  map[store.Dir]*bars.Test // of tests that are judged, until their reports are written
}

func (s *screen) sideBySide(ctx context.Context, o bars.Options) *sideBySide {
	side := &sideBySide{screen: s, out: s.out, close: func() {}, lines: map[store.Dir]*bars.Test{}}
	f, ok := s.out.(*os.File)
	if !ok || !s.live || !bars.Fits(f) {
		return side
	}
	o.Colour = s.color
	side.board = bars.New(f, o)
	side.out = side.board
	// Nothing but the board may write beneath it, whatever a library has to say.
	was := log.Writer()
	log.SetOutput(side.board)
	unhook := context.AfterFunc(ctx, func() { side.board.Note("interrupted, healing") })
	side.close = sync.OnceFunc(func() {
		unhook()
		log.SetOutput(was)
		side.board.Close()
		s.measure()
	})
	return side
}

// say writes a line behind a label. On a terminal it is broken at its words, later lines
// below the first; elsewhere it is one line, for whoever searches in it. What a server had
// to say about its failure may be in it.
func (s *sideBySide) say(label, words string) {
	words = text.Plain(words)
	if s.board == nil {
		fmt.Fprintln(s.out, label+words)
		return
	}
	s.screen.measure()
	var lines strings.Builder
	for _, line := range text.Wrap(words, s.screen.width-len(label)) {
		lines.WriteString(label + line + "\n")
		label = strings.Repeat(" ", len(label))
	}
	_, _ = io.WriteString(s.out, lines.String()) // a terminal that is gone has no use for it
}

// ended counts a test that ended with one of the words of the board.
func (s *sideBySide) ended(word string) {
	if s.board != nil {
		s.board.Ended(word)
	}
}

// test is harness.Run with a line on the terminal.
func (s *sideBySide) test(ctx context.Context, name string, weight float64, o harness.Options, env harness.Env) (harness.Outcome, error) {
	if s.board == nil {
		return harness.Run(ctx, o, env)
	}
	line := s.board.Begin(name, fmt.Sprintf(", seed %d", o.Seed), weight)
	env.Progress = func(p harness.Progress) {
		if p.Phase != "" {
			line.Phase(p.Phase)
			return
		}
		line.Load(p.Elapsed, p.Limit)
	}
	out, err := harness.Run(ctx, o, env)
	if err != nil {
		line.End(ctx.Err() == nil)
		return out, err
	}
	line.Phase("writing the reports")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[out.Dir] = line
	return out, nil
}

// keep writes the reports of a test, whose line ends with that.
func (s *sideBySide) keep(out harness.Outcome) error {
	s.mu.Lock()
	line := s.lines[out.Dir]
	delete(s.lines, out.Dir)
	s.mu.Unlock()
	if line != nil {
		defer line.End(true)
	}
	return keep(out)
}

// named is what a test is about, without its seed: "uuid-lua × read-write, single,
// pause-client".
func named(o harness.Options) string {
	parts := []string{o.Lock + " × " + o.Deduct, o.Topology}
	if len(o.Nemesis) > 0 {
		parts = append(parts, strings.Join(o.Nemesis, "+"))
	} else {
		parts = append(parts, fault(o.Schedule))
	}
	if o.Server != "" {
		parts = append(parts, o.Server)
	}
	return strings.Join(parts, ", ")
}

// fault names the kinds of faults of a schedule, each once.
func fault(planned []store.Planned) string {
	var kinds []string
	for _, p := range planned {
		if !slices.Contains(kinds, p.Kind) {
			kinds = append(kinds, p.Kind)
		}
	}
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, "+")
}

// outcomeWords are the outcomes of a matrix, and how many runs of it ended so before.
func outcomeWords(m *matrix.Matrix) []bars.Word {
	colours := map[matrix.Outcome]int{matrix.AsExpected: bars.Green, matrix.UnexpectedViolation: bars.Red, matrix.Error: bars.Red}
	before := map[matrix.Outcome]int{}
	for _, c := range m.Cells {
		for _, r := range c.Runs {
			before[r.Outcome]++
		}
	}
	var words []bars.Word
	for _, o := range matrix.Outcomes {
		colour, known := colours[o]
		if !known {
			colour = bars.Yellow
		}
		words = append(words, bars.Word{Word: string(o), Colour: colour, Before: before[o]})
	}
	return words
}
