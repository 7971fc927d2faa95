package locks_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// loss is what becomes of a command on its way.
type loss int

const (
	noLoss         loss = iota
	requestRefused      // the server answers with an error instead of executing it
	notSent             // it does not leave the client
	replyLost           // it is executed, and the reply is lost
	requestLost         // it is lost on its way; it could still arrive
)

// flaw fails the commands to one node.
type flaw struct {
	mu      sync.Mutex
	of      func(args []any) loss
	dropped [][]any
}

func (f *flaw) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *flaw) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f *flaw) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f.mu.Lock()
		l := noLoss
		if f.of != nil {
			l = f.of(cmd.Args())
		}
		if l == requestLost {
			f.dropped = append(f.dropped, cmd.Args())
		}
		f.mu.Unlock()
		var err error
		switch l {
		case noLoss:
			return next(ctx, cmd)
		case requestRefused:
			err = loading{}
		case notSent:
			err = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		case replyLost:
			_ = next(ctx, cmd) // whose outcome nobody hears of
			err = io.EOF
		case requestLost:
			err = io.EOF
		}
		cmd.SetErr(err)
		return err
	}
}

// losing fails commands from now on; nil ends that.
func (f *flaw) losing(of func(args []any) loss) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of = of
}

// arrived returns the dropped commands, for a test that lets them arrive late.
func (f *flaw) arrived() [][]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.dropped
	f.dropped = nil
	return all
}

// commands loses those of that name.
func commands(l loss, names ...string) func([]any) loss {
	return func(args []any) loss {
		if slices.Contains(names, strings.ToLower(fmt.Sprint(args[0]))) {
			return l
		}
		return noLoss
	}
}

// evals are the names under which scripts are sent.
func evals() []string { return []string{"evalsha", "eval"} }

// cluster is several servers with what the tests of locks need around them. All of their
// commands are on one wire.
type cluster struct {
	t       *testing.T
	servers []*redistest.Server
	clients []redis.UniversalClient
	plain   []*redis.Client // without wire and flaw
	flaws   []*flaw
	durable redis.UniversalClient // a server of its own
	fault   *flaw                 // of the durable server
	wire    *wire
	clock   *clock
	keys    int
}

func newCluster(t *testing.T, nodes int, options ...func(*redis.Options)) *cluster {
	t.Helper()
	c := &cluster{t: t, wire: newWire(t), clock: &clock{}}
	for i := range nodes + 1 {
		s, f := redistest.Start(t), &flaw{}
		client, plain := s.Client(options...), s.Client()
		client.AddHook(c.wire)
		client.AddHook(f)
		c.load(plain)
		if i == nodes {
			c.durable, c.fault = client, f
			break
		}
		c.servers, c.clients = append(c.servers, s), append(c.clients, client)
		c.plain, c.flaws = append(c.plain, plain), append(c.flaws, f)
	}
	return c
}

// load loads the scripts of these tests' locks, so that EVALSHA is not followed by EVAL.
func (c *cluster) load(client *redis.Client) {
	c.t.Helper()
	for _, file := range []string{
		"compare_and_delete.lua", "fenced_acquire.lua", "pubsub_acquire.lua", "pubsub_release.lua",
		"reentrant_acquire.lua", "reentrant_release.lua", "reentrant_renew.lua",
		"reentrant_acquire_once.lua", "reentrant_release_once.lua",
	} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = client.ScriptLoad(c.t.Context(), string(text)).Err()
		}
		if err != nil {
			c.t.Fatalf("load %s: %v", file, err)
		}
	}
}

// config is a handle's, on a lock name of its own.
func (c *cluster) config() locks.Config {
	c.keys++
	return locks.Config{
		Nodes: c.clients, Durable: c.durable, Name: fmt.Sprintf("goods:%d", c.keys), User: "user-1",
		Clock: c.clock, Rand: rand.New(rand.NewPCG(1, 2)),
	}
}

// losing fails commands to all nodes; nil ends that.
func (c *cluster) losing(of func([]any) loss) {
	for _, f := range c.flaws {
		f.losing(of)
	}
}

// values are what the nodes hold under a key; empty: nothing.
func (c *cluster) values(key string) []string {
	c.t.Helper()
	out := make([]string, len(c.plain))
	for i, p := range c.plain {
		v, err := p.Get(c.t.Context(), key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			c.t.Fatalf("read %s on node %d: %v", key, i, err)
		}
		out[i] = v
	}
	return out
}

// everything is all that the lock nodes hold, as text.
func (c *cluster) everything() string {
	c.t.Helper()
	var out []string
	for i, p := range c.plain {
		keys, err := p.Keys(c.t.Context(), "*").Result()
		if err != nil {
			c.t.Fatal(err)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = append(out, fmt.Sprintf("%d %s %q", i, k, p.Dump(c.t.Context(), k).Val()))
		}
	}
	return strings.Join(out, "\n")
}

// replicate makes the nodes behind the first its replicas, and returns when they follow.
func (c *cluster) replicate() {
	c.t.Helper()
	ctx := c.t.Context()
	if err := c.plain[0].ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err(); err != nil {
		c.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(c.servers[0].Addr)
	for _, p := range c.plain[1:] {
		if err := p.ReplicaOf(ctx, host, port).Err(); err != nil {
			c.t.Fatal(err)
		}
	}
	want := int64(len(c.plain) - 1)
	// The first acknowledgement may be that of the full copy: a replica hears the stream of
	// commands only after it, and answers promptly from the second on.
	for range 2 {
		redistest.Eventually(c.t, 20*time.Second, "the replicas acknowledge a write", func() bool {
			conn := c.plain[0].Conn()
			defer conn.Close()
			return conn.Set(ctx, "replicated", 1, 0).Err() == nil && conn.Wait(ctx, int(want), 5*time.Second).Val() == want
		})
	}
	c.plain[0].Del(ctx, "replicated")
	c.clients, c.plain, c.flaws = c.clients[:1], c.plain[:1], c.flaws[:1]
}

// hash is the name by which a script is called.
func hash(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(text)
	return hex.EncodeToString(sum[:])
}

// patient is a context that ends when the test should have been over long ago.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
