package client

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"picklock/harness/topology"
)

// connectAll makes the clients for the lock's servers and the stock's.
func (p *process) connectAll() {
	if len(p.cfg.Sentinels) > 0 {
		redis.SetOTelRecorder(answers{})
		p.nodes = []redis.UniversalClient{p.follow()}
	} else {
		for _, node := range p.cfg.Locks {
			p.nodes = append(p.nodes, p.connect(node, lockPool))
		}
	}
	p.stock = p.connect(p.cfg.Stock, max(10, 2*p.cfg.Workers))
}

// lockPool bounds the connections to a lock node. No worker needs more than a few; but
// after as many failed dials in a row as the pool is large, go-redis answers from memory
// for up to a second, and a client would find out that much later than its neighbour that
// a server is back.
const lockPool = 4096

// dial connects to a node, by its name or by the address at which other nodes know it,
// which is what Sentinels tell. Where it is reached is looked up anew each time, since a
// published port changes when its container restarts, and leads over the wire if the test
// has one.
func (p *process) dial(ctx context.Context, network, node string) (net.Conn, error) {
	if name, ok := p.cfg.Aliases[node]; ok {
		node = name
	}
	addr, ok := p.addrs.Load(node)
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%q is no node of this test", node)}
	}
	d := net.Dialer{Timeout: p.cfg.RedisTimeout}
	conn, err := d.DialContext(ctx, network, addr.(string))
	if err != nil {
		return nil, err
	}
	return p.numbered(conn, node), nil
}

// connect makes the client for one node. Hidden retries are off, and a reply is waited
// for no longer than the test says.
func (p *process) connect(node string, pool int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: node, Dialer: p.dial,
		DialerRetries:         1,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		DialTimeout:           p.cfg.RedisTimeout,
		ReadTimeout:           p.cfg.RedisTimeout,
		WriteTimeout:          p.cfg.RedisTimeout,
		PoolTimeout:           p.cfg.RedisTimeout,
		PoolSize:              pool,
		DisableIdentity:       true,
		// No extra commands on the connection that the record does not know of.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// follow makes the client that asks the Sentinels who is primary. Like connect, it does
// nothing twice behind the lock's back.
func (p *process) follow() *redis.Client {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: topology.SentinelMaster, SentinelAddrs: p.cfg.Sentinels, Dialer: p.dial,
		DialerRetries:         1,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		DialTimeout:           p.cfg.RedisTimeout,
		ReadTimeout:           p.cfg.RedisTimeout,
		WriteTimeout:          p.cfg.RedisTimeout,
		PoolTimeout:           p.cfg.RedisTimeout,
		PoolSize:              lockPool,
		DisableIdentity:       true,
	})
}
