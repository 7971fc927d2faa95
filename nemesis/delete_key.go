package nemesis

import (
	"context"
	"fmt"

	"picklock/harness/topology"
)

// deleteKey deletes the key of a lock that somebody holds: an operator who clears a lock
// that "hangs".
func deleteKey() Kind {
	return Kind{
		Name:     "delete-key",
		Summary:  "DEL of the key of a lock that a client holds",
		Needs:    Needs{Servers: true},
		Targets:  []string{Primaries, One, RandomSubset, Minority, Majority},
		Triggers: true,
		Lasts:    momentary,
		New: func(w World, p Planned) Fault {
			return &keyLoss{world: w, plan: p, lose: func(ctx context.Context, n topology.Node, key string) (string, bool, error) {
				deleted, err := ask(ctx, n, "DEL", key).Int()
				return fmt.Sprintf("DEL %s at %s answered %d", key, n.Name(), deleted), deleted == 1, err
			}}
		},
	}
}
