//go:build !race

package wire_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picklock/nemesis/wire"
)

// load is one kind of traffic: so many connections that send so many commands at once.
type load struct {
	command               string
	connections, pipeline int
}

var loads = []load{
	{"SET", 1, 1}, {"GET", 1, 1}, {"SET", 10, 1}, {"GET", 10, 1}, {"SET", 1, 100}, {"GET", 1, 100}, {"GET", 10, 100},
}

func (l load) bytes() (request string, reply int) {
	if l.command == "GET" {
		return strings.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", l.pipeline), l.pipeline * len("$5\r\nvalue\r\n")
	}
	return strings.Repeat("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n", l.pipeline), l.pipeline * len("+OK\r\n")
}

// cost is what round trips take, directly and through the proxy.
type cost struct {
	load
	direct, through time.Duration    // medians
	quiet           [2]time.Duration // the least medians of a turn: what the machine can do undisturbed
}

func (c cost) added() time.Duration { return c.through - c.direct }

func (c cost) String() string {
	return fmt.Sprintf("%-4s %5d %9d %12v %12v %12v %7.2f", c.command, c.connections, c.pipeline,
		c.direct.Round(100*time.Nanosecond), c.through.Round(100*time.Nanosecond), c.added().Round(100*time.Nanosecond),
		float64(c.through)/float64(c.direct))
}

const costHeader = "     conns  pipeline       direct  through wire        added   ratio"

// measure takes turns between both ways, so that whatever else the machine does hits both.
func measure(tb testing.TB, l load, direct, through string, turns, trips int) cost {
	tb.Helper()
	ways := [2][]net.Conn{}
	for way, addr := range []string{direct, through} {
		for range l.connections {
			ways[way] = append(ways[way], dial(tb, addr))
		}
	}
	var took [2][]time.Duration
	c := cost{load: l, quiet: [2]time.Duration{time.Hour, time.Hour}}
	for turn := range turns {
		for way := range ways {
			way = (way + turn) % 2
			some := roundTrips(tb, l, ways[way], trips)
			c.quiet[way] = min(c.quiet[way], median(some))
			took[way] = append(took[way], some...)
		}
	}
	c.direct, c.through = median(took[0]), median(took[1])
	return c
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// roundTrips makes so many on each connection, all connections at once.
func roundTrips(tb testing.TB, l load, conns []net.Conn, trips int) []time.Duration {
	request, size := l.bytes()
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	for _, nc := range conns {
		wg.Go(func() {
			r := bufio.NewReaderSize(nc, 64<<10)
			took := make([]time.Duration, 0, trips)
			for range trips {
				start := time.Now()
				if _, err := io.WriteString(nc, request); err != nil {
					tb.Errorf("write: %v", err)
					return
				}
				if _, err := r.Discard(size); err != nil {
					tb.Errorf("read: %v", err)
					return
				}
				took = append(took, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	wg.Wait()
	return all
}

// TestCost holds the wire to its price: under 30 µs for a round trip at the median. The
// figures are of the quietest of many turns, as whatever else runs on the machine only
// adds to them.
func TestCost(t *testing.T) {
	const price = 30 * time.Microsecond
	redis := startRedis(t)
	addr := listen(t, newProxy(t), 0, "lock", redis)
	for _, l := range loads {
		if l.connections > 1 || l.pipeline > 1 {
			continue // how long ten wait for one another on two cores is no property of the wire
		}
		c := measure(t, l, redis, addr, 50, 200)
		added := c.quiet[1] - c.quiet[0]
		t.Logf("%s: %v directly, %v through the wire: %v added", l.command, c.quiet[0], c.quiet[1], added)
		if added >= price {
			t.Errorf("%s: the wire adds %v to a round trip, want less than %v", l.command, added, price)
		}
	}
}

// BenchmarkWire prints what the proxy costs: once without rules, and once with rules that
// match every frame's client and node but not its command.
func BenchmarkWire(b *testing.B) {
	redis := startRedis(b)
	for _, rules := range []int{0, 3} {
		p := newProxy(b)
		addr := listen(b, p, 0, "lock", redis)
		for range rules {
			p.Add(wire.Rule{Match: wire.Match{Both: true, Commands: []wire.Command{{Name: "HSET"}}}, Do: always(wire.Verdict{})})
		}
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			for b.Loop() {
				table := []string{costHeader}
				for _, l := range loads {
					c := measure(b, l, redis, addr, 20, 500/max(1, l.pipeline/10))
					table = append(table, c.String())
					b.ReportMetric(float64(c.added())/float64(time.Microsecond), fmt.Sprintf("µs/%s-%d-%d", l.command, l.connections, l.pipeline))
				}
				b.Logf("median round trips with %d rules in force\n%s", rules, strings.Join(table, "\n"))
			}
		})
	}
}
