package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"picklock/reports/bars/barstest"
)

// atTerminal is a picklock on a terminal of its own.
type atTerminal struct {
	t       *testing.T
	cmd     *exec.Cmd
	control *os.File
	ended   chan struct{} // closed when all that it printed is shown
	mu      sync.Mutex
	screen  *barstest.Screen
	raw     []byte
	moments []string // what was shown after each read
}

func onTerminal(t *testing.T, dir string, columns, rows uint16, env []string, args ...string) *atTerminal {
	t.Helper()
	x := &atTerminal{t: t, cmd: exec.Command(binary, args...), ended: make(chan struct{}), screen: barstest.NewScreen(int(columns), int(rows))}
	// Whatever the terminal of whoever runs the tests is.
	x.cmd.Dir, x.cmd.Env = dir, append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "CI="), env...)
	control, err := pty.StartWithSize(x.cmd, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	x.control = control
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill() // it has ended, if all went well
		_ = control.Close()
	})
	go x.show()
	return x
}

// show reads what it prints until it has closed its terminal, which is EIO.
func (x *atTerminal) show() {
	defer close(x.ended)
	buf := make([]byte, 1<<16)
	for {
		n, err := x.control.Read(buf)
		x.mu.Lock()
		x.raw = append(x.raw, buf[:n]...)
		if _, err := x.screen.Write(buf[:n]); err != nil {
			x.t.Errorf("it sends %v", err)
		}
		x.moments = append(x.moments, x.screen.String())
		x.mu.Unlock()
		if err != nil {
			if !errors.Is(err, unix.EIO) {
				x.t.Errorf("read the terminal: %v", err)
			}
			return
		}
	}
}

// await waits until a moment shows this.
func (x *atTerminal) await(pattern string) {
	x.t.Helper()
	is := regexp.MustCompile("(?s)" + pattern).MatchString
	await(x.t, "a terminal that shows "+pattern, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return slices.ContainsFunc(x.moments, is)
	})
}

// end waits for the end and returns the exit status.
func (x *atTerminal) end() int {
	_ = x.cmd.Wait() // the status tells
	<-x.ended
	return x.cmd.ProcessState.ExitCode()
}

