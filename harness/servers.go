package harness

import (
	"fmt"
	"slices"
	"strings"

	"picklock/docker"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/nemesis"
)

// arrangement is one topology: a row of the registry.
type arrangement struct {
	name, summary string
	// fill completes and checks what only this topology has.
	fill  func(t *store.Test) error
	nodes func(t *store.Test, p topology.Persistence) []topology.NodeSpec
}

func arrangements() []arrangement {
	return []arrangement{
		{"single", "one Redis for the lock, and one for the stock that no fault touches",
			func(*store.Test) error { return nil },
			func(t *store.Test, p topology.Persistence) []topology.NodeSpec { return topology.Single(t.StockOn, p) }},
		{"failover", "a primary with --replicas replicas and three Sentinels; clients follow the primary",
			fillFailover,
			func(t *store.Test, p topology.Persistence) []topology.NodeSpec {
				return topology.Failover(t.Replicas, t.StockOn, p)
			}},
		{"redlock", "--nodes independent primaries (5, or 3)",
			fillRedlock,
			func(t *store.Test, p topology.Persistence) []topology.NodeSpec {
				return topology.Redlock(t.Nodes, t.StockOn, p)
			}},
	}
}

func fillFailover(t *store.Test) error {
	if t.Replicas == 0 {
		t.Replicas = 2
	}
	if t.Replicas < 1 || t.Replicas > 8 {
		return usage("--replicas must be 1 to 8, not %d", t.Replicas)
	}
	return noSharedStock(t)
}

func fillRedlock(t *store.Test) error {
	if t.Nodes == 0 {
		t.Nodes = 5
	}
	if t.Nodes != 3 && t.Nodes != 5 {
		return usage("--nodes must be 3 or 5, not %d", t.Nodes)
	}
	return noSharedStock(t)
}

// noSharedStock: where there are several lock nodes, the stock cannot be on "the" one.
func noSharedStock(t *store.Test) error {
	if t.StockOn == "lock" && len(t.Addrs) == 0 {
		return usage("--stock-on lock works on topology single only; on %s the stock has a node of its own", t.Topology)
	}
	return nil
}

// Topologies lists the topologies, with a line on each.
func Topologies() [][2]string {
	var all [][2]string
	for _, a := range arrangements() {
		all = append(all, [2]string{a.name, a.summary})
	}
	return all
}

func topologyNames() []string { return names(Topologies(), func(t [2]string) string { return t[0] }) }

func findArrangement(name string) (arrangement, bool) {
	all := arrangements()
	at := slices.IndexFunc(all, func(a arrangement) bool { return a.name == name })
	if at < 0 {
		return arrangement{}, false
	}
	return all[at], true
}

// checkTopology completes what the topology needs and checks that the lock runs on it.
func checkTopology(t *store.Test, m locks.Meta) error {
	a, ok := findArrangement(t.Topology)
	if !ok {
		return unknown("topology", t.Topology, topologyNames())
	}
	if !contains(m.Topologies, t.Topology) {
		return usage("the lock %s does not run on topology %s, but on: %s", m.Name, t.Topology, list(m.Topologies))
	}
	for flag, given := range map[string]bool{
		"--replicas": t.Replicas != 0 && t.Topology != "failover", "--nodes": t.Nodes != 0 && t.Topology != "redlock",
	} {
		if given {
			return usage("%s has no meaning on topology %s", flag, t.Topology)
		}
	}
	if t.Server != "" {
		if _, err := docker.TagFor(t.Server); err != nil {
			return usage("--server: %s", err)
		}
	}
	if err := checkConfig(t.Config); err != nil {
		return err
	}
	return a.fill(t)
}

// checkConfig refuses what would break the harness' own arrangements.
func checkConfig(config []string) error {
	ours := []string{"bind", "port", "dir", "daemonize", "replicaof", "slaveof", "sentinel", "requirepass", "appendonly", "save", "unixsocket", "tls-port"}
	for _, c := range config {
		f := strings.Fields(c)
		if len(f) < 2 {
			return usage("--config takes a line of redis.conf, such as \"min-replicas-to-write 1\", not %q", c)
		}
		if contains(ours, strings.ToLower(f[0])) {
			return usage("--config cannot set %s: picklock sets it", f[0])
		}
	}
	return nil
}

// nodes are the servers to start for the test.
func nodes(t *store.Test) []topology.NodeSpec {
	a, _ := findArrangement(t.Topology) // Plan has looked
	all := a.nodes(t, topology.Persistence(t.Persistence))
	for i := range all {
		if all[i].Kind != topology.LockNode {
			continue
		}
		for _, c := range t.Config {
			f := strings.Fields(c)
			all[i].Args = append(all[i].Args, "--"+strings.ToLower(f[0]))
			all[i].Args = append(all[i].Args, f[1:]...)
		}
	}
	return all
}

// needs is what all faults of the test together need.
func needs(t *store.Test) nemesis.Needs {
	var all nemesis.Needs
	for _, p := range t.Schedule {
		k, ok := nemesis.Find(p.Kind)
		if !ok {
			continue
		}
		all.Wire = all.Wire || k.Needs.Wire || onWire(p, k)
		all.Servers = all.Servers || k.Needs.Servers
		all.Cuts = all.Cuts || k.Needs.Cuts
		all.Shim = all.Shim || k.Needs.Shim
	}
	return all
}

// onWire: the fault's trigger is a frame on the wire.
func onWire(p store.Planned, k nemesis.Kind) bool {
	on := p.On
	if on == "" {
		on = k.On
	}
	return strings.HasPrefix(on, "before ") || strings.HasPrefix(on, "after ")
}

// bearable says in one line why the topology cannot bear a fault of the kind; empty: it can.
func bearable(t *store.Test, k nemesis.Kind) string {
	lockNodes, replicas := 1, 0
	switch t.Topology {
	case "failover":
		lockNodes, replicas = 1+t.Replicas, t.Replicas
	case "redlock":
		lockNodes = t.Nodes
	}
	switch {
	case k.Needs.Servers && len(t.Addrs) > 0:
		return "it would lay hands on servers that are not picklock's (--addr): only faults of clients and of the wire can be done to these"
	case k.Needs.Replicas > replicas:
		return fmt.Sprintf("it needs %d or more replicas (--topology failover --replicas %d)", k.Needs.Replicas, k.Needs.Replicas)
	case k.Needs.Nodes > lockNodes:
		return fmt.Sprintf("it needs %d or more lock nodes (--topology failover or redlock)", k.Needs.Nodes)
	}
	return ""
}
