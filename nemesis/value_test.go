package nemesis

import (
	"testing"
	"time"
)

func TestReadSpan(t *testing.T) {
	const ttl = 500 * time.Millisecond
	for value, want := range map[string]time.Duration{
		"+10s": 10 * time.Second, "-60s": -time.Minute, "300ms": 300 * time.Millisecond, "0": 0, "-0s": 0,
		"ttl": ttl, "+ttl": ttl, "-ttl": -ttl, "2ttl": 2 * ttl, "+2ttl": 2 * ttl, "-0.5ttl": -ttl / 2,
	} {
		if got, err := readSpan(value, ttl); err != nil || got != want {
			t.Errorf("readSpan(%q): got %s, %v; want %s", value, got, err, want)
		}
	}
	for _, value := range []string{"", "+", "-", "soon", "10", "ttls", "NaNttl", "Infttl", "1e300ttl", "1e9h", "2 ttl", "+-ttl", "+-5s", "ttl2"} {
		if got, err := readSpan(value, ttl); err == nil {
			t.Errorf("readSpan(%q): got %s, want an error", value, got)
		}
	}
}

// FuzzReadSpan demands that whatever is accepted is within the bound, and that a time
// which is written out is read back.
func FuzzReadSpan(f *testing.F) {
	for _, s := range []string{"+10s", "-2ttl", "0.5ttl", "ttl", "1e3ttl", "-", ""} {
		f.Add(s, int64(time.Second))
	}
	f.Fuzz(func(t *testing.T, value string, ttl int64) {
		ttl = int64(uint64(ttl) % uint64(maxSpan)) // every TTL that there can be
		got, err := readSpan(value, time.Duration(ttl))
		if err != nil {
			return
		}
		if got.Abs() > maxSpan {
			t.Errorf("readSpan(%q, %d) = %s, beyond the bound", value, ttl, got)
		}
		if again, err := readSpan(got.String(), time.Duration(ttl)); err != nil || again != got {
			t.Errorf("%s was read back as %s, %v", got, again, err)
		}
	})
}

func TestChecksOfValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(string) error
		right []string
		wrong []string
	}{
		{"oneOf", oneOf("a", "b"), []string{"a", "b"}, []string{"", "c", "A"}},
		{"isPause", isPause, []string{"1ms", "ttl"}, []string{"", "0", "-1ms", "-ttl"}},
		{"optional", optional(isPause), []string{"", "1ms"}, []string{"0", "x"}},
		{"isShare", isShare, []string{"half", "1", "12"}, []string{"", "0", "-1", "all", "1.5"}},
	} {
		for _, v := range c.right {
			if err := c.check(v); err != nil {
				t.Errorf("%s(%q): got %v, want it accepted", c.name, v, err)
			}
		}
		for _, v := range c.wrong {
			if c.check(v) == nil {
				t.Errorf("%s(%q): accepted, want an error", c.name, v)
			}
		}
	}
}
