package foreign_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"olympos.io/encoding/edn"
	"pgregory.net/rapid"

	"picklock/harness/foreign"
	"picklock/harness/history"
	"picklock/models/fast"
)

func ptr(n int64) *int64 { return &n }

func TestWriteEDN(t *testing.T) {
	h := &history.History{
		Start: 1000,
		Operations: []history.Operation{
			{ID: 11, Process: 4, Client: 1, Worker: 2, Op: history.Acquire, Object: "lock:\"a\"", Invoke: 1010, Return: 1020, Outcome: history.OutcomeOK, Fence: 7, Token: "t"},
			{ID: 12, Process: 4, Client: 1, Worker: 2, Op: history.Deduct, Object: "sku-0", Grant: 11, Invoke: 1030, Return: 1040, Outcome: history.OutcomeOK, Basis: ptr(9), Left: ptr(8), Sold: true},
			{ID: 13, Process: 4, Client: 1, Worker: 2, Op: history.Release, Object: "lock:\"a\"", Grant: 11, Invoke: 1040, Return: 1050, Outcome: history.OutcomeFail, Code: history.CodeNotHeld, Error: "gone"},
			{ID: 14, Process: 5, Client: 0, Worker: 0, Op: history.Acquire, Object: "lock:\"a\"", Invoke: 1045, Return: history.Never},
		},
		Faults: []history.Fault{{N: 1, Kind: "pause-client", Target: "client 1", Start: 1015, Seen: 1016, End: 1041, Landed: true}},
		Losses: []history.Loss{{Grant: 11, Time: 1041}},
		Deaths: []history.Death{{Client: 0, Time: 1060}},
		Roles:  []history.Role{{Node: "lock-1", Time: 1061, Role: history.Primary}},
	}
	var b bytes.Buffer
	if err := foreign.WriteEDN(&b, h); err != nil {
		t.Fatal(err)
	}
	want := `{:index 0, :time 10, :process 4, :type :invoke, :f :acquire, :value {:lock "lock:\"a\"", :client "1/2"}}
{:index 1, :time 15, :process :nemesis, :type :info, :f :start, :value {:fault 1, :kind :pause-client, :target "client 1", :landed true}}
{:index 2, :time 16, :process :nemesis, :type :info, :f :start, :value {:fault 1, :kind :pause-client, :target "client 1", :landed true}}
{:index 3, :time 20, :process 4, :type :ok, :f :acquire, :value {:lock "lock:\"a\"", :client "1/2", :grant 11, :fence 7, :token "t"}}
{:index 4, :time 30, :process 4, :type :invoke, :f :deduct, :value {:sku "sku-0", :client "1/2", :grant 11}}
{:index 5, :time 40, :process 6, :type :invoke, :f :release, :value {:lock "lock:\"a\"", :client "1/2", :grant 11}}
{:index 6, :time 40, :process 4, :type :ok, :f :deduct, :value {:sku "sku-0", :client "1/2", :grant 11, :basis 9, :left 8, :sold true}}
{:index 7, :time 41, :process :nemesis, :type :info, :f :stop, :value {:fault 1, :kind :pause-client, :target "client 1", :landed true}}
{:index 8, :time 41, :process :nemesis, :type :info, :f :stop, :value {:fault 1, :kind :pause-client, :target "client 1", :landed true}}
{:index 9, :time 41, :process :nemesis, :type :info, :f :lost, :value {:grant 11}}
{:index 10, :time 45, :process 5, :type :invoke, :f :acquire, :value {:lock "lock:\"a\"", :client "0/0"}}
{:index 11, :time 50, :process 6, :type :fail, :f :release, :value {:lock "lock:\"a\"", :client "1/2", :grant 11}, :error [:not-held "gone"]}
{:index 12, :time 60, :process :nemesis, :type :info, :f :client-death, :value {:client 0}}
{:index 13, :time 61, :process :nemesis, :type :info, :f :node-role, :value {:node "lock-1", :role "primary"}}
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var x any
		if err := edn.UnmarshalString(line, &x); err != nil {
			t.Errorf("other programs cannot read %s: %v", line, err)
		}
	}
	j, err := foreign.Judge(read(t, foreign.EDN, b.String()), foreign.Model{Name: foreign.FencedMutex}, fast.Limits{})
	if err != nil || j.Verdict != fast.Illegal || j.Keys[0].Line != 12 {
		t.Errorf("a lock that was lost before its release: got %+v, %v", j, err)
	}
}

// anyHistory draws operations of a few processes, each free of the others, at few moments,
// so that many coincide.
func anyHistory(t *rapid.T) *history.History {
	h := &history.History{Start: 100}
	for process := range int64(rapid.IntRange(1, 4).Draw(t, "processes")) {
		at := int64(100)
		for range rapid.IntRange(0, 4).Draw(t, "operations") {
			at += rapid.Int64Range(0, 3).Draw(t, "pause")
			o := history.Operation{
				ID: int64(len(h.Operations)) + 1, Process: process, Client: int(process), Object: rapid.String().Draw(t, "object"),
				Op:      rapid.SampledFrom([]history.Op{history.Acquire, history.Release, history.Extend, history.Deduct}).Draw(t, "op"),
				Invoke:  at,
				Outcome: rapid.SampledFrom([]history.Outcome{history.OutcomeOK, history.OutcomeFail, history.OutcomeInfo}).Draw(t, "outcome"),
				Fence:   rapid.Int64().Draw(t, "fence"), Error: rapid.String().Draw(t, "error"),
				Code: rapid.SampledFrom([]string{"", history.CodeNotHeld}).Draw(t, "code"),
			}
			at += rapid.Int64Range(0, 3).Draw(t, "length")
			o.Return = at
			if o.Outcome == history.OutcomeInfo && rapid.Bool().Draw(t, "never") {
				o.Return = history.Never
			}
			h.Operations = append(h.Operations, o)
			if o.Return == history.Never {
				break
			}
		}
	}
	return h
}

// What was written is read as the same operations, and one ends before another begins if
// and only if it did so in picklock.
func TestWriteEDNRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anyHistory(t)
		var b bytes.Buffer
		if err := foreign.WriteEDN(&b, h); err != nil {
			t.Fatal(err)
		}
		got, err := foreign.Read(&b, "a file", foreign.EDN)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if len(got.Ops) != len(h.Operations) {
			t.Fatalf("got %d operations, want %d", len(got.Ops), len(h.Operations))
		}
		ended := map[foreign.Value]bool{}
		for _, o := range got.Ops {
			if ended[o.Process] {
				t.Fatalf("process %s goes on after an operation of unknown outcome, as no process of Jepsen's does", o.Process)
			}
			ended[o.Process] = o.Outcome == history.OutcomeInfo
		}
		// Values name the operations: which is which is found by all that they say.
		byText := map[string][]int{}
		text := func(o *history.Operation) string {
			return fmt.Sprintf("%s|%s|%d", o.Op, o.Outcome, o.Client)
		}
		for i := range h.Operations {
			byText[text(&h.Operations[i])] = append(byText[text(&h.Operations[i])], i)
		}
		match := make([]int, len(got.Ops))
		for i, o := range got.Ops {
			var client int
			if _, err := fmt.Sscanf(clientOf(o.Invoked), "%d/0", &client); err != nil {
				t.Fatalf("%s names no client", o.Invoked)
			}
			want := fmt.Sprintf("%s|%s|%d", o.F, o.Outcome, client)
			if len(byText[want]) == 0 {
				t.Fatalf("there is no operation like %+v", o)
			}
			match[i], byText[want] = byText[want][0], byText[want][1:] // those alike are in the same order
		}
		for i, a := range got.Ops {
			for k, b := range got.Ops {
				x, y := &h.Operations[match[i]], &h.Operations[match[k]]
				if before := x.Return < y.Invoke; before != (a.Return < b.Call) {
					t.Fatalf("%+v ends before %+v begins: %v, but in what was written %v", x, y, before, !before)
				}
			}
		}
	})
}

func clientOf(v foreign.Value) string {
	_, rest, _ := strings.Cut(string(v), `:client "`)
	client, _, _ := strings.Cut(rest, `"`)
	return client
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteEDNTellsOfErrors(t *testing.T) {
	h := &history.History{Operations: []history.Operation{{Op: history.Acquire, Return: history.Never}}}
	if err := foreign.WriteEDN(fullDisk{}, h); err == nil {
		t.Error("the error of the writer was lost")
	}
}
