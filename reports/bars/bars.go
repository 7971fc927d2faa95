// Package bars shows on a terminal how tests go that run side by side: one bar for all of
// them, a line for each that is under way, and whatever is written scrolls above. In goes
// what each test does now, in words; nothing here knows of locks or of the harness. Where
// the output is no terminal, nobody makes a board.
package bars

import (
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"golang.org/x/term"
)

// The smallest terminal that a board is of use on, in columns and rows.
const (
	leastColumns = 24
	leastRows    = 5
)

// every is how often the lines are drawn anew.
const every = 200 * time.Millisecond

// The colours of a terminal, as the numbers of its palette; 0 is that of plain text.
const (
	Plain  = 0
	Red    = 31
	Green  = 32
	Yellow = 33
)

// Word is what a test can end as, and its colour.
type Word struct {
	Word   string
	Colour int
	Before int // how many ended so before the board was made
}

// Options say what the board counts.
type Options struct {
	Total int    // tests, those that ended before included
	Words []Word // in the order in which their counts are told
	// Weight is that of all tests which are still to be run, in the unit of Begin; the
	// estimate of the time that is left comes from it. Least is the time that they take at
	// least, told until the first has ended; 0: nobody knows.
	Weight float64
	Least  time.Duration
	Colour bool
}

// Board is what the terminal shows. Its methods may be called from many goroutines; those
// that tell how a test goes never wait for the terminal.
type Board struct {
	mu       sync.Mutex
	o        Options
	began    time.Time
	now      func() time.Time
	size     func() (columns, rows int) // of the terminal, which may change
	counts   map[string]int
	ended    float64 // the weight of the tests that ended
	slots    []*Test // by line; nil: free
	note     string  // stands in the place of the estimate
	progress *mpb.Progress
	bar      *mpb.Bar
	once     sync.Once
}

// Fits says whether a terminal is large enough for a board.
func Fits(out *os.File) bool {
	w, h, err := term.GetSize(int(out.Fd()))
	return err == nil && w >= leastColumns && h >= leastRows
}

// New begins to draw on a terminal, until Close.
func New(out *os.File, o Options) *Board {
	b := newBoard(o, time.Now, func() (int, int) {
		if w, h, err := term.GetSize(int(out.Fd())); err == nil {
			return w, h
		}
		return 80, leastRows
	})
	b.progress = mpb.New(mpb.WithOutput(fromTheLeft{out}), mpb.WithAutoRefresh(), mpb.WithRefreshRate(every))
	// One bar of the library has all lines: so they are never more than the terminal has.
	b.bar = b.progress.MustAdd(0, mpb.BarFillerFunc(b.drawAll), mpb.BarFillerTrim(),
		mpb.BarExtender(mpb.BarFillerFunc(b.drawTests), false))
	return b
}

// fromTheLeft writes each frame from the first column on: the library goes up by lines
// alone, and a key, such as the ^C of an interruption, has moved the cursor to the right.
type fromTheLeft struct{ io.Writer }

func (w fromTheLeft) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(append([]byte{'\r'}, p...))
	return max(0, n-1), err
}

func newBoard(o Options, now func() time.Time, size func() (columns, rows int)) *Board {
	b := &Board{o: o, began: now(), now: now, size: size, counts: map[string]int{}}
	for _, w := range o.Words {
		b.counts[w.Word] = w.Before
	}
	return b
}

// Write has whole lines scroll above the board.
func (b *Board) Write(p []byte) (int, error) { return b.progress.Write(p) }

// Ended counts a test that ended with one of the words.
func (b *Board) Ended(word string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[word]++
}

// Note says something in the place of the time that is left, such as that all is being
// brought to an end.
func (b *Board) Note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note = s
}

// Close takes the board off the terminal, once all that was written stands there: the
// cursor is where the next line belongs.
func (b *Board) Close() {
	b.once.Do(func() {
		b.bar.Abort(true)
		b.progress.Wait()
	})
}

// Test is one test that is under way, a line of the board.
type Test struct {
	board  *Board
	name   string
	tail   string  // of the name, left out last
	weight float64 // of all tests', and which share of it is done
	share  float64
	phase  string
	at, of time.Duration // of the load; of is 0 outside of it
}

// Begin gives a test a line: its name, the tail of it that is told also where the name is
// too long, such as its seed, and how much it weighs among all tests.
func (b *Board) Begin(name, tail string, weight float64) *Test {
	t := &Test{board: b, name: name, tail: tail, weight: weight}
	b.mu.Lock()
	defer b.mu.Unlock()
	free := slices.Index(b.slots, nil)
	if free < 0 {
		free, b.slots = len(b.slots), append(b.slots, nil)
	}
	b.slots[free] = t
	return t
}

// Phase says what is being done, outside of the load.
func (t *Test) Phase(s string) {
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	if t.of > 0 {
		t.share = 1 // the load is what a test waits for
	}
	t.phase, t.at, t.of = s, 0, 0
}

// Load says how far the load is.
func (t *Test) Load(at, of time.Duration) {
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	if of <= 0 {
		return
	}
	t.at, t.of = max(0, min(at, of)), of
	t.share = t.at.Seconds() / t.of.Seconds()
}

// End takes the test off the board; whole says that it counts as done.
func (t *Test) End(whole bool) {
	b := t.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if whole {
		b.ended += t.weight
	}
	for i := range b.slots {
		if b.slots[i] == t {
			b.slots[i] = nil
		}
	}
}

// left is the time that what is not done takes, as a guess from what is: less than none
// where there is nothing to guess from. b.mu is held.
func (b *Board) left(elapsed time.Duration) time.Duration {
	done := b.ended
	if done == 0 {
		return -1
	}
	for _, t := range b.slots {
		if t != nil {
			done += t.weight * t.share
		}
	}
	return time.Duration(float64(elapsed) * max(0, b.o.Weight-done) / done)
}