// TestScreen: what of a terminal is used, as the environment says.
func TestScreen(t *testing.T) {
	control, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	defer terminal.Close()
	if err := pty.Setsize(control, &pty.Winsize{Cols: 132, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetOut(terminal)
	for _, c := range []struct {
		env         map[string]string
		live, color bool
	}{
		{nil, true, true},
		{map[string]string{"NO_COLOR": "1"}, true, false},
		{map[string]string{"TERM": "dumb"}, false, false},
		{map[string]string{"CI": "true"}, false, true},
		{map[string]string{"CI": "false"}, true, true},
		{map[string]string{"CI": "true", "NO_COLOR": "1"}, false, false},
	} {
		for name, value := range map[string]string{"TERM": "xterm", "NO_COLOR": "", "CI": ""} {
			if said, ok := c.env[name]; ok {
				value = said
			}
			t.Setenv(name, value)
		}
		if s := newScreen(cmd, false); s.live != c.live || s.color != c.color || s.width != 132 || s.columns() != 100 {
			t.Errorf("with %v it is drawn anew: %t, in colours: %t, %d and %d wide; want %t and %t, 132 and 100", c.env, s.live, s.color, s.width, s.columns(), c.live, c.color)
		}
		if s := newScreen(cmd, true); s.live || s.color {
			t.Error("JSON is drawn anew, or has colours")
		}
	}
	cmd.SetOut(&strings.Builder{})
	if s := newScreen(cmd, false); s.live || s.color || s.columns() != 80 {
		t.Errorf("what is no terminal is drawn anew: %t, in colours: %t, %d wide", s.live, s.color, s.columns())
	}
}

// onTerminals is a matrix of three short tests, which show the same on the slowest machine.
const onTerminals = `name: small
options: {ttl: 400ms, redis-timeout: 200ms, time-limit: 2s, think: 10ms, clients: 2, min-sales: 1}
groups:
- {locks: [none], deductions: [read-write, hincrby, lua], nemeses: [none]}
`

// TestBars: on a terminal, a bar for all tests and a line for each that runs, results above
// them, and in the end only the results, with nothing wider than the terminal.
func TestBars(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := onTerminal(t, dir, 80, 24, nil, "matrix", matrixFile(t, dir, onTerminals), "--runtime", "process", "--jobs", "2")
	line := `\n  none × [a-z-]+, single, none, seed 1  +\[[=>-]+\]  +\d of 2 s`
	x.await(`\n0/3 \[--+\] 0:\d\d gone[^\n]*` + line + line)
	x.await(`\n   2/3 .*\n2/3 \[===+>-+\] .*\n  2 as expected` + line)
	if status := x.end(); status != 0 {
		t.Errorf("status %d", status)
	}
	last := x.screen.String()
	for _, want := range []string{"\n   1/3 ", "\n   2/3 ", "\n   3/3 ", "seed 1: as expected\n", "\nAS EXPECTED: all 3 cells\n", "\nReport\n"} {
		if !strings.Contains(last, want) {
			t.Errorf("in the end there is no %q", want)
		}
	}
	if strings.Contains(last, "[") || strings.Contains(last, "at least 0") || x.screen.Coloured == 0 || x.screen.Wrapped > 0 {
		t.Errorf("bars are left, or there was no colour (%d), or %d rows were too wide", x.screen.Coloured, x.screen.Wrapped)
	}
	if t.Failed() {
		t.Log(last)
	}
}

// TestBarsInterrupted: Ctrl-C on a small terminal that becomes larger leaves the results
// and a line that says so, and the status is the one it always is; NO_COLOR is respected.
func TestBarsInterrupted(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, t.TempDir(), 40, 10, []string{"NO_COLOR=1"}, "scenario", "run", "misdelete", "--runtime", "process", "--jobs", "2")
	x.await(`\n0/2 \[--+\] .*\n  misdelete, (?:guil|inno)[a-z ]*…, seed 1  \d of 6 s\n  misdelete, (?:guil|inno)[a-z ]*…, seed 1  \d of 6 s`)
	x.mu.Lock()
	narrow := x.screen.Wrapped
	x.screen.Resize(70, 12)
	err := pty.Setsize(x.control, &pty.Winsize{Cols: 70, Rows: 12})
	x.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	x.await(`\n  misdelete, guilty setex-del × read-write,`)
	if _, err := x.control.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if status := x.end(); status != exitInterrupted {
		t.Errorf("status %d, want %d", status, exitInterrupted)
	}
	lines := x.screen.Lines()
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "picklock: interrupted") || strings.Contains(x.screen.String(), "[") || strings.Contains(x.screen.String(), "^C") {
		t.Errorf("it does not end with a word on the interruption and without bars:\n%s", x.screen)
	}
	if x.screen.Coloured > 0 || narrow > 0 {
		t.Errorf("%d sequences set a colour in spite of NO_COLOR; %d rows were wider than 40 columns", x.screen.Coloured, narrow)
	}
}

// TestNoBars: a dumb terminal and a pipe get plain lines, the same ones, and no control
// character.
func TestNoBars(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"matrix", matrixFile(t, dir, onTerminals), "--runtime", "process", "--jobs", "2", "--only", "none+hincrby*", "--verbose"}
	x := onTerminal(t, dir, 80, 24, []string{"TERM=dumb"}, args...)
	status := x.end()
	pipe := picklock(t, t.TempDir(), nil, append([]string{"matrix", dir + "/m.yaml"}, args[2:]...)...)
	dumb := strings.ReplaceAll(string(x.raw), "\r\n", "\n")
	for _, text := range []string{dumb, pipe.stdout} {
		if !strings.Contains(text, "\n   1/1 ") || !strings.Contains(text, "\nAS EXPECTED: all 1 cell\n") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("it is not plain lines: %q", text)
		}
	}
	if status != 0 || pipe.status != 0 || strings.Count(dumb, "\n") != strings.Count(pipe.stdout, "\n") {
		t.Errorf("status %d and %d, want 0 and as many lines:\n%s%s", status, pipe.status, dumb, pipe)
	}
}
