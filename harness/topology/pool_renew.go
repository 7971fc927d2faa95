package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of the renewal of a cluster.
const (
	renewWithin = 3 * time.Second // for connections to go and replicas to catch up
	// replicaWithin is what replicas may take to follow, less than a connection waits.
	replicaWithin = 900 * time.Millisecond
	// logGrowth is how long an append-only file may have become. It grows from test to test,
	// and a server rewrites it at 64 MB: that would be a pause in some later test that no new
	// server has.
	logGrowth = 16 << 20
	// clockBound is how far a clock may be from the true time: no fault moves one by less.
	clockBound = 100 * time.Millisecond
)

// prints are what a node has of its own that no test may change: field → value.
type prints map[string]string

// renew makes the cluster as it was when it was new, and makes sure that it is: the same
// processes run, in the same roles, with the same configuration, users and functions, at
// the true time; nobody is connected but the nodes to each other; all keys and scripts are
// gone, on replicas too. It is as if nobody had been there, but for the run's length and
// the append-only file. The error says why it is not.
func (c *pooled) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	// What a client sent before it ended may still be carried out until its connection is
	// gone.
	if err := c.eachServer(ctx, alone); err != nil {
		return err
	}
	err := c.eachServer(ctx, func(ctx context.Context, n Node, r *redis.Client) error {
		if n.Kind() == SentinelNode {
			return nil
		}
		commands := [][]any{{"SCRIPT", "FLUSH", "SYNC"}, {"CONFIG", "RESETSTAT"}, {"SLOWLOG", "RESET"}}
		if spec, _ := c.shape.spec(n.Name()); spec.ReplicaOf == "" {
			commands = append(commands, []any{"FLUSHALL", "SYNC"}, []any{"FUNCTION", "FLUSH", "SYNC"})
		}
		for _, cmd := range commands {
			if err := r.Do(ctx, cmd...).Err(); err != nil {
				return fmt.Errorf("%v: %w", cmd, err)
			}
		}
		if replicas := len(c.shape.replicasOf(n.Name())); replicas > 0 {
			// Offsets would not do: they move on with each word that Sentinels publish.
			if got, err := r.Wait(ctx, replicas, replicaWithin).Result(); err != nil || int(got) < replicas {
				return fmt.Errorf("%d of %d replicas have followed it (error %v)", got, replicas, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.verify(ctx)
}

// verify makes sure that the cluster is as it was when it was new. The error says in what
// it is not.
func (c *pooled) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	now, err := printsOf(ctx, c.nodes)
	if err != nil {
		return err
	}
	for i, was := range c.new {
		for _, field := range slices.Sorted(maps.Keys(was)) {
			if was[field] != now[i][field] {
				return fmt.Errorf("node %s: %s was %q and is %q", c.nodes[i].Name(), field, was[field], now[i][field])
			}
		}
		if len(was) != len(now[i]) {
			return fmt.Errorf("node %s: it has %d settings, and had %d", c.nodes[i].Name(), len(now[i]), len(was))
		}
	}
	if err := c.eachServer(ctx, c.blank); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if ahead, _, err := n.Clock(ctx); err != nil {
			return err
		} else if ahead.Abs() > clockBound {
			return fmt.Errorf("node %s: its clock is %s from the true time", n.Name(), ahead)
		}
		if n.Kind() == LockNode && len(c.shape.sentinelsOf(n.Name())) > 0 {
			if err := AwaitSentinels(ctx, n, c.shape.group(n, c.nodes)); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachServer asks all nodes side by side, each through a connection of its own.
func (c *pooled) eachServer(ctx context.Context, ask func(context.Context, Node, *redis.Client) error) error {
	return each(c.nodes, func(n Node) error {
		r := dialOnce(n.Addr())
		defer r.Close()
		if err := ask(ctx, n, r); err != nil {
			return fmt.Errorf("node %s: %w", n.Name(), err)
		}
		return nil
	})
}

// alone waits until nobody is connected but other nodes, and the caller.
func alone(ctx context.Context, _ Node, r *redis.Client) error {
	var who string
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		list, err := r.Do(ctx, "CLIENT", "LIST").Text()
		if err != nil {
			return false, err
		}
		who = ""
		strangers := 0
		for line := range strings.Lines(list) {
			f := map[string]string{}
			for _, word := range strings.Fields(line) {
				key, value, _ := strings.Cut(word, "=")
				f[key] = value
			}
			node := strings.ContainsAny(f["flags"], "SM") || strings.HasPrefix(f["name"], "sentinel-")
			if !node {
				who, strangers = f["addr"]+" "+f["cmd"], strangers+1
			}
		}
		return strangers <= 1, nil // we are one
	})
	if err != nil && who != "" {
		err = fmt.Errorf("somebody is still connected: %s (%w)", who, err)
	}
	return err
}

// blank waits until a node that keeps data has none, is busy with nothing, and replicates
// as it should.
func (c *pooled) blank(ctx context.Context, n Node, r *redis.Client) error {
	if n.Kind() == SentinelNode {
		return nil
	}
	var last error
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		info := map[string]string{}
		for _, section := range []string{"keyspace", "persistence", "replication"} {
			part, err := infoOf(ctx, r, section)
			if err != nil {
				return false, err
			}
			maps.Copy(info, part)
		}
		last = c.unsettled(n, info)
		return last == nil, nil
	})
	if err != nil && last != nil {
		err = fmt.Errorf("%w (%w)", last, err)
	}
	return err
}

// unsettled says what INFO shows that a new node does not.
func (c *pooled) unsettled(n Node, info map[string]string) error {
	for field, value := range info {
		if strings.HasPrefix(field, "db") && strings.HasPrefix(value, "keys=") {
			return fmt.Errorf("%s has %s", field, value)
		}
	}
	for _, busy := range []string{"loading", "rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"} {
		if v := info[busy]; v != "" && v != "0" {
			return fmt.Errorf("%s is %s", busy, v)
		}
	}
	if size, err := strconv.ParseInt(info["aof_current_size"], 10, 64); err == nil && size > logGrowth {
		return fmt.Errorf("its append-only file has %d bytes, more than %d", size, int64(logGrowth))
	}
	replicas := len(c.shape.replicasOf(n.Name()))
	if online := onlineReplicas(info); online != replicas {
		return fmt.Errorf("%d replicas are online, not %d", online, replicas)
	}
	if link := info["master_link_status"]; link != "" && link != "up" {
		return fmt.Errorf("its link to the primary is %s", link)
	}
	return nil
}

// printsOf takes the prints of all nodes.
func printsOf(ctx context.Context, nodes []Node) ([]prints, error) {
	all := make([]prints, len(nodes))
	at := map[Node]int{}
	for i, n := range nodes {
		at[n] = i
	}
	return all, each(nodes, func(n Node) error {
		state, proof, err := n.State(ctx)
		if err == nil && state != Running {
			err = errors.New(proof)
		}
		var p prints
		if err == nil {
			p, err = printOf(ctx, n)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name(), err)
		}
		all[at[n]] = p
		return nil
	})
}

