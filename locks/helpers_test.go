package locks_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// clock is real time whose sleeps are written down.
type clock struct {
	mu     sync.Mutex
	sleeps []time.Duration
	asleep func(n int) // called at the n-th sleep, from 1; nil: nothing
}

func (c *clock) Now() time.Time { return time.Now() }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.sleeps = append(c.sleeps, d)
	n, asleep := len(c.sleeps), c.asleep
	c.mu.Unlock()
	if asleep != nil {
		asleep(n)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *clock) slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sleeps)
}

// wire writes down the commands that a client sends, readable: scripts by their file,
// the rest as it is.
type wire struct {
	scripts map[string]string      // source or SHA-1 → file
	fail    func(args []any) error // in place of sending the command
	lose    func(args []any) bool  // the server executes the command, its answer is lost
	mu      sync.Mutex
	lines   []string
}

func newWire(t *testing.T) *wire {
	t.Helper()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the scripts: %v %v", files, err)
	}
	w := &wire{scripts: map[string]string{}}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha1.Sum(text)
		w.scripts[string(text)], w.scripts[hex.EncodeToString(sum[:])] = f, f
	}
	return w
}

func (w *wire) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		words := make([]string, len(cmd.Args()))
		for i, a := range cmd.Args() {
			words[i] = strings.TrimSpace(fmt.Sprint(a))
			if f := w.scripts[fmt.Sprint(a)]; f != "" {
				words[i] = f
			}
		}
		w.mu.Lock()
		if words[0] != "hello" && words[0] != "client" { // the client's handshake
			w.lines = append(w.lines, strings.Join(words, " "))
		}
		fail, lose := w.fail, w.lose
		w.mu.Unlock()
		if fail != nil {
			if err := fail(cmd.Args()); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if lose != nil && lose(cmd.Args()) {
			err = io.EOF
			cmd.SetErr(err)
		}
		return err
	}
}

// failing makes commands end with an error instead of being sent; nil ends that.
func (w *wire) failing(f func(args []any) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = f
}

// losing makes the client lose the answers to the next n commands of that name, which the
// server executes. then (nil: nothing) is what happens at once after each.
func (w *wire) losing(n int, command string, then func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = func(args []any) bool {
		if n == 0 || !strings.EqualFold(fmt.Sprint(args[0]), command) {
			return false
		}
		n--
		if then != nil {
			then()
		}
		return true
	}
}

// take returns what was sent since the last take, with the words of replace exchanged.
func (w *wire) take(replace ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	for i := range lines {
		lines[i] = strings.NewReplacer(replace...).Replace(lines[i])
	}
	return lines
}

// bench is one server with what the tests of locks need around it.
type bench struct {
	t      *testing.T
	server *redistest.Server
	client *redis.Client
	wire   *wire
	clock  *clock
	keys   int
}

func newBench(t *testing.T, options ...func(*redis.Options)) *bench {
	t.Helper()
	b := &bench{t: t, server: redistest.Start(t), wire: newWire(t), clock: &clock{}}
	b.client = b.server.Client(options...)
	b.client.AddHook(b.wire)
	plain := b.server.Client()
	for source, file := range b.wire.scripts {
		// Loaded beforehand, so that EVALSHA is not followed by EVAL. Two cannot be loaded.
		if len(source) == 40 || file == "seckill_release.lua" || file == "jedis_concat.lua" {
			continue
		}
		if err := plain.ScriptLoad(t.Context(), source).Err(); err != nil {
			t.Fatalf("load %s: %v", file, err)
		}
	}
	return b
}

// config is a handle's, on a lock name of its own unless one is given.
func (b *bench) config(name ...string) locks.Config {
	b.keys++
	c := locks.Config{
		Nodes: []redis.UniversalClient{b.client}, Name: fmt.Sprintf("goods:%d", b.keys), User: "user-1",
		Clock: b.clock, Rand: rand.New(rand.NewPCG(1, 2)),
	}
	if len(name) > 0 {
		c.Name = name[0]
	}
	return c
}

// lasting is config with a TTL that no delay of the machine outlasts.
func (b *bench) lasting() locks.Config {
	c := b.config()
	c.TTL = time.Hour
	return c
}

// open makes a handle of a lock in a client process of its own.
func open(t *testing.T, name string, c locks.Config) locks.Lock {
	t.Helper()
	s, ok := locks.Find(name)
	if !ok {
		t.Fatalf("no lock %q in the registry", name)
	}
	return s.Open()(c)
}

// acquire takes a lock that is free.
func acquire(t *testing.T, l locks.Lock) locks.Grant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	g, err := l.Acquire(ctx)
	if err != nil {
		t.Fatalf("acquire a free lock: %v", err)
	}
	return g
}

// inMemory locks have no key on the server.
func inMemory(name string) bool { return name == "none" || name == "local-mutex" }

// isOfTheSeeds: the lock comes from a seed and has one Redis (or none) under it; its tests
// are here. The locks on several servers, and those from elsewhere, have their own.
func isOfTheSeeds(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	_, ok := conformance()[name]
	return ok || inMemory(name)
}

func ofTheSeeds() []locks.Spec {
	return slices.DeleteFunc(locks.All(), func(s locks.Spec) bool { return !isOfTheSeeds(s.Name) })
}

// withVariants adds to each lock those that differ from it in one option.
func withVariants(all []locks.Spec) []locks.Spec {
	var out []locks.Spec
	for _, s := range all {
		out = append(out, s)
		for _, o := range s.Options {
			for _, value := range o.Values[1:] {
				if v, ok := locks.Find(s.Name + ":" + o.Name + "=" + value); ok {
					out = append(out, v)
				}
			}
		}
	}
	return out
}
