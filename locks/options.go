package locks

import (
	"fmt"
	"slices"
	"strings"
)

// Defaults are the values of a lock or a deduction as its source has it.
func Defaults(options []Option) Values {
	v := Values{}
	for _, o := range options {
		v[o.Name] = o.Values[0]
	}
	return v
}

// withOptions is the spec of a lock with options, which build makes from their values.
func withOptions(options []Option, build func(Values) Spec) Spec {
	s := build(Defaults(options))
	s.Options, s.With = options, build
	return s
}

// Choose reads "quorum=2,clock=wall" against the options that there are. It returns all
// values, defaults included, and the canonical suffix of the name that they make: only
// what differs from the default, in the order of the options (":quorum=2"), or nothing.
// An error says in one line what is wrong and what there is; what names the chooser
// ("lock redlock").
func Choose(what string, options []Option, text string) (v Values, suffix string, err error) {
	if len(options) == 0 {
		return nil, "", fmt.Errorf("%s has no options", what)
	}
	v = Defaults(options)
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, "", fmt.Errorf("%s: an option is written name=value, not %q", what, part)
		}
		at := slices.IndexFunc(options, func(o Option) bool { return o.Name == name })
		switch {
		case at < 0:
			return nil, "", fmt.Errorf("%s has no option %q; it has: %s", what, name, strings.Join(optionNames(options), ", "))
		case seen[name]:
			return nil, "", fmt.Errorf("%s: option %s is there twice", what, name)
		case !slices.Contains(options[at].Values, value):
			return nil, "", fmt.Errorf("%s: %s must be one of %s, not %q", what, name, strings.Join(options[at].Values, ", "), value)
		}
		seen[name], v[name] = true, value
	}
	var differs []string
	for _, o := range options {
		if v[o.Name] != o.Values[0] {
			differs = append(differs, o.Name+"="+v[o.Name])
		}
	}
	if len(differs) == 0 {
		return v, "", nil
	}
	return v, ":" + strings.Join(differs, ","), nil
}

func optionNames(options []Option) []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.Name
	}
	return names
}

// Optional is where an entry of a registry has what Pick needs.
type Optional[S any] struct {
	Name    *string
	Options *[]Option
	With    *func(Values) S
}

// Pick finds among all entries of a kind ("lock") the one that a name chooses, "redlock" or
// "redlock:quorum=2,clock=wall". ok is false if there is none; err says in one line what is
// wrong with the options.
func Pick[S any](kind, name string, all []S, of func(*S) Optional[S]) (s S, ok bool, err error) {
	plain, options, chosen := strings.Cut(name, ":")
	at := 0
	for at < len(all) && *of(&all[at]).Name != plain {
		at++
	}
	if at == len(all) {
		return s, false, nil
	}
	s = all[at]
	if !chosen {
		return s, true, nil
	}
	was := of(&s)
	values, suffix, err := Choose(kind+" "+plain, *was.Options, options)
	if err != nil || suffix == "" {
		return s, true, err
	}
	v := (*was.With)(values)
	is := of(&v)
	*is.Name, *is.Options, *is.With = plain+suffix, *was.Options, *was.With
	return v, true, nil
}
