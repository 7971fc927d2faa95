package harness

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"picklock/harness/topology"
)

// checkAddrs checks what is asked of servers that are already there (--addr): a lock node
// each, the stock on the first, every key under a prefix of the run.
func checkAddrs(o *Options) error {
	t := &o.Test
	if len(t.Addrs) == 0 {
		return nil
	}
	for _, a := range t.Addrs {
		host, port, err := net.SplitHostPort(a)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 || host == "" {
			return usage("--addr must be host:port, such as 127.0.0.1:6379, not %q", a)
		}
	}
	switch {
	case t.Topology == "failover":
		return usage("--addr works on the topologies single and redlock: picklock does not follow Sentinels that are not its own")
	case t.Topology == "single" && len(t.Addrs) > 1:
		return usage("--addr was given %d times, but topology single has one server; several are --topology redlock", len(t.Addrs))
	case t.Topology == "redlock" && len(t.Addrs) != t.Nodes:
		return usage("--addr was given %d times for a redlock of %d nodes: give one for each, and --nodes", len(t.Addrs), t.Nodes)
	case len(t.Config) > 0:
		return usage("--config is not possible with --addr: the servers are not picklock's")
	case t.Server != "":
		return usage("--server is not possible with --addr: the servers are there already")
	}
	t.StockOn, t.Prefix, t.Runtime = "lock", "picklock:"+t.Run+":", "given"
	o.Access.Addrs = t.Addrs
	return nil
}

// Runtime is the runtime that the options ask for, and in a line what was taken and why.
func Runtime(ctx context.Context, o Options) (topology.Runtime, string, error) {
	if len(o.Addrs) > 0 {
		return topology.NewGiven(o.Access), fmt.Sprintf("servers given: %s, keys under %s", list(o.Addrs), o.Prefix), nil
	}
	return topology.Select(ctx, o.Runtime, topology.DockerOptions{Image: o.Image, Reach: topology.Reach(o.Reach)})
}

// clearKeys removes every key under the prefix from a server that is not picklock's.
func clearKeys(ctx context.Context, n topology.Node, prefix string) error {
	c := observer(n)
	defer c.Close()
	it := c.Scan(ctx, 0, escapeGlob(prefix)+"*", clearBatch).Iterator()
	for it.Next(ctx) {
		if err := c.Unlink(ctx, it.Val()).Err(); err != nil {
			return fmt.Errorf("remove the keys under %s from %s: %w", prefix, n.Inside(), err)
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("remove the keys under %s from %s: %w", prefix, n.Inside(), err)
	}
	return nil
}

// clearBatch is how many keys a server looks at for one answer.
const clearBatch = 1000

// escapeGlob takes the meaning from the signs of a pattern.
func escapeGlob(s string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`).Replace(s)
}
