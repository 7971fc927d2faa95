package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"picklock/nemesis/wire"
)

// Random pipelines, cut at random, through a proxy whose rules only delay: the replies are
// byte for byte those of a direct connection.
func TestDelaysChangeNoByte(t *testing.T) {
	redis := startRedis(t)
	admin := client(t, redis)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := newProxy(t)
		for range 1 + r.IntN(3) {
			p.Add(delaying(r))
		}
		var requests []byte
		for range 200 {
			key := fmt.Sprint("k", r.IntN(5))
			requests = append(requests, [...]string{
				"SET " + key + " " + fmt.Sprint(r.IntN(1000)), "GET " + key, "DEL " + key, "INCR n", "APPEND a " + key,
				"STRLEN a", "EVAL 'return {1,{2,{KEYS[1]}}}' 1 " + key, "MULTI", "EXEC", "NONSENSE", "HELLO 3",
				"HGETALL h", "HSET h " + key + " 1", "SUBSCRIBE c", "UNSUBSCRIBE", "CLIENT REPLY SKIP", "ECHO message", "",
			}[r.IntN(18)]+"\r\n"...)
		}
		// Redis does not close the line after a QUIT whose reply is skipped, unless something
		// else is waiting to be written: the ECHO takes a SKIP upon itself.
		requests = append(requests, "ECHO last\r\nQUIT\r\n"...)
		var got [2][]byte
		for i, addr := range []string{redis, listen(t, p, 0, "lock", redis)} {
			if err := admin.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			nc := dial(t, addr)
			for _, piece := range pieces(r, requests) {
				if _, err := nc.Write(piece); err != nil {
					t.Fatalf("seed %d: write: %v", seed, err)
				}
			}
			var err error
			if got[i], err = io.ReadAll(nc); err != nil {
				t.Fatalf("seed %d: read: %v", seed, err)
			}
		}
		if direct, through := ids.ReplaceAll(got[0], nil), ids.ReplaceAll(got[1], nil); !bytes.Equal(direct, through) {
			t.Fatalf("seed %d: directly %q\nthrough the wire %q", seed, direct, through)
		}
	}
}

// More than may wait on a line is not read, so the sender has to wait; and when the time
// has come, everything goes on.
func TestDelayHasABound(t *testing.T) {
	const frames, bound = 64, wire.MaxWaiting
	frame := append(append([]byte("$1048576\r\n"), bytes.Repeat([]byte("x"), 1<<20)...), "\r\n"...)
	for _, delay := range []time.Duration{time.Hour, 100 * time.Millisecond} {
		p := newProxy(t)
		p.Add(wire.Rule{Match: wire.Match{Side: wire.Reply}, Do: always(wire.Verdict{Delay: delay})})
		near, far := node(t, p)
		write(t, near, strings.Repeat("GET k\r\n", frames))
		if delay == time.Hour {
			if err := far.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
				t.Fatal(err)
			}
			n, err := far.Write(bytes.Repeat(frame, frames))
			if !isTimeout(err) || n < bound-2*len(frame) {
				t.Errorf("the node could write %d bytes, %v; want it to be stopped after %d", n, err, bound)
			}
			continue
		}
		sent := make(chan error, 1)
		go func() {
			_, err := far.Write(bytes.Repeat(frame, frames))
			sent <- err
		}()
		got := make([]byte, len(frame))
		for i := range frames {
			if _, err := io.ReadFull(near, got); err != nil || !bytes.Equal(got, frame) {
				t.Fatalf("frame %d: %v", i, err)
			}
		}
		if err := <-sent; err != nil {
			t.Fatalf("the node writes: %v", err)
		}
	}
}

// A replica can follow its primary through the wire: the rest of such a connection is not
// RESP, and nobody minds.
func TestReplicationGoesThrough(t *testing.T) {
	p := newProxy(t)
	primary := startRedis(t)
	way := listen(t, p, 0, "lock", primary)
	replica := startRedis(t)
	up, down := client(t, primary), client(t, replica)
	if err := up.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err(); err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(way)
	if err := up.Set(t.Context(), "old", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := down.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica has what was there", func() bool { return down.Get(t.Context(), "old").Val() == "1" })
	if err := up.Set(t.Context(), "new", "2", 0).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica has what is new", func() bool { return down.Get(t.Context(), "new").Val() == "2" })
	if n, err := up.Wait(t.Context(), 1, limit).Result(); n != 1 || err != nil {
		t.Errorf("WAIT: %d, %v; want an acknowledgement", n, err)
	}
	if n := p.NotUnderstood(); n != 0 {
		t.Errorf("%d connections count as not understood", n)
	}
}

// redis-cli and redis-benchmark are clients of other makes.
func TestOtherClients(t *testing.T) {
	p := newProxy(t)
	addr := listen(t, p, 0, "lock", startRedis(t))
	_, port, _ := net.SplitHostPort(addr)
	for _, args := range [][]string{
		{"redis-cli", "-p", port, "-3", "--no-raw", "eval", "return {1,2,{3,'a'}}", "0"},
		{"redis-benchmark", "-p", port, "-n", "5000", "-c", "20", "-P", "16", "-t", "set,get,lpush,mset", "-q"},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if n := p.NotUnderstood(); n != 0 {
		t.Errorf("%d connections were not understood", n)
	}
}

// ids are what differs from connection to connection.
var ids = regexp.MustCompile(`\$2\r\nid\r\n:\d+\r\n`)
