package nemesis

import (
	"context"
	"fmt"
	"strings"

	"picklock/harness/topology"
)

// deleteKey deletes the key of a lock that somebody holds: an operator who clears a lock
// that "hangs".
func deleteKey() Kind {
	return Kind{
		Name:     "delete-key",
		Summary:  "DEL of the key (or keys) of a lock that a client holds",
		Needs:    Needs{Servers: true},
		Targets:  []string{Primaries, One, RandomSubset, Minority, Majority},
		Triggers: true,
		Lasts:    momentary,
		New: func(w World, p Planned) Fault {
			return &keyLoss{world: w, plan: p, lose: deleteAll}
		},
	}
}

// deleteAll deletes the keys in one step; afterwards none is there.
func deleteAll(ctx context.Context, n topology.Node, keys []string) (seen string, lost bool, err error) {
	words := []any{"DEL"}
	for _, k := range keys {
		words = append(words, k)
	}
	deleted, err := ask(ctx, n, words...).Int()
	return fmt.Sprintf("DEL %s at %s answered %d", strings.Join(keys, " "), n.Name(), deleted), deleted > 0, err
}
