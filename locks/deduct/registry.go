package deduct

import (
	"slices"
	"strings"

	"picklock/locks"
)

// All returns every deduction, in the order of the seeds.
func All() []Spec {
	return []Spec{
		readWrite(),
		fenced(),
		watch(),
		watchRecursive(),
		lua(),
		hashCheckDecr(),
		hincrby(),
		localVar(),
	}
}

// Lookup returns the deduction of that name, which may choose options, as locks.Lookup
// does: "watch:retry=blind".
func Lookup(name string) (s Spec, ok bool, err error) {
	plain, options, chosen := strings.Cut(name, ":")
	all := All()
	at := slices.IndexFunc(all, func(s Spec) bool { return s.Name == plain })
	if at < 0 {
		return Spec{}, false, nil
	}
	s = all[at]
	if !chosen {
		return s, true, nil
	}
	values, suffix, err := locks.Choose("deduction "+plain, s.Options, options)
	if err != nil || suffix == "" {
		return s, true, err
	}
	v := s.With(values)
	v.Name, v.Options, v.With = plain+suffix, s.Options, s.With
	return v, true, nil
}

// Find is Lookup without the reason.
func Find(name string) (Spec, bool) {
	s, ok, err := Lookup(name)
	return s, ok && err == nil
}
