package bars

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"picklock/reports/text"
)

// The widths, in columns, of what a line has beside the words: the bar of a test, what a
// test does, and the narrowest bar that says anything; and from which width on a test has
// a bar.
const (
	testBar   = 12
	stateLong = 24
	leastBar  = 8
	roomy     = 72
	leastName = 12
)

// style is the library's bar; it is drawn anew each time, because it has no state here.
func style(colour bool) mpb.BarFiller {
	s := mpb.BarStyle().TipOnComplete()
	if colour {
		s = s.FillerMeta(painter(Green)).TipMeta(painter(Green))
	}
	return s.Build()
}

func painter(colour int) func(string) string {
	return func(s string) string {
		if s == "" || colour == Plain {
			return s
		}
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, s)
	}
}

// drawAll is the line of all tests: "12/240 [==>----] 3:10 gone, about 12 min left".
func (b *Board) drawAll(w io.Writer, _ decor.Statistics) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	// The last column stays free: some terminals begin a new line behind it.
	columns, _ := b.size()
	width, done := columns-1, b.done()
	head := fmt.Sprintf("%d/%d", done, b.o.Total)
	tail := b.times(width)
	room := width - len(head) - runewidth.StringWidth(tail) - 2
	if room < leastBar {
		_, err := io.WriteString(w, clip(head+"  "+tail, width))
		return err
	}
	if _, err := io.WriteString(w, head+" "); err != nil {
		return err
	}
	err := style(b.o.Colour).Fill(w, decor.Statistics{AvailableWidth: room, Total: int64(b.o.Total), Current: int64(done)})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, " "+tail)
	return err
}

func (b *Board) done() (n int) {
	for _, k := range b.counts {
		n += k
	}
	return n
}

// times is the time that went by and the time that is left, in so many columns.
func (b *Board) times(width int) string {
	elapsed := b.now().Sub(b.began)
	gone := clock(elapsed)
	wide := width >= 60
	if wide {
		gone += " gone"
	}
	left, how := b.left(elapsed), "about "
	if left < 0 {
		left, how = max(0, b.o.Least-elapsed), "at least "
	}
	switch {
	case b.note != "":
		return gone + ", " + b.note
	case left < time.Second: // nothing is known, or it is a matter of moments
		return gone
	case !wide:
		how = strings.TrimSpace(map[string]string{"about ": "~", "at least ": ">"}[how])
	}
	return gone + ", " + how + text.Time(left) + " left"
}

// clock is a time as a clock shows it: "0:07", "12:30", "1:02:03".
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// drawTests are the lines below that of all tests: how they ended so far, and one for each
// test that is under way, as many as the terminal has rows.
func (b *Board) drawTests(w io.Writer, s decor.Statistics) error {
	if s.Aborted {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	columns, rows := b.size()
	width := columns - 1
	var lines []string
	if line := b.countLine(width); line != "" {
		lines = append(lines, line)
	}
	for _, t := range b.slots {
		if t != nil {
			lines = append(lines, t.line(width, b.o.Colour))
		}
	}
	// One row is that of all tests, and one that of the cursor.
	if room := max(0, rows-2); len(lines) > room {
		more := fmt.Sprintf("  … and %d more", len(lines)-room+1)
		lines = append(lines[:max(0, room-1)], clip(more, width))[:room]
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// countLine is how the tests ended so far: "  10 as expected, 1 vacuous"; empty: none has.
// Where not all find room, the last words stay.
func (b *Board) countLine(width int) string {
	var parts []string
	room := width
	for _, x := range slices.Backward(b.o.Words) {
		n := b.counts[x.Word]
		if n == 0 {
			continue
		}
		word := fmt.Sprintf("%d %s", n, x.Word)
		if room -= runewidth.StringWidth(word) + 2; room < 0 {
			break
		}
		if b.o.Colour {
			word = painter(x.Colour)(word)
		}
		parts = append(parts, word)
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Reverse(parts)
	return "  " + strings.Join(parts, ", ")
}

// line is that of a test: its name, and at the right what it does.
func (t *Test) line(width int, colour bool) string {
	state := text.Plain(t.phase)
	if t.of > 0 {
		state = fmt.Sprintf("%.0f of %.0f s", t.at.Seconds(), t.of.Seconds())
		if width >= roomy {
			var bar strings.Builder
			// A strings.Builder takes whatever it is given.
			_ = style(colour).Fill(&bar, decor.Statistics{AvailableWidth: testBar, Total: int64(t.of), Current: int64(t.at)})
			state = bar.String() + fmt.Sprintf("%*s", stateLong-testBar, state)
			return t.label(width-stateLong) + state
		}
	}
	wide := min(stateLong, max(0, width/2))
	state = clip(state, wide)
	if width >= roomy {
		wide = stateLong
	} else {
		wide = runewidth.StringWidth(state)
	}
	return t.label(width-wide) + runewidth.FillRight(state, wide)
}

// label is the name, filled with spaces to so many columns, two of them before and behind
// it.
func (t *Test) label(width int) string {
	room, tail := width-4, text.Plain(t.tail)
	name := text.Plain(t.name)
	if runewidth.StringWidth(name+tail) > room {
		if room-runewidth.StringWidth(tail) < leastName {
			tail = ""
		}
		name = clip(name, room-runewidth.StringWidth(tail))
	}
	return clip("  "+runewidth.FillRight(name+tail, max(0, room))+"  ", width)
}

// clip shortens s to so many columns; an ellipsis says that something is missing.
func clip(s string, columns int) string {
	if columns < 1 {
		return ""
	}
	return runewidth.Truncate(s, columns, "…")
}
