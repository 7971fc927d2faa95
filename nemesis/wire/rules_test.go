package wire_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"picklock/nemesis/wire"
)

// Skip and Limit count over all connections: with 100 at once exactly Limit frames are
// acted on, the pipelines are answered in order, and nobody is disturbed.
func TestSkipAndLimitAreExactOver100Connections(t *testing.T) {
	for name, options := range map[string]func(*redis.Options){"RESP2": resp2, "RESP3": func(*redis.Options) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			const clients, each, skip, limit = 100, 20, 150, 300
			var acted, others atomic.Int64
			count := func(n *atomic.Int64) func(context.Context, wire.Frame) wire.Verdict {
				return func(context.Context, wire.Frame) wire.Verdict { n.Add(1); return wire.Verdict{} }
			}
			set := []wire.Command{{Name: "SET"}}
			rule := w.proxy.Add(wire.Rule{Match: wire.Match{Commands: set, Skip: skip, Limit: limit}, Do: count(&acted)})
			w.proxy.Add(wire.Rule{Match: wire.Match{Nodes: []string{"stock"}}, Do: count(&others)})
			w.proxy.Add(wire.Rule{Match: wire.Match{Clients: []int{1}}, Do: count(&others)})
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					c := client(t, w.addr, options)
					for n := range each {
						key, want := fmt.Sprint("k", i), fmt.Sprint(n)
						pipe := c.Pipeline()
						pipe.Set(t.Context(), key, n, 0)
						got := pipe.Get(t.Context(), key)
						if _, err := pipe.Exec(t.Context()); err != nil || got.Val() != want {
							t.Errorf("client %d: GET = %q, %v; want %s", i, got.Val(), err, want)
							return
						}
					}
				})
			}
			wg.Wait()
			if rule.Hits() != limit || acted.Load() != limit {
				t.Errorf("%d hits and %d calls, want %d of each", rule.Hits(), acted.Load(), limit)
			}
			if others.Load() != 0 {
				t.Errorf("rules for another node or client were asked %d times", others.Load())
			}
		})
	}
}

func TestScriptsAreToldApart(t *testing.T) {
	w := newWorld(t)
	one, two := redis.NewScript("return 1"), redis.NewScript("return redis.call('GET', KEYS[1])")
	var got seen
	r := got.rule(wire.Request)
	r.Commands = []wire.Command{{Name: "EVAL", Script: one.Hash()}}
	rule := w.proxy.Add(r)
	all := w.proxy.Add(wire.Rule{Match: wire.Match{Commands: []wire.Command{{Name: "EVALSHA"}}}, Do: always(wire.Verdict{})})
	for range 2 {
		for _, script := range []*redis.Script{one, two} {
			if err := script.Run(t.Context(), w.through, []string{"k"}).Err(); err != nil && err != redis.Nil {
				t.Fatalf("script: %v", err)
			}
		}
	}
	h := " k " + one.Hash()[:6]
	if want := "EVALSHA" + h + ", EVAL" + h + ", EVALSHA" + h; got.String() != want {
		t.Errorf("got %s, want %s: the first time the server does not know it", got.String(), want)
	}
	if rule.Hits() != 3 || all.Hits() != 6 {
		t.Errorf("%d hits for one script, %d for any; want 3 and 6", rule.Hits(), all.Hits())
	}
}

func TestFirstWordThatIsNotForwardDecides(t *testing.T) {
	w := newWorld(t)
	silent := w.proxy.Add(wire.Rule{Do: always(wire.Verdict{})})
	reset := w.proxy.Add(wire.Rule{Match: wire.Match{Commands: []wire.Command{{Name: "SET"}}}, Do: always(wire.Verdict{Action: wire.Reset})})
	never := w.proxy.Add(wire.Rule{Match: wire.Match{Commands: []wire.Command{{Name: "SET"}}}, Do: always(wire.Verdict{})})
	if err := w.through.Set(t.Context(), "k", 1, 0).Err(); err == nil {
		t.Fatal("SET worked, want a reset")
	}
	if silent.Hits() == 0 || reset.Hits() != 1 || never.Hits() != 0 {
		t.Errorf("hits %d, %d, %d; want some, 1, 0", silent.Hits(), reset.Hits(), never.Hits())
	}
	reset.Remove()
	reset.Remove() // does nothing more
	if err := w.through.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Fatalf("SET without the rule: %v", err)
	}
	if reset.Hits() != 1 || never.Hits() != 1 {
		t.Errorf("hits %d, %d; want 1, 1", reset.Hits(), never.Hits())
	}
}

// A message on its way to a subscriber is a frame like any other.
func TestMessageCanBeDropped(t *testing.T) {
	for name, options := range map[string]func(*redis.Options){"RESP2": resp2, "RESP3": func(*redis.Options) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options)
			rule := w.proxy.Add(wire.Rule{
				Match: wire.Match{Side: wire.Reply, Commands: []wire.Command{{Name: "MESSAGE"}}, Skip: 1},
				Do:    always(wire.Verdict{Action: wire.Discard}),
			})
			sub := w.through.Subscribe(t.Context(), "wake")
			defer sub.Close()
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Fatalf("subscribe: %v", err)
			}
			for _, word := range []string{"one", "two"} {
				if n, err := w.direct.Publish(t.Context(), "wake", word).Result(); err != nil || n != 1 {
					t.Fatalf("PUBLISH reached %d, %v; want 1", n, err)
				}
			}
			m, err := sub.ReceiveMessage(t.Context())
			if err != nil || m.Payload != "one" {
				t.Fatalf("received %v, %v; want one", m, err)
			}
			eventually(t, "the second message is dropped", func() bool { return rule.Hits() == 1 })
			if m, err := sub.ReceiveTimeout(t.Context(), 50e6); !isTimeout(err) {
				t.Fatalf("received %v, %v; want nothing", m, err)
			}
		})
	}
}
