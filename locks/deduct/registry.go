package deduct

import (
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
	return locks.Pick("deduction", name, All(), func(s *Spec) locks.Optional[Spec] {
		return locks.Optional[Spec]{Name: &s.Name, Options: &s.Options, With: &s.With}
	})
}

// Find is Lookup without the reason.
func Find(name string) (Spec, bool) {
	s, ok, err := Lookup(name)
	return s, ok && err == nil
}
