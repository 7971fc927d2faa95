package harness

import (
	"slices"
	"strings"

	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis"
)

func lockNames() []string {
	return names(locks.All(), func(s locks.Spec) string { return s.Name })
}

func deductNames() []string {
	return names(deduct.All(), func(s deduct.Spec) string { return s.Name })
}

func nemesisNames() []string {
	return names(nemesis.All(), func(k nemesis.Kind) string { return k.Name })
}

func names[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = name(x)
	}
	return out
}

func contains(all []string, s string) bool { return slices.Contains(all, s) }

func list(all []string) string { return strings.Join(all, ", ") }