func printOf(ctx context.Context, n Node) (prints, error) {
	r := dialOnce(n.Addr())
	defer r.Close()
	p := prints{"inside": n.Inside()}
	info, err := infoOf(ctx, r, "server")
	if err != nil {
		return nil, err
	}
	p["run_id"], p["process_id"] = info["run_id"], info["process_id"]
	if n.Kind() == SentinelNode {
		return p, p.sentinel(ctx, r)
	}
	if info, err = infoOf(ctx, r, "replication"); err != nil {
		return nil, err
	}
	// The id of the data's history changes with each promotion.
	p["role"], p["replication id"], p["earlier id"] = info["role"], info["master_replid"], info["master_replid2"]
	if host := info["master_host"]; host != "" {
		p["replica of"] = net.JoinHostPort(host, info["master_port"])
	}
	settings, err := r.ConfigGet(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	for name, value := range settings {
		p["setting "+name] = value
	}
	users, err := r.Do(ctx, "ACL", "LIST").StringSlice()
	if err != nil {
		return nil, err
	}
	p["users"] = strings.Join(users, "; ")
	return p, nil
}

// sentinel adds what a Sentinel has: whom it watches, and the number of the last election
// that it knows of.
func (p prints) sentinel(ctx context.Context, r *redis.Client) error {
	w, err := askSentinel(ctx, r)
	if err != nil {
		return err
	}
	for _, field := range []string{"runid", "config-epoch", "num-slaves", "num-other-sentinels", "quorum", "down-after-milliseconds", "failover-timeout", "parallel-syncs"} {
		p["primary's "+field] = w.primary[field]
	}
	p["primary"] = addrOf(w.primary)
	settings := redis.NewMapStringStringCmd(ctx, "SENTINEL", "CONFIG", "GET", "*")
	if err := r.Process(ctx, settings); err != nil {
		return err
	}
	for name, value := range settings.Val() {
		p["setting "+name] = value
	}
	return nil
}
