package text_test

import (
	"slices"
	"testing"
	"time"

	"picklock/reports/text"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"lock:sku-0", "lock:sku-0"}, {"wörd ✓", "wörd ✓"}, {"a\x1b[31mb\nc\td", "a·[31mb·c·d"}, {"\u202eevil\u200b", "·evil·"}, {"\ufffe\xff\x00", "···"},
	} {
		if got := text.Plain(c.in); got != c.want {
			t.Errorf("Plain(%q) is %q, want %q", c.in, got, c.want)
		}
	}
	if got, want := text.Lines("a\x00\r\nb\x7f"), "a··\nb·"; got != want {
		t.Errorf("Lines gives %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  []string
	}{
		{"", 20, []string{""}},
		{"a lock that  nobody\nholds", 20, []string{"a lock that nobody", "holds"}},
		{"äöüäöüäöüäöüäöüäöüäöüäöü x", 20, []string{"äöüäöüäöüäöüäöüäöüäö", "üäöü x"}},
		{"one two three four five", 3, []string{"one two three four", "five"}},
	} {
		if got := text.Wrap(c.in, c.width); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) is %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{{"lock", 4, "lock"}, {"locks", 4, "loc…"}, {"ööööö", 4, "ööö…"}, {"x", 0, "…"}} {
		if got := text.Clip(c.in, c.width); got != c.want {
			t.Errorf("Clip(%q, %d) is %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 45 * time.Second: "45 s", 119 * time.Second: "119 s", 12 * time.Minute: "12 min",
		119 * time.Minute: "119 min", 210 * time.Minute: "3.5 h",
	} {
		if got := text.Time(d); got != want {
			t.Errorf("%s is said as %q, want %q", d, got, want)
		}
	}
}
