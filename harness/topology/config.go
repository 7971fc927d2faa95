package topology

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// configName is the file in a node's data directory that it is started with. It is written
// once, before the first start; from then on it is the server's own, as in production:
// Sentinel and CONFIG REWRITE change it, and a restarted node comes back as it says.
const configName = "node.conf"

// site is where a node is, in the words of its own configuration.
type site struct {
	bind string // the address that it listens on
	ip   string // the address by which the other nodes know it
	port string
	dir  string // its data directory, as the server itself sees it
	from string // the address from which it connects to others; empty: the kernel's choice
}

// config builds a configuration file.
type config struct{ strings.Builder }

// add writes one directive. Its arguments are quoted, so that an empty one or one with
// spaces stays one.
func (c *config) add(directive string, args ...string) {
	c.WriteString(directive)
	for _, a := range args {
		c.WriteString(` "`)
		c.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(a))
		c.WriteString(`"`)
	}
	c.WriteString("\n")
}

// configOf is the file of a node of the plan. All nodes' sites are known by name.
func configOf(p Plan, n NodeSpec, sites map[string]site) string {
	var c config
	at := sites[n.Name]
	c.add("bind", at.bind)
	c.add("port", at.port)
	c.add("dir", at.dir)
	c.add("protected-mode", "no")
	c.add("daemonize", "no")
	// With a process title of its own a server would write over its environment, which is
	// where a sweep finds the owner of a process.
	c.add("set-proc-title", "no")
	if at.from != "" {
		c.add("bind-source-addr", at.from)
	}
	if n.Kind == SentinelNode {
		sentinelConfig(&c, p, n, sites)
	} else {
		serverConfig(&c, n, sites)
	}
	// The node's own come last: a server takes the last word.
	for i := 0; i < len(n.Args); {
		directive := strings.TrimPrefix(n.Args[i], "--")
		next := i + 1
		for next < len(n.Args) && !strings.HasPrefix(n.Args[next], "--") {
			next++
		}
		c.add(directive, n.Args[i+1:next]...)
		i = next
	}
	return c.String()
}

// serverConfig is for nodes that keep data. A primary must not wait before it syncs a
// replica, or WAIT answers 0 long after the replica is connected.
func serverConfig(c *config, n NodeSpec, sites map[string]site) {
	c.add("save", "") // a snapshot would save a node that should lose everything
	if n.Persistence == PersistNone {
		c.add("appendonly", "no")
	} else {
		c.add("appendonly", "yes")
		c.add("appendfsync", string(n.Persistence))
	}
	c.add("repl-diskless-sync-delay", "0")
	if n.ReplicaOf != "" {
		primary := sites[n.ReplicaOf]
		c.add("replicaof", primary.ip, primary.port)
	}
}

// quorum is how many Sentinels must find the primary down.
const quorum = 2

// sentinelConfig is for Sentinels. What they would find out about each other and about the
// replicas within some seconds is told them: it is what they would write here themselves.
func sentinelConfig(c *config, p Plan, n NodeSpec, sites map[string]site) {
	at, primary := sites[n.Name], sites[n.Watches]
	c.add("sentinel myid", sentinelID(p, n))
	c.add("sentinel announce-ip", at.ip)
	c.add("sentinel announce-port", at.port)
	c.add("sentinel monitor", SentinelMaster, primary.ip, primary.port, strconv.Itoa(quorum))
	c.add("sentinel down-after-milliseconds", SentinelMaster, millis(p.DownAfter))
	c.add("sentinel failover-timeout", SentinelMaster, millis(p.FailoverTimeout))
	c.add("sentinel parallel-syncs", SentinelMaster, strconv.Itoa(max(1, len(p.replicasOf(n.Watches)))))
	for _, r := range p.replicasOf(n.Watches) {
		c.add("sentinel known-replica", SentinelMaster, sites[r.Name].ip, sites[r.Name].port)
	}
	for _, s := range p.sentinelsOf(n.Watches) {
		if s.Name != n.Name {
			c.add("sentinel known-sentinel", SentinelMaster, sites[s.Name].ip, sites[s.Name].port, sentinelID(p, s))
		}
	}
}

// sentinelID is forty hex digits, as Sentinels want them, and the same at each call.
func sentinelID(p Plan, n NodeSpec) string {
	id := sha1.Sum([]byte(p.Run + "/" + n.Name))
	return hex.EncodeToString(id[:])
}
