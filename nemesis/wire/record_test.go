package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/nemesis/wire"
	"picklock/nemesis/wire/record"
)

// memory is a recorder that keeps everything.
type memory struct {
	mu  sync.Mutex
	all []record.Message
}

func (m *memory) Add(ms []record.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, ms...)
}

// find waits for the first message that is meant.
func (m *memory) find(t *testing.T, what string, meant func(record.Message) bool) record.Message {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		m.mu.Lock()
		at := slices.IndexFunc(m.all, meant)
		if at >= 0 {
			defer m.mu.Unlock()
			return m.all[at]
		}
		m.mu.Unlock()
	}
	t.Fatalf("%s is not in the record: %+v", what, m.all)
	return record.Message{}
}

func is(side record.Side, name, key string) func(record.Message) bool {
	return func(m record.Message) bool { return m.Side == side && m.Name == name && m.Key == key }
}

// recorded is a world whose proxy records into memory.
func recorded(t *testing.T) (*world, *memory) {
	m := &memory{}
	w := &world{proxy: wire.New(nil), redis: startRedis(t)}
	w.proxy.Record(m)
	t.Cleanup(func() {
		if err := w.proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	w.addr = listen(t, w.proxy, 3, "lock", w.redis)
	w.through, w.direct = client(t, w.addr), client(t, w.redis)
	return w, m
}

func TestRecordOfWhatPasses(t *testing.T) {
	w, m := recorded(t)
	ctx := t.Context()
	before := history.Now()
	w.through.Set(ctx, "k", "v", 0)
	w.through.Get(ctx, "k")
	w.through.Get(ctx, "none")
	w.through.Incr(ctx, "k")
	w.through.Eval(ctx, "return {1,2}", []string{"s"})
	w.through.MGet(ctx, "k", "none")
	for _, want := range []struct {
		name, key, reply string
	}{
		{"SET", "k", "+OK"}, {"GET", "k", "$v"}, {"GET", "none", "_"}, {"INCR", "k", "-ERR value is not an integer or out of range"},
		{"EVAL", "s", "*2"}, {"MGET", "k", "*2"},
	} {
		q := m.find(t, "the request "+want.name, is(record.Request, want.name, want.key))
		r := m.find(t, "the reply to "+want.name, is(record.Reply, want.name, want.key))
		if r.Reply != want.reply || q.Reply != "" {
			t.Errorf("%s %s: the request says %q and the reply %q, want nothing and %q", want.name, want.key, q.Reply, r.Reply, want.reply)
		}
		if q.Client != 3 || q.Node != "lock" || q.Conn == 0 || q.Conn != r.Conn || q.Fate != record.Passed {
			t.Errorf("%s: %+v and %+v, want client 3 and lock on one connection", want.name, q, r)
		}
		if !(before <= q.At && q.At <= q.Out && q.Out <= r.At && r.At <= r.Out && r.Out <= history.Now()) {
			t.Errorf("%s: it came %d, went on %d, was answered %d and %d: not in this order", want.name, q.At, q.Out, r.At, r.Out)
		}
	}
	if e := m.find(t, "EVAL", is(record.Request, "EVAL", "s")); len(e.Script) != 40 {
		t.Errorf("the script is %q, want its SHA-1", e.Script)
	}
}

// TestRecordOfWhatFaultsDo: each fate, with the fault and the times that belong to it.
func TestRecordOfWhatFaultsDo(t *testing.T) {
	const wait = 60 * time.Millisecond
	rule := func(side wire.Side, name string, fault int, do func(context.Context, wire.Frame) wire.Verdict) wire.Rule {
		return wire.Rule{Match: wire.Match{Side: side, Commands: []wire.Command{{Name: name}}, Limit: 1}, Fault: fault, Do: do}
	}
	hold := func(context.Context, wire.Frame) wire.Verdict {
		time.Sleep(wait)
		return wire.Verdict{}
	}
	for _, c := range []struct {
		fate record.Fate
		side wire.Side
		do   func(context.Context, wire.Frame) wire.Verdict
		took time.Duration // negative: it never went on
	}{
		{record.Held, wire.Request, hold, wait},
		{record.Delayed, wire.Reply, always(wire.Verdict{Delay: wait}), wait},
		{record.Delayed, wire.Request, always(wire.Verdict{Delay: wait}), wait},
		{record.Dropped, wire.Reply, always(wire.Verdict{Action: wire.Discard}), -1},
		{record.Dropped, wire.Request, always(wire.Verdict{Action: wire.Discard}), -1},
		{record.Reset, wire.Request, always(wire.Verdict{Action: wire.Reset}), -1},
	} {
		t.Run(fmt.Sprint(c.fate, " ", c.side), func(t *testing.T) {
			w, m := recorded(t)
			hasty := w.impatient(t)
			w.proxy.Add(rule(c.side, "SET", 7, always(wire.Verdict{}))) // looks, and decides nothing
			w.proxy.Add(rule(c.side, "SET", 4, c.do))
			_ = hasty.Set(t.Context(), "k", "v", 0).Err() // it fails where its message never arrives
			side := map[wire.Side]record.Side{wire.Request: record.Request, wire.Reply: record.Reply}[c.side]
			got := m.find(t, "the message", is(side, "SET", "k"))
			if got.Fate != c.fate || got.Fault != 4 {
				t.Errorf("its fate is %q by fault %d, want %q by 4", got.Fate, got.Fault, c.fate)
			}
			if took := time.Duration(got.Out - got.At); c.took < 0 && got.Out != 0 || c.took >= 0 && took < c.took {
				t.Errorf("it came at %d and went on at %d, want %v between (-1: never)", got.At, got.Out, c.took)
			}
		})
	}
}

func TestRecordOfEnds(t *testing.T) {
	w, m := recorded(t)
	hasty := w.impatient(t)
	w.proxy.Add(wire.Rule{Match: wire.Match{Side: wire.Reply, Commands: []wire.Command{{Name: "GET"}}}, Fault: 5, Do: always(wire.Verdict{Delay: time.Hour})})
	_ = hasty.Get(t.Context(), "k").Err() // gives up and closes
	if n := w.proxy.ResetAll(wire.Match{}); n > 0 {
		m.find(t, "the reset of a connection at rest", func(m record.Message) bool { return m.Fate == record.Reset && m.Name == "" })
	}
	addr := listen(t, w.proxy, 1, "down", "127.0.0.1:1")
	_ = client(t, addr).Ping(t.Context()).Err()
	if got := m.find(t, "the node that cannot be reached", func(m record.Message) bool { return m.Fate == record.Refused }); got.Node != "down" || got.Client != 1 {
		t.Errorf("refused was %+v, want client 1 by down", got)
	}
	if err := w.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if got := m.find(t, "the reply that nobody waited for", is(record.Reply, "GET", "k")); got.Fate != record.Lost || got.Out != 0 || got.Fault != 5 {
		t.Errorf("it is %+v, want lost by fault 5", got)
	}
}

// TestRecordOfMuch: what is pipelined, and a frame that goes on in parts, is recorded once each.
func TestRecordOfMuch(t *testing.T) {
	w, m := recorded(t)
	nc := dial(t, w.addr)
	const n = 500
	request := strings.Repeat("*2\r\n$3\r\nGET\r\n$4\r\nmany\r\n", n)
	large := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$%d\r\n%s\r\n", 1<<20, strings.Repeat("s3cr3t..", 1<<17))
	if _, err := io.WriteString(nc, request+large+"*2\r\n$3\r\nGET\r\n$5\r\nlarge\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, nc, n*5+5+10+1<<20+2); err != nil {
		t.Fatal(err)
	}
	got := m.find(t, "the large reply", is(record.Reply, "GET", "large"))
	if strings.Contains(got.Reply, "s3cr3t") || got.At == 0 || got.Out < got.At {
		t.Errorf("the large reply is %+v, want nothing of its text", got)
	}
	count := map[record.Side]int{}
	for _, x := range m.all {
		if x.Key == "many" {
			count[x.Side]++
		}
	}
	if count[record.Request] != n || count[record.Reply] != n {
		t.Errorf("%v messages, want %d each way", count, n)
	}
	m.find(t, "the large request", is(record.Request, "SET", "large"))
}

// TestNoSecretIsRecorded: not what proves who somebody is, nor what a command says that may
// be about such things, nor an argument of any command.
func TestNoSecretIsRecorded(t *testing.T) {
	const secret = "hunter2"
	w, m := recorded(t)
	ctx := t.Context()
	w.direct.ConfigSet(ctx, "masterauth", secret)
	for _, c := range [][]any{
		{"AUTH", secret}, {"AUTH", "default", secret}, {"HELLO", "3", "AUTH", "default", secret}, {"HELLO", "3", "SETNAME", secret},
		{"CONFIG", "GET", "masterauth"}, {"CONFIG", "SET", "masteruser", secret}, {"ACL", "SETUSER", "u", ">" + secret}, {"ECHO", secret},
		{"MIGRATE", "127.0.0.1", "1", "k", "0", "1", "AUTH", secret}, {"CLIENT", "SETNAME", secret}, {"NOTACOMMAND", secret},
		{"SET", "k", secret, "EX", "100"}, {"EVAL", "return ARGV[1]", "0", secret}, {"PING", secret}, {"CLIENT", "GETNAME"},
	} {
		_ = w.through.Do(ctx, c...).Err()
	}
	nc := dial(t, w.addr) // bytes that are no RESP
	_, _ = io.WriteString(nc, "\x16\x03"+secret+"\r\n")
	m.find(t, "what is not understood", func(m record.Message) bool { return m.Name == "" })
	m.find(t, "the last command", is(record.Reply, "CLIENT", ""))
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.all {
		if b, err := json.Marshal(x); err != nil || strings.Contains(strings.ToLower(string(b)), secret) {
			t.Errorf("%s tells the secret (%v)", b, err)
		}
	}
	if len(m.all) < 30 {
		t.Errorf("only %d messages: this test looks at too little", len(m.all))
	}
}
