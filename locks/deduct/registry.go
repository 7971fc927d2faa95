package deduct

import "slices"

// All returns every deduction, in the order of the seeds.
func All() []Spec {
	return []Spec{
		readWrite(),
		watch(),
		watchRecursive(),
		lua(),
		hashCheckDecr(),
		hincrby(),
		localVar(),
	}
}

// Find returns the deduction of that name.
func Find(name string) (Spec, bool) {
	all := All()
	at := slices.IndexFunc(all, func(s Spec) bool { return s.Name == name })
	if at < 0 {
		return Spec{}, false
	}
	return all[at], true
}
