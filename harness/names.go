package harness

import (
	"slices"
	"strings"

	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis"
)

// Choices are the values that the flags of a test may have, where they are words.
func Choices() map[string][]string {
	return map[string][]string{
		"lock": lockNames(), "deduct": deductNames(), "topology": topologyNames(),
		"nemesis": append(nemesisNames(), "storm", "none"), "persistence": persistences(), "stock-on": stockPlaces(),
		"runtime": runtimes(), "reach": reaches(),
	}
}

func persistences() []string { return []string{"none", "everysec", "always"} }
func stockPlaces() []string  { return []string{"own", "lock"} }
func runtimes() []string     { return []string{"auto", "docker", "process"} }
func reaches() []string      { return []string{"auto", "container", "published"} }

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
