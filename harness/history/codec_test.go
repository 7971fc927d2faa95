package history_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness/history"
)

func ptr(v int64) *int64 { return &v }

func anyPtr(t *rapid.T, name string) *int64 {
	if rapid.Bool().Draw(t, name+" set") {
		return ptr(rapid.Int64Range(-1<<62, 1<<62).Draw(t, name))
	}
	return nil
}

// anyEvent draws an operation's event with arbitrary contents.
func anyEvent(t *rapid.T) history.Event {
	return history.Event{
		Time: rapid.Int64Min(0).Draw(t, "time"),
		Type: rapid.SampledFrom([]history.Type{history.Invoke, history.OK, history.Fail, history.Info, history.Lost}).Draw(t, "type"),
		Op:   rapid.SampledFrom([]history.Op{history.Acquire, history.Release, history.Extend, history.Deduct}).Draw(t, "op"),
		ID:   rapid.Int64Min(1).Draw(t, "id"), Process: rapid.Int64Range(0, 1<<40).Draw(t, "process"),
		Client: rapid.IntRange(-1, 100).Draw(t, "client"), Worker: rapid.IntRange(-1, 100).Draw(t, "worker"),
		Object: rapid.String().Draw(t, "object"), Grant: rapid.Int64().Draw(t, "grant"),
		Token: rapid.String().Draw(t, "token"), Fence: rapid.Int64Range(-1<<62, 1<<62).Draw(t, "fence"),
		From: rapid.Int64Min(0).Draw(t, "from"), Validity: rapid.Int64Min(0).Draw(t, "validity"),
		Attempts: rapid.Int64Min(0).Draw(t, "attempts"), Belief: rapid.String().Draw(t, "belief"),
		Count: anyPtr(t, "count"), Basis: anyPtr(t, "basis"), Left: anyPtr(t, "left"), Sold: rapid.Bool().Draw(t, "sold"),
		Code: rapid.String().Draw(t, "code"), Error: rapid.String().Draw(t, "error"),
		Server: rapid.Uint8().Draw(t, "server"),
		Node:   rapid.String().Draw(t, "node"), Note: rapid.String().Draw(t, "note"),
	}
}

func TestEventSurvivesTheTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyEvent(t)
		if want.Grant == -1<<63 { // its absolute value is no int64; ids are positive anyhow
			want.Grant = 0
		}
		line := want.AppendJSON(nil)
		if !json.Valid(line) {
			t.Fatalf("the line is not JSON, so no other program can read it: %s", line)
		}
		got, err := history.ParseEvent(line)
		if err != nil {
			t.Fatalf("parse %s: %v", line, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v\nline %s", got, want, line)
		}
	})
}

func TestRareEventsSurviveTheTrip(t *testing.T) {
	for _, want := range []history.Event{
		{Time: 1, Type: history.Begin, Note: "a \"quoted\" note"},
		{Time: 2, Type: history.FaultStart, Fault: &history.Fault{N: 1, Kind: "pause-client", Target: "client 3", Client: 3, Start: 2, Landed: true, Proof: "T <stopped>"}},
		{Time: 3, Type: history.FaultEnd, Fault: &history.Fault{N: 1, Kind: "kill-node", Client: -1, Node: "lock", Start: 2, End: 3, Error: "ü"}},
		{Time: 3, Type: history.FaultStart, Fault: &history.Fault{N: 2, Kind: "clock-node", Target: "node lock", Client: -1, Node: "lock", Start: 3, Landed: true, Stays: true}},
		{Time: 4, Type: history.LedgerEntry, Object: "sku-0", Ledger: &history.Ledger{Seq: 0, Op: 17000005, Basis: ptr(0), Found: -1, Left: -2, Fence: 9}},
		{Time: 5, Type: history.LedgerEntry, Object: "sku-0", Ledger: &history.Ledger{Seq: 1, Op: 17000006}},
		{Time: 6, Type: history.StockLevel, Object: "sku-0", Stock: &history.Stock{Final: true, Level: 12}},
		{Time: 7, Type: history.ClientDeath, Client: 4, Worker: -1, Process: -1},
		{Time: 8, Type: history.ClientTold, Client: 2, Worker: 3, Process: 23, Note: "worker 3 hangs"},
		{Time: 9, Type: history.NodeRole, Node: "lock-2", Note: history.Primary},
		{Time: 9, Type: history.NodeRole, Node: "lock-3", Server: 3, Note: "down"},
		{Time: 10, Type: history.NodeRole, Node: "ü \"2\"", Note: "replica of lock-1"},
	} {
		line := want.AppendJSON(nil)
		got, err := history.ParseEvent(line)
		if err != nil {
			t.Fatalf("parse %s: %v", line, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v\nline %s", got, want, line)
		}
	}
}

func TestParserRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"an empty line":        ``,
		"no object":            `[]`,
		"no type":              `{"t":1}`,
		"no time":              `{"type":"ok"}`,
		"an unknown field":     `{"t":1,"type":"ok","x":1}`,
		"a field twice":        `{"t":1,"type":"ok","t":2}`,
		"a fraction":           `{"t":1.5,"type":"ok"}`,
		"a leading zero":       `{"t":01,"type":"ok"}`,
		"a number too large":   `{"t":9223372036854775808,"type":"ok"}`,
		"white space":          `{"t": 1,"type":"ok"}`,
		"something behind":     `{"t":1,"type":"ok"}}`,
		"no end":               `{"t":1,"type":"ok"`,
		"an open string":       `{"t":1,"type":"ok`,
		"a bare control":       "{\"t\":1,\"type\":\"o\nk\"}",
		"half a ledger":        `{"t":1,"type":"ledger","ledger":{"seq":}}`,
		"a large server":       `{"t":1,"type":"ok","srv":256}`,
		"a node twice":         `{"t":1,"type":"node-role","node":"a","node":"b"}`,
		"a node's number":      `{"t":1,"type":"node-role","node":1}`,
		"an unknown in nested": `{"t":1,"type":"stock","stock":{"lvl":1}}`,
	} {
		if e, err := history.ParseEvent([]byte(line)); err == nil {
			t.Errorf("%s was read as %+v: what is not understood may be damage", name, e)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"t":2104000000,"type":"ok","op":"acquire","id":3000001,"p":3,"c":1,"w":1,"obj":"lock:sku-0","validity":1000000000}`))
	f.Add([]byte(`{"t":1,"type":"ledger","obj":"s","ledger":{"seq":0,"op":1,"basis":2,"found":3,"left":4}}`))
	f.Add([]byte(`{"t":1,"type":"fault-end","fault":{"n":1,"kind":"k","target":"t","client":0,"start":1,"landed":true,"stays":true}}`))
	f.Add([]byte(`{"t":1,"type":"node-role","node":"lock-2","note":"replica of lock-1"}`))
	f.Add([]byte(`{"t":1,"type":"client-told","p":1,"c":2,"w":3,"note":"hangs"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := history.ParseEvent(line)
		if err != nil {
			return
		}
		again, err := history.ParseEvent(e.AppendJSON(nil))
		if err != nil {
			t.Fatalf("what was read from %q cannot be read again: %v", line, err)
		}
		if a, b := e.AppendJSON(nil), again.AppendJSON(nil); !bytes.Equal(a, b) {
			t.Fatalf("reading is not stable: %s became %s", a, b)
		}
	})
}
