package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"picklock/harness/topology"
)

// noEviction is the policy under which a full server refuses writes.
const noEviction = "noeviction"

// probeKey is written to see whether writes are refused.
const probeKey = fillPrefix + "probe"

// policies are the values of maxmemory-policy under which a lock's key can be evicted soon,
// and noeviction. The LFU policies are not among them: contenders who try to take a lock
// make its key one of those that are used most.
func policies() []string {
	return []string{"allkeys-lru", "allkeys-random", "volatile-lru", "volatile-random", "volatile-ttl", noEviction}
}

// fillMemory fills a server up to a limit: a cache on the same Redis, keys without TTL. By
// its policy it makes room by evicting keys, a lock among them, or refuses all writes.
func fillMemory() Kind {
	return Kind{
		Name: "fill-memory",
		Summary: "give a node a memory limit and fill it, until the key of a lock that a client holds is evicted; " +
			"under noeviction, until it refuses writes",
		Needs:    Needs{Servers: true},
		Targets:  []string{One},
		Triggers: true,
		Params: []Param{{
			Name: "policy", Default: "allkeys-lru", Check: oneOf(policies()...),
			Summary: "maxmemory-policy: " + strings.Join(policies(), ", "),
		}},
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return span(ttl, 2*ttl, draw)
		},
		New: func(w World, p Planned) Fault { return &memoryFault{world: w, plan: p} },
	}
}

// memoryFault fills the memory of one primary.
type memoryFault struct {
	world World
	plan  Planned
	node  topology.Node
	fill  *filling // nil: nothing was done
	begun usage    // directly before the fault
	proof string
}

func (f *memoryFault) Inject(ctx context.Context) (Target, error) {
	w, err := f.world.onPrimaries(ctx, f.plan)
	if err != nil {
		return Target{Client: -1}, err
	}
	nodes, err := w.chooseNodes(ctx, f.plan, data)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.node = nodes[0]
	target := nodesTarget(nodes)
	policy := f.plan.With["policy"]
	if policy != noEviction {
		// Nobody may ever take a lock: then nothing is to be done.
		if err := w.await(ctx, f.plan, func() bool { _, ok := w.freshHolder(); return ok }); err != nil {
			return Target{Client: -1}, err
		}
		target.At = now()
	}
	if f.begun, err = usageOf(ctx, f.node); err != nil || w.Sabotage {
		return target, err
	}
	f.fill = newFilling(f.node, f.plan.Pick)
	defer func() { _ = f.fill.to.Close() }() // the answers are there
	if err := f.fill.limit(ctx, policy); err != nil {
		return target, err
	}
	if policy == noEviction {
		return target, f.fill.untilRefused(ctx)
	}
	return target, f.evict(ctx)
}

// evict fills until all keys of a lock that somebody holds are evicted. It relies on what
// the server announces: a key that is gone could as well have been given back, and one
// that is there could be the next holder's.
func (f *memoryFault) evict(ctx context.Context) error {
	evicted, err := listen(ctx, f.node)
	if err != nil {
		return err
	}
	defer evicted.close()
	lost := evictedKeys{of: func(h Holding) []string { return f.world.keysOf(h, f.node) }}
	for now() < f.world.Until && ctx.Err() == nil {
		fresh, ok := f.world.freshHolder()
		if !ok {
			wait(ctx, lookEvery)
			continue
		}
		// A full server may evict the key at the very next write: only what it announces
		// after a look that came after the grant is certain to be this hold's.
		if fresh.Since <= evicted.since {
			if err := f.fill.more(ctx); err != nil {
				return err
			}
		}
		keys, since, err := evicted.look(ctx)
		if err != nil {
			return err
		}
		holders, err := f.world.holdings(Planned{Target: Holder})
		if err != nil {
			return err
		}
		if h, all, yes := lost.add(holders, keys, since); yes {
			f.proof = fmt.Sprintf("%s announced that it evicted %s; %s", f.node.Name(), strings.Join(all, ", "), h.inWords(f.world))
			return nil
		}
	}
	return errors.New("the key of no lock was evicted while its holder held it")
}

// Landed looks at the server's own figures.
func (f *memoryFault) Landed(ctx context.Context) (string, error) {
	seen, err := usageOf(ctx, f.node)
	if err != nil {
		return "", err
	}
	if f.plan.With["policy"] == noEviction {
		err := ask(ctx, f.node, "SET", probeKey, "1").Err()
		if err == nil {
			return "", errors.Join(fmt.Errorf("%s takes writes: %s", f.node.Name(), seen), ask(ctx, f.node, "DEL", probeKey).Err())
		}
		if !isOOM(err) {
			return "", err
		}
		return fmt.Sprintf("%s: %s", err, seen), nil
	}
	if seen.evicted <= f.begun.evicted || f.proof == "" {
		return "", fmt.Errorf("%s has not evicted the key of a lock: %s", f.node.Name(), seen)
	}
	return fmt.Sprintf("%s; %d keys were evicted: %s", f.proof, seen.evicted-f.begun.evicted, seen), nil
}

func (f *memoryFault) Recover(ctx context.Context) error {
	if f.fill == nil {
		return nil
	}
	return f.fill.undo(ctx)
}

// Recovered observes the old settings, and that no key of the fault's own is left.
func (f *memoryFault) Recovered(ctx context.Context) (string, error) {
	if f.node == nil {
		return "", nil
	}
	if f.fill != nil {
		if err := f.fill.gone(ctx); err != nil {
			return "", err
		}
	}
	seen, err := usageOf(ctx, f.node)
	if err == nil && (seen.limit != f.begun.limit || seen.policy != f.begun.policy) {
		err = fmt.Errorf("%s is not as it was (%s): %s", f.node.Name(), f.begun, seen)
	}
	return fmt.Sprintf("%s is as it was, and none of the fault's keys is left: %s", f.node.Name(), seen), err
}

// usage is what a server says of its memory.
type usage struct {
	used, limit, evicted int64 // bytes, bytes (0: no limit), keys
	policy               string
}

func (u usage) String() string {
	return fmt.Sprintf("%d bytes used of %d, policy %s, %d keys evicted since its start", u.used, u.limit, u.policy, u.evicted)
}

func usageOf(ctx context.Context, n topology.Node) (usage, error) {
	var u usage
	c := dial(n)
	defer func() { _ = c.Close() }() // it is only read from
	for _, section := range []string{"memory", "stats"} {
		info, err := c.Info(ctx, section).Result()
		if err != nil {
			return u, fmt.Errorf("INFO %s at %s: %w", section, n.Name(), err)
		}
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch name {
			case "used_memory":
				u.used, err = strconv.ParseInt(value, 10, 64)
			case "maxmemory":
				u.limit, err = strconv.ParseInt(value, 10, 64)
			case "evicted_keys":
				u.evicted, err = strconv.ParseInt(value, 10, 64)
			case "maxmemory_policy":
				u.policy = value
			}
			if err != nil {
				return u, fmt.Errorf("INFO %s at %s: %w", section, n.Name(), err)
			}
		}
	}
	return u, nil
}

// isOOM says whether the server refused a write because its memory is full.
func isOOM(err error) bool { return err != nil && strings.Contains(err.Error(), "OOM ") }
