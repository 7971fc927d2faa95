package locks_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"picklock/locks"
)

func colours() []locks.Option {
	return []locks.Option{
		{Name: "wall", Values: []string{"white", "red", "blue"}},
		{Name: "door", Values: []string{"shut", "open"}},
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, wall, door, suffix string
		err                      string // a part of it
	}{
		{text: "wall=red", wall: "red", door: "shut", suffix: ":wall=red"},
		{text: "door=open,wall=blue", wall: "blue", door: "open", suffix: ":wall=blue,door=open"},
		{text: "wall=white,door=shut", wall: "white", door: "shut"},
		{text: "wall=white,door=open", wall: "white", door: "open", suffix: ":door=open"},
		{text: "", err: `written name=value, not ""`},
		{text: "wall", err: `written name=value, not "wall"`},
		{text: "wall=red,", err: `written name=value, not ""`},
		{text: "floor=red", err: `house has no option "floor"; it has: wall, door`},
		{text: "=red", err: `no option ""`},
		{text: "wall=green", err: `wall must be one of white, red, blue, not "green"`},
		{text: "wall=", err: `not ""`},
		{text: "wall=red=blue", err: `not "red=blue"`},
		{text: "wall=red,wall=red", err: "option wall is there twice"},
		{text: "Wall=red", err: `no option "Wall"`},
		{text: " wall=red", err: `no option " wall"`},
	} {
		v, suffix, err := locks.Choose("house", colours(), c.text)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "house") || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, want one line with %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil || v["wall"] != c.wall || v["door"] != c.door || len(v) != 2 || suffix != c.suffix {
			t.Errorf("%q: %v, suffix %q, %v; want %s, %s, %q", c.text, v, suffix, err, c.wall, c.door, c.suffix)
		}
	}
	if _, _, err := locks.Choose("house", nil, "wall=red"); err == nil || err.Error() != "house has no options" {
		t.Errorf("options of what has none: %v", err)
	}
}

// However a choice is written, it is understood, and its name is the same.
func TestChooseIsCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var options []locks.Option
		for i := range rapid.IntRange(1, 5).Draw(t, "options") {
			o := locks.Option{Name: fmt.Sprintf("o%d", i)}
			for j := range rapid.IntRange(1, 4).Draw(t, "values") {
				o.Values = append(o.Values, fmt.Sprintf("v%d", j))
			}
			options = append(options, o)
		}
		want := locks.Defaults(options)
		var parts []string
		for _, o := range rapid.Permutation(options).Draw(t, "order") {
			if len(parts) > 0 && rapid.Bool().Draw(t, "left out") {
				continue
			}
			want[o.Name] = rapid.SampledFrom(o.Values).Draw(t, "value")
			parts = append(parts, o.Name+"="+want[o.Name])
		}
		got, suffix, err := locks.Choose("it", options, strings.Join(parts, ","))
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%v: %v, %v; want %v", parts, got, err, want)
		}
		chosen, differs := strings.CutPrefix(suffix, ":")
		if !differs {
			if !maps.Equal(want, locks.Defaults(options)) {
				t.Fatalf("%v has no suffix, but differs from the source", want)
			}
			return
		}
		again, same, err := locks.Choose("it", options, chosen)
		if err != nil || !maps.Equal(again, want) || same != suffix {
			t.Fatalf("%q was read again as %v with suffix %q, %v; want %v", chosen, again, same, err, want)
		}
		for part := range strings.SplitSeq(chosen, ",") {
			name, value, _ := strings.Cut(part, "=")
			if value == locks.Defaults(options)[name] {
				t.Fatalf("%q names a default", suffix)
			}
		}
	})
}

// Nothing makes Choose panic, and what it takes it takes wholly.
func FuzzChoose(f *testing.F) {
	for _, seed := range []string{"wall=red", "wall=red,door=open", ",", "=", "wall=red,wall=blue", "door", "door==open", "wall=white"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, suffix, err := locks.Choose("house", colours(), text)
		if err != nil {
			if v != nil || suffix != "" {
				t.Errorf("%q: an error and %v, %q", text, v, suffix)
			}
			return
		}
		for _, o := range colours() {
			if !slices.Contains(o.Values, v[o.Name]) {
				t.Errorf("%q: %s is %q", text, o.Name, v[o.Name])
			}
			if written := strings.Contains(text, o.Name+"="); written != strings.Contains(text, o.Name+"="+v[o.Name]) {
				t.Errorf("%q was read as %v", text, v)
			}
		}
		if chosen, ok := strings.CutPrefix(suffix, ":"); ok {
			if again, same, err := locks.Choose("house", colours(), chosen); err != nil || same != suffix || !maps.Equal(again, v) {
				t.Errorf("%q has the suffix %q, which is read as %v with %q, %v", text, suffix, again, same, err)
			}
		}
	})
}

// Every option of every lock can be chosen by name, says what it is, and makes a lock of
// that name with the same options.
func TestLookupOfVariants(t *testing.T) {
	t.Parallel()
	for _, s := range locks.All() {
		if (len(s.Options) == 0) != (s.With == nil) {
			t.Errorf("%s: options without a lock that is made of them, or the other way round", s.Name)
		}
		for _, o := range s.Options {
			if o.Summary == "" || len(o.Values) < 2 || strings.ContainsAny(o.Name+strings.Join(o.Values, ""), ":,= ") {
				t.Errorf("%s: option %+v: want a summary, a choice, and plain words", s.Name, o)
			}
			for i, value := range o.Values {
				want := s.Name
				if i > 0 {
					want += ":" + o.Name + "=" + value
				}
				v, ok, err := locks.Lookup(s.Name + ":" + o.Name + "=" + value)
				if err != nil || !ok || v.Name != want || len(v.Options) != len(s.Options) || v.Open == nil || v.With == nil {
					t.Errorf("%s:%s=%s: %q, %v, %v; want %q", s.Name, o.Name, value, v.Name, ok, err, want)
				}
			}
		}
	}
	for _, c := range []struct{ name, err string }{
		{"none:retry=blind", "lock none has no options"},
		{"setnx:retry=often", "lock setnx: retry must be one of none, blind"},
		{"uuid-lua:", "written name=value"},
	} {
		if _, ok, err := locks.Lookup(c.name); !ok || err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %v; want %q", c.name, ok, err, c.err)
		}
		if _, ok := locks.Find(c.name); ok {
			t.Errorf("Find(%q) found something", c.name)
		}
	}
	if _, ok, err := locks.Lookup("nothing:retry=blind"); ok || err != nil {
		t.Errorf("a lock that is not there: %v, %v", ok, err)
	}
}
