package harness

import (
	"fmt"
	"strings"

	"picklock/harness/store"
)

// Rerun is the exact command that repeats a test: every flag that shapes it, defaults
// included, since defaults may change.
func Rerun(t store.Test) string {
	nemesis := strings.Join(t.Nemesis, ",")
	if nemesis == "" {
		nemesis = "none"
	}
	args := []string{
		"picklock", "run", "--lock", t.Lock, "--deduct", t.Deduct, "--topology", t.Topology, "--nemesis", nemesis,
		"--seed", fmt.Sprint(t.Seed), "--time-limit", t.TimeLimit.String(), "--ttl", t.TTL.String(),
		"--clients", fmt.Sprint(t.Clients), "--workers", fmt.Sprint(t.Workers),
		"--stock", fmt.Sprint(t.Stock), "--skus", fmt.Sprint(t.SKUs),
		"--think", t.Think.String(), "--think-after", t.Pause.String(), "--rate", fmt.Sprint(t.Rate),
		"--acquire-timeout", t.AcquireTimeout.String(), "--redis-timeout", t.RedisTimeout.String(), "--grace", t.Grace.String(),
		"--min-sales", fmt.Sprint(t.MinSales), "--min-contention", fmt.Sprint(t.MinContention),
		"--check-timeout", t.CheckTimeout.String(),
		"--persistence", t.Persistence, "--stock-on", t.StockOn, "--runtime", t.Runtime,
	}
	if t.Runtime == "docker" {
		args = append(args, "--reach", t.Reach)
		if t.Image != "" {
			args = append(args, "--image", t.Image)
		}
	}
	return strings.Join(args, " ")
}
