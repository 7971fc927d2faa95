package bars_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"picklock/reports/bars"
	"picklock/reports/bars/barstest"
)

// TestNothingIsLost: all lines stand on the terminal in their order, whenever they were
// written, also just before the end; the bars are gone, and the next line stands where the
// bars were, even if a key has moved the cursor.
func TestNothingIsLost(t *testing.T) {
	control, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	if err := pty.Setsize(control, &pty.Winsize{Cols: 60, Rows: 8}); err != nil {
		t.Fatal(err)
	}
	shown := barstest.NewScreen(60, 8)
	read := make(chan error)
	go func() {
		_, err := io.Copy(shown, control) // EIO at its end
		read <- err
	}()
	if !bars.Fits(terminal) {
		t.Fatal("a terminal of 60 × 8 is said to be too small")
	}
	b := bars.New(terminal, bars.Options{Total: 3, Words: []bars.Word{{Word: "done"}}})
	var want []string
	for i := range 3 {
		x := b.Begin(fmt.Sprintf("test %d", i), ", seed 7", 1)
		x.Load(time.Second, 4*time.Second)
		time.Sleep(300 * time.Millisecond)                    // longer than a frame
		if _, err := terminal.WriteString("^C"); err != nil { // the terminal's echo
			t.Fatal(err)
		}
		b.Ended("done")
		x.End(true)
		for n := range 20 {
			line := fmt.Sprintf("line %d of test %d", n, i)
			want = append(want, line)
			fmt.Fprintln(b, line)
		}
	}
	b.Close()
	b.Close() // does nothing
	want = append(want, "the next line")
	fmt.Fprintln(terminal, "the next line")
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil && !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("the terminal does not understand %v", err)
	}
	if got := shown.String(); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("the terminal shows\n%s", got)
	}
	if shown.Wrapped > 0 {
		t.Errorf("%d rows went over the width", shown.Wrapped)
	}
}
