package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// pingPeriod is how often a Sentinel pings, and tries to reach, who is away. It must stay
// well above 200 ms: when a primary is down, a Sentinel looks at the replicas only once a
// second, and promotes none that it has not looked at within five of these periods.
const pingPeriod = 400 * time.Millisecond

// lookPeriod is how often a Sentinel looks around and says hello. It takes four of these
// until an old primary that came back is led to the new one.
const lookPeriod = 500 * time.Millisecond

// A Sentinel whose own timer is late by tiltTrigger, because the machine stood still or its
// clock jumped, does nothing for a tiltPeriod but ping: what it takes for a dead node may
// be its own absence. Redis has 2 s and 30 s for that: too long to save one with less than
// a second of patience, and then too long for a test to wait.
const (
	tiltTrigger = 400 * time.Millisecond
	tiltPeriod  = time.Second
)

// tuneSentinel scales a Sentinel's periods to its patience, as production has them: with
// 30 s of patience it says hello each 2 s and looks around each 10 s. Left so, a Sentinel
// with less than a second of patience would lead an old primary back only after ten. The
// periods are no configuration: each start of a Sentinel needs them anew. The period of
// asking the others about a primary stays at a second: asked more often, all would find
// out at once that it is down, and each would vote for itself.
func tuneSentinel(ctx context.Context, c *redis.Client) error {
	err := c.Do(ctx, "SENTINEL", "DEBUG",
		"PING-PERIOD", millis(pingPeriod), "INFO-PERIOD", millis(lookPeriod), "PUBLISH-PERIOD", millis(lookPeriod),
		"TILT-TRIGGER", millis(tiltTrigger), "TILT-PERIOD", millis(tiltPeriod)).Err()
	if err != nil {
		return fmt.Errorf("set a Sentinel's periods (it takes Redis 7 or Valkey): %w", err)
	}
	return nil
}

// sentinelReady says whether a Sentinel answers and knows, from its configuration, a
// primary and as many replicas and other Sentinels as there are. Whether they live is
// another matter: see AwaitSentinels.
func sentinelReady(replicas, others int) readiness {
	return func(ctx context.Context, c *redis.Client) error {
		if err := tuneSentinel(ctx, c); err != nil {
			return err
		}
		w, err := askSentinel(ctx, c)
		if err != nil {
			return err
		}
		if len(w.replicas) < replicas || len(w.sentinels) < others {
			return fmt.Errorf("it knows %d replicas and %d other Sentinels, of %d and %d", len(w.replicas), len(w.sentinels), replicas, others)
		}
		return nil
	}
}

// watched is what a Sentinel sees. The fields are those of SENTINEL MASTER and its kin.
type watched struct {
	primary             map[string]string
	replicas, sentinels []map[string]string
}

func askSentinel(ctx context.Context, c *redis.Client) (watched, error) {
	primary := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", SentinelMaster)
	replicas := redis.NewMapStringStringSliceCmd(ctx, "SENTINEL", "REPLICAS", SentinelMaster)
	sentinels := redis.NewMapStringStringSliceCmd(ctx, "SENTINEL", "SENTINELS", SentinelMaster)
	for _, cmd := range []redis.Cmder{primary, replicas, sentinels} {
		if err := c.Process(ctx, cmd); err != nil {
			return watched{}, err
		}
	}
	return watched{primary.Val(), replicas.Val(), sentinels.Val()}, nil
}

// wrong says what keeps a Sentinel from seeing a topology that is all well, with its
// primary at the address inside; nil when nothing does.
func (w watched) wrong(inside string, replicas, others int) error {
	if at := addrOf(w.primary); at != inside {
		return fmt.Errorf("it takes %s for the primary", at)
	}
	if f := w.primary["flags"]; f != "master" {
		return fmt.Errorf("the primary is %q", f)
	}
	if len(w.replicas) != replicas || len(w.sentinels) != others {
		return fmt.Errorf("it knows %d replicas and %d other Sentinels, of %d and %d", len(w.replicas), len(w.sentinels), replicas, others)
	}
	for _, r := range w.replicas {
		of := net.JoinHostPort(r["master-host"], r["master-port"])
		if r["flags"] != "slave" || r["master-link-status"] != "ok" || of != inside {
			return fmt.Errorf("the replica %s is %q, of %s, its link is %q", addrOf(r), r["flags"], of, r["master-link-status"])
		}
	}
	for _, s := range w.sentinels {
		if s["flags"] != "sentinel" {
			return fmt.Errorf("the Sentinel %s is %q", addrOf(s), s["flags"])
		}
	}
	return nil
}

func addrOf(instance map[string]string) string {
	return net.JoinHostPort(instance["ip"], instance["port"])
}

// AwaitSentinels waits until every Sentinel among nodes finds all well: primary, one of
// nodes, is the primary, every other lock node its replica with a live link, and the other
// Sentinels are up. It waits no longer than ReadyTimeout. A dead or cut node is not well.
func AwaitSentinels(ctx context.Context, primary Node, nodes []Node) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	var sentinels []Node
	replicas := -1 // all lock nodes but the primary
	for _, n := range nodes {
		switch n.Kind() {
		case SentinelNode:
			sentinels = append(sentinels, n)
		case LockNode:
			replicas++
		}
	}
	return each(sentinels, func(s Node) error {
		c := dialOnce(s.Addr())
		defer c.Close()
		var last error
		err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
			w, err := askSentinel(ctx, c)
			if err == nil {
				err = w.wrong(primary.Inside(), replicas, len(sentinels)-1)
			}
			if err != nil && ctx.Err() == nil {
				last = err
			}
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("wait for %s to find all well under %s: %w (seen last: %w)", s.Name(), primary.Name(), err, last)
		}
		return nil
	})
}

// SentinelsPrimary asks a Sentinel which node of nodes it takes for the primary now.
func SentinelsPrimary(ctx context.Context, sentinel Node, nodes []Node) (Node, error) {
	c := dialOnce(sentinel.Addr())
	defer c.Close()
	at, err := c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelMaster).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("ask %s for the primary: %w", sentinel.Name(), err)
	}
	inside := strings.Join(at, ":")
	for _, n := range nodes {
		if n.Inside() == inside {
			return n, nil
		}
	}
	return nil, fmt.Errorf("ask %s for the primary: %w", sentinel.Name(), errors.New(inside+" is none of the nodes"))
}
