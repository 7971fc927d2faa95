package harness

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/client"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/harness/topology"
)

// watch observes the servers from outside while the load runs: the role that each node
// has and whom each Sentinel takes for the primary (changes go into the record), how many
// connections there are, and how many commands were processed.
type watch struct {
	nodes  []topology.Node // the lock's and the Sentinels
	stock  topology.Node
	record func(history.Event)
	inside map[string]string // address by which nodes know each other → name
	number map[string]uint8  // of the lock nodes, as clients number them

	mu       sync.Mutex
	roles    map[string]string // as seen last
	before   map[string]int64  // commands processed when the load began
	commands int64             // during the load
	most     int               // connections
}

// Intervals of the watch.
const (
	watchEvery   = 100 * time.Millisecond
	watchTimeout = 500 * time.Millisecond // a node that does not answer by then is down
)

func newWatch(nodes []topology.Node, stock topology.Node, record func(history.Event)) *watch {
	w := &watch{nodes: nodes, stock: stock, record: record, inside: map[string]string{}, number: map[string]uint8{}, roles: map[string]string{}, before: map[string]int64{}}
	for _, n := range nodes {
		w.inside[n.Inside()] = n.Name()
		if n.Kind() == topology.LockNode && len(w.number) < int(history.LastServer) {
			w.number[n.Name()] = uint8(len(w.number) + 1)
		}
	}
	return w
}

// observer is a connection of the watch's own to one node. It does nothing twice.
func observer(n topology.Node) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: n.Addr(), PoolSize: 1, MaxRetries: -1, DialerRetries: 1, Protocol: 2, ContextTimeoutEnabled: true,
		DialTimeout: watchTimeout, ReadTimeout: watchTimeout, WriteTimeout: watchTimeout, DisableIdentity: true,
	})
}

// begin notes the counters when the load begins.
func (w *watch) begin(ctx context.Context) {
	w.each(ctx, func(n topology.Node, info map[string]string) {
		w.before[n.Name()] = number(info["total_commands_processed"])
	})
}

// end takes them again.
func (w *watch) end(ctx context.Context) {
	w.each(ctx, func(n topology.Node, info map[string]string) {
		now := number(info["total_commands_processed"])
		if now >= w.before[n.Name()] {
			now -= w.before[n.Name()] // else it was started anew, and counts from nothing
		}
		w.commands += now
	})
}

// each asks every lock node for its counters; one that does not answer counts nothing.
func (w *watch) each(ctx context.Context, see func(topology.Node, map[string]string)) {
	var all sync.WaitGroup
	for _, n := range w.nodes {
		if n.Kind() != topology.LockNode {
			continue
		}
		all.Go(func() {
			c := observer(n)
			defer c.Close()
			if info, err := c.Info(ctx, "stats").Result(); err == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				see(n, fields(info))
			}
		})
	}
	all.Wait()
}

// follow watches until ctx ends.
func (w *watch) follow(ctx context.Context) {
	var all sync.WaitGroup
	for _, n := range w.nodes {
		all.Go(func() { w.node(ctx, n) })
	}
	if w.stock.Kind() == topology.StockNode {
		all.Go(func() { w.node(ctx, w.stock) })
	}
	all.Wait()
}

func (w *watch) node(ctx context.Context, n topology.Node) {
	addr := n.Addr()
	c := observer(n)
	defer func() { _ = c.Close() }()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := n.Addr(); now != addr {
			_ = c.Close()
			addr, c = now, observer(n)
		}
		role, clients := w.look(ctx, n, c)
		if ctx.Err() != nil {
			return
		}
		w.saw(n, role)
		w.mu.Lock()
		w.most = max(w.most, clients)
		w.mu.Unlock()
	}
}

// look asks a node what it is.
func (w *watch) look(ctx context.Context, n topology.Node, c *redis.Client) (role string, clients int) {
	if n.Kind() == topology.SentinelNode {
		addr, err := c.Do(ctx, "sentinel", "get-master-addr-by-name", topology.SentinelMaster).StringSlice()
		if err != nil || len(addr) != 2 {
			return "down", 0
		}
		return "takes " + w.name(addr[0]+":"+addr[1]) + " for the primary", 0
	}
	text, err := c.Info(ctx, "replication", "clients").Result()
	if err != nil {
		return "down", 0
	}
	info := fields(text)
	clients = int(number(info["connected_clients"]))
	if info["role"] == "master" {
		return "primary", clients
	}
	return "replica of " + w.name(info["master_host"]+":"+info["master_port"]), clients
}

// saw records a role that differs from the one before.
func (w *watch) saw(n topology.Node, role string) {
	w.mu.Lock()
	changed := w.roles[n.Name()] != role
	w.roles[n.Name()] = role
	w.mu.Unlock()
	if changed && n.Kind() != topology.StockNode {
		w.record(history.Event{Time: history.Now(), Type: history.NodeRole, Client: -1, Worker: -1, Process: -1, Node: n.Name(), Server: w.number[n.Name()], Note: role})
	}
}

func (w *watch) name(inside string) string {
	if name, ok := w.inside[inside]; ok {
		return name
	}
	return inside
}

// observed is what was counted, once the clients have ended.
func (w *watch) observed(p *client.Pool) *store.Observed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &store.Observed{Commands: w.commands, MaxConnections: w.most, ClientCPUS: p.CPU().Seconds()}
}

// fields are the key:value lines of INFO.
func fields(info string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[key] = value
		}
	}
	return all
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0 // a field that this server does not have
	}
	return n
}
