package bars

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8/decor"
)

// still is a board that stands still: 190 s after its beginning, with two tests that have
// ended and three under way.
func still(columns, rows int, colour bool) *Board {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := began
	b := newBoard(Options{
		Total: 240, Weight: 400, Least: 10 * time.Minute, Colour: colour,
		Words: []Word{{"as expected", Green, 10}, {"vacuous", Yellow, 0}, {"not reproduced", Yellow, 0}, {"unexpected violation", Red, 0}},
	}, func() time.Time { return now }, func() (int, int) { return columns, rows })
	ended := b.Begin("none × hincrby, single, none", ", seed 1", 30)
	b.Begin("uuid-lua × read-write, single, pause-client", ", seed 12", 30).Load(12*time.Second, 30*time.Second)
	b.Begin("redlock-go × fenced, redlock, isolate-node+clock-node, valkey:8", ", seed 3", 30).Phase("starting the servers")
	ended.End(true)
	last := b.Begin("setnx × lua, failover, stale-promotion", ", seed 2", 30)
	last.Load(30*time.Second, 30*time.Second)
	last.Phase("writing the reports")
	b.Ended("as expected")
	b.Ended("unexpected violation")
	now = began.Add(190 * time.Second)
	return b
}

func drawn(t *testing.T, b *Board) string {
	t.Helper()
	var out strings.Builder
	if err := b.drawAll(&out, decor.Statistics{}); err != nil {
		t.Fatal(err)
	}
	out.WriteString("\n")
	if err := b.drawTests(&out, decor.Statistics{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestLooks: what a board looks like at widths that people have.
func TestLooks(t *testing.T) {
	for columns, want := range map[int]string{
		80: `
12/240 [=>---------------------------------------] 3:10 gone, about 14 min left
  11 as expected, 1 unexpected violation
  setnx × lua, failover, stale-promotion, seed 2       writing the reports
  uuid-lua × read-write, single, pause-clie…, seed 12  [===>------]  12 of 30 s
  redlock-go × fenced, redlock, isolate-node…, seed 3  starting the servers
`,
		40: `
12/240 [>----------] 3:10, ~14 min left
  1 unexpected violation
  setnx × lua, fa…  writing the reports
  uuid-lua × read…, seed 12  12 of 30 s
  redlock-go × fe…  starting the serve…
`,
	} {
		if got := "\n" + trimmed(drawn(t, still(columns, 24, false))); got != want {
			t.Errorf("at %d columns it is%swant%s", columns, got, want)
		}
	}
}

// trimmed is a text without spaces at the ends of its lines.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// TestNeverTooLarge: at any size, a board has fewer lines than the terminal has rows, and
// none reaches its last column.
func TestNeverTooLarge(t *testing.T) {
	for columns := range 130 {
		for rows := range 12 {
			text := drawn(t, still(columns, rows, false))
			if lines := strings.Count(text, "\n"); lines > max(1, rows-1) {
				t.Fatalf("at %d × %d there are %d lines:\n%s", columns, rows, lines, text)
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(0, columns-1) {
					t.Fatalf("at %d × %d a line has %d columns: %q", columns, rows, n, line)
				}
			}
		}
	}
	if text := drawn(t, still(80, 5, false)); !strings.HasSuffix(text, "  … and 2 more\n") {
		t.Errorf("on five rows it does not say what is missing:\n%s", text)
	}
}

// TestColour: colours add nothing but themselves, and are there only where they are wanted.
func TestColour(t *testing.T) {
	plain, painted := drawn(t, still(80, 24, false)), drawn(t, still(80, 24, true))
	if strings.Contains(plain, "\x1b") {
		t.Errorf("without colour there is a control sequence: %q", plain)
	}
	for _, want := range []string{"\x1b[32m11 as expected\x1b[0m", "\x1b[31m1 unexpected violation\x1b[0m"} {
		if !strings.Contains(painted, want) {
			t.Errorf("with colour there is no %q: %q", want, painted)
		}
	}
	for _, code := range []string{"\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
		painted = strings.ReplaceAll(painted, code, "")
	}
	if painted != plain {
		t.Errorf("with colour it says\n%swithout\n%s", painted, plain)
	}
}

// TestHostileNames: a name of somebody else's lock cannot move the cursor or begin a line.
func TestHostileNames(t *testing.T) {
	b := still(80, 24, false)
	b.Begin("evil\x1b[2J\r\nlock", "\n", 1).Phase("say\x07ing\n")
	if text := drawn(t, b); strings.ContainsAny(text, "\x1b\r\x07") || strings.Count(text, "\n") != 6 {
		t.Errorf("%q", text)
	}
}

// TestEstimate: the time that is left is guessed from the weight of what is done, once
// something is; before, it is what the plan says.
func TestEstimate(t *testing.T) {
	began := time.Unix(0, 0)
	now := began
	b := newBoard(Options{Total: 4, Weight: 40, Least: 20 * time.Second}, func() time.Time { return now }, func() (int, int) { return 80, 24 })
	says := func(want string) {
		t.Helper()
		if got := b.times(80); got != want {
			t.Errorf("after %s it says %q, want %q", now.Sub(began), got, want)
		}
	}
	one, two := b.Begin("a", "", 10), b.Begin("b", "", 10)
	now = began.Add(5 * time.Second)
	one.Load(4*time.Second, 10*time.Second)
	says("0:05 gone, at least 15 s left")
	now = began.Add(15 * time.Second)
	one.End(true)
	says("0:15 gone, about 45 s left")
	two.Load(5*time.Second, 10*time.Second)
	says("0:15 gone, about 25 s left")
	now = began.Add(2 * time.Hour)
	says("2:00:00 gone, about 3.3 h left")
	two.End(false) // broken off: it counts for nothing
	says("2:00:00 gone, about 6.0 h left")
	b.Note("interrupted, healing")
	says("2:00:00 gone, interrupted, healing")
	if b.times(50) != "2:00:00, interrupted, healing" {
		t.Errorf("in 50 columns it says %q", b.times(50))
	}
}
