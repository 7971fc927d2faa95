package foreign

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"testing"

	"olympos.io/encoding/edn"
	"pgregory.net/rapid"
)

// The one form of a value: equal values have equal texts.
func TestCanonical(t *testing.T) {
	for raw, want := range map[string]Value{
		"nil": "", "5": "5", "+5": "5", "5N": "5", "-0": "0", "-7": "-7", "12345678901234567890": "12345678901234567890",
		"1.50": "1.5", "1e3": "1000.0", "2.50M": "2.50M", `"a"`: `"a"`, `"\u0041\n"`: `"A\n"`, "\"a\nb\"": `"a\nb"`, `"é\\\""`: `"é\\\""`,
		":a": ":a", ":a/b-c": ":a/b-c", "true": "true", "sym": "sym", `\a`: `\a`, `\newline`: `\newline`,
		"(1 2)": "[1 2]", "[1,2,]": "[1 2]", "[nil [ ]]": "[nil []]", "{:b 1 :a 2}": "{:a 2 :b 1}", "#{3 1 2}": "#{1 2 3}",
		"#inst \"2020\"": `#inst "2020"`, "#a #b[1N]": "#a #b [1]", "##Inf": "##Inf",
	} {
		got, err := canonical([]byte(raw))
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", raw, got, err, want)
		}
		if again, err := canonical([]byte(got.String())); err != nil || again != got {
			t.Errorf("%s: its form %q is read as %q, %v", raw, got, again, err)
		}
	}
}

// written is a value with a way to write it, and the way of its one form.
func written(t *rapid.T, depth int) (text, form string) {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	space := rapid.SampledFrom([]string{" ", ",", " , ", "\n", " ;x]\n ", " #_[1 {}] "}).Draw(t, "space")
	parts := func(n int) (texts, forms []string) {
		for range n {
			a, b := written(t, depth-1)
			texts, forms = append(texts, a), append(forms, b)
		}
		return texts, forms
	}
	join := func(all []string, by string) string {
		out := ""
		for i, one := range all {
			if i > 0 {
				out += by
			}
			out += one
		}
		return out
	}
	switch kind {
	case 0:
		n := rapid.Int64().Draw(t, "number")
		return fmt.Sprint(n) + rapid.SampledFrom([]string{"", "N"}).Draw(t, "suffix"), fmt.Sprint(n)
	case 1:
		s := rapid.StringMatching(`[ -~éü\n\t]{0,8}`).Draw(t, "string")
		form := string(appendText(nil, s))
		return form, form
	case 2:
		word := rapid.SampledFrom([]string{":a", "nil", "true", ":x/y", "foo.bar"}).Draw(t, "word")
		return word, word
	case 3, 4:
		texts, forms := parts(rapid.IntRange(0, 3).Draw(t, "n"))
		open, end := "[", "]"
		if kind == 4 {
			open, end = "( ", " )"
		}
		return open + join(texts, space) + end, "[" + join(forms, " ") + "]"
	}
	texts, forms := parts(2)
	return "{:b" + space + texts[0] + space + ":a" + space + texts[1] + "}", "{:a " + forms[1] + " :b " + forms[0] + "}"
}

// However a value is written, it has one form, and the EDN library finds the same in both.
func TestCanonicalIsOneForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, form := written(t, 3)
		got, err := canonical([]byte(text))
		if err != nil || got.String() != form {
			t.Fatalf("%q: got %q, %v, want %q", text, got, err, form)
		}
		var a, b any
		if err := errors.Join(edn.Unmarshal([]byte(text), &a), edn.Unmarshal([]byte(form), &b)); err != nil {
			t.Fatalf("the library does not read %q or %q: %v", text, form, err)
		}
		if a, b := libraryForm(a), libraryForm(b); a != b {
			t.Fatalf("the library reads %q as %s, but its form %q as %s", text, a, form, b)
		}
	})
}

// libraryForm prints what the library read; it has two types of whole numbers.
func libraryForm(x any) string {
	switch x := x.(type) {
	case *big.Int: // at the top
		return x.String()
	case big.Int: // in something
		return x.String()
	case int64:
		return fmt.Sprint(x)
	case []any:
		out := "["
		for _, one := range x {
			out += libraryForm(one) + " "
		}
		return out + "]"
	case map[any]any:
		return "{" + libraryForm(x[edn.Keyword("a")]) + " " + libraryForm(x[edn.Keyword("b")]) + "}"
	}
	return fmt.Sprintf("%T %v", x, x)
}

func TestValueParts(t *testing.T) {
	v := Value(`{:client "a\"b" :fence 7 :none nil :xs [1 nil "y"]}`)
	if s, ok := v.field("client").plain(); !ok || s != `a"b` {
		t.Errorf("client: got %q, %v", s, ok)
	}
	if n, ok := v.field("fence").integer(); !ok || n != 7 {
		t.Errorf("fence: got %d, %v", n, ok)
	}
	if v.field("none") != "" || v.field("other") != "" || Value("7").field("x") != "" {
		t.Error("what is nil or not there is empty")
	}
	if got := v.field("xs").elements(); !reflect.DeepEqual(got, []Value{"1", "", `"y"`}) {
		t.Errorf("elements: got %q", got)
	}
	for v, want := range map[Value]bool{"7": true, "-7": true, "-": false, "1.5": false, "1e3": false, "2M": false, ":7": false, "": false} {
		if v.number() != want {
			t.Errorf("%q is a number: got %v, want %v", v, !want, want)
		}
	}
}
