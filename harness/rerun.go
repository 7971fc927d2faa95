package harness

import (
	"fmt"
	"strings"

	"picklock/harness/store"
	"picklock/models"
)

// Rerun is the exact command that repeats a test: every flag that shapes it, defaults
// included, since defaults may change. A test with a given schedule is repeated from its
// folder, which keeps it.
func Rerun(t store.Test, dir string) string {
	if t.Explicit {
		return "picklock rerun " + dir
	}
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
		"--check-timeout", t.CheckTimeout.String(), "--customer", Quoted(t.Customer),
	}
	if t.Checker != "" && t.Checker != string(models.Fast) {
		args = append(args, "--checker", t.Checker)
	}
	if t.UntilVerdict {
		args = append(args, "--until-verdict")
	}
	if t.Replicas > 0 {
		args = append(args, "--replicas", fmt.Sprint(t.Replicas))
	}
	if t.Nodes > 0 {
		args = append(args, "--nodes", fmt.Sprint(t.Nodes))
	}
	for _, c := range t.Config {
		args = append(args, "--config", Quoted(c))
	}
	if len(t.Addrs) > 0 {
		for _, a := range t.Addrs {
			args = append(args, "--addr", a)
		}
		return strings.Join(args, " ")
	}
	args = append(args, "--persistence", t.Persistence, "--stock-on", t.StockOn, "--runtime", t.Runtime)
	if t.Server != "" {
		args = append(args, "--server", t.Server)
	}
	if t.Runtime == "docker" {
		args = append(args, "--reach", t.Reach)
		if t.Image != "" {
			args = append(args, "--image", t.Image)
		}
	}
	return strings.Join(args, " ")
}

// Quoted is a word as a shell takes it.
func Quoted(s string) string {
	if !strings.ContainsAny(s, " \t'\"\\$&|;<>()*?[]{}~#!`") && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Again are the options that repeat a stored test, with the very schedule that it ran.
func Again(t store.Test, root string) Options {
	t.About, t.Observed = nil, nil
	return Options{Test: t, Root: root}
}
