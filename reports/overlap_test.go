package reports_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
)

// failedOver gives the usual test on a topology that fails over while a client is stopped
// and a clock is wrong: three more faults, which overlap with each other and with it.
func failedOver(t testing.TB) (*store.Result, *history.History) {
	t.Helper()
	p := usual()
	h := p.record(t)
	at := func(s float64) int64 { return origin + int64(s*1e9) }
	more := []history.Fault{
		{N: 11, Kind: "kill-node", Target: "node lock-1", Client: -1, Node: "lock-1", Start: at(4.5), End: at(7), Landed: true},
		{N: 12, Kind: "partition-replica", Target: "node lock-3", Client: -1, Node: "lock-3", Start: at(5), End: at(5.5), Landed: true},
		{N: 13, Kind: "clock-node", Target: "node lock-2", Client: -1, Node: "lock-2", Start: at(8), End: at(16), Landed: true, Stays: true},
	}
	h.Faults = slices.Concat(h.Faults[:1], more, h.Faults[1:])
	h.Roles = []history.Role{
		{Node: "lock-2", Time: at(0.1), Role: "replica of lock-1"}, {Node: "lock-1", Time: at(0.1), Role: history.Primary},
		{Node: "lock-1", Time: at(4.51), Role: "down"}, {Node: "lock-2", Time: at(6), Role: history.Primary},
		{Node: "lock-1", Time: at(7.1), Role: "replica of lock-2"},
	}
	r := result(t, p, h)
	return r, h
}

func TestOverlappingFaultsStandInRowsOfTheirOwn(t *testing.T) {
	r, h := failedOver(t)
	fs := decodeTimeline(t, page(t, r, h)).Faults
	if len(fs) != 5 {
		t.Fatalf("got %d faults in the page, want 5", len(fs))
	}
	var got []int
	for i, a := range fs {
		got = append(got, a.Row)
		for _, b := range fs[:i] {
			if a.Row == b.Row && a.From < b.To && b.From < a.To {
				t.Errorf("%s and %s overlap and stand in row %d: one hides the other", a.Name, b.Name, a.Row)
			}
		}
	}
	// F1 the pause, F2 and F3 within it; F4 stays, so F5 cannot have its row.
	if want := []int{0, 1, 2, 0, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("got rows %v, want %v: the first that is free", got, want)
	}
}

func TestNodeRolesHaveLanes(t *testing.T) {
	r, h := failedOver(t)
	got := decodeTimeline(t, page(t, r, h)).Nodes
	want := []embeddedNode{
		{Node: "lock-1", T: []int64{100_000, 4_510_000, 7_100_000}, R: []string{"primary", "down", "replica of lock-2"}},
		{Node: "lock-2", T: []int64{100_000, 6_000_000}, R: []string{"replica of lock-1", "primary"}},
		{Node: "lock-3", T: []int64{}, R: []string{}}, // only a fault knows it
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got the nodes' lanes %+v, want %+v", got, want)
	}
}

// Every property has words for people, in all formats.
func TestEveryPropertyIsShown(t *testing.T) {
	p := usual()
	r := result(t, p, p.record(t))
	all := slices.Concat(models.LockProperties, models.StockProperties)
	for _, id := range all {
		r.Properties[id] = &models.Judgement{Verdict: models.Violated, Count: 1, Violations: []models.Violation{
			{StartS: 3, EndS: 4, Kind: "kind", Object: "lock:a", Operations: []int64{}, Story: []string{"told of " + string(id)}}}}
	}
	var junit bytes.Buffer
	if err := reports.JUnit(&junit, r); err != nil {
		t.Fatal(err)
	}
	text := terminal(t, r, false)
	for _, id := range all {
		if !strings.Contains(junit.String(), `name="`+string(id)+`"`) || !strings.Contains(junit.String(), "told of "+string(id)) {
			t.Errorf("junit.xml lacks %s or its story", id)
		}
		if strings.Contains(junit.String(), `message="violated, `) {
			t.Errorf("junit.xml has no words for a property that is violated")
		}
		if !strings.Contains(text, string(id)) {
			t.Errorf("the terminal does not show %s:\n%s", id, text)
		}
	}
}

// What was measured beside the usual is in the page: the recovery from each fault by its
// short name, and what the harness counted.
func TestMeasuresOfFaults(t *testing.T) {
	r, h := failedOver(t)
	start, heal := 1.25, 0.031
	r.Measures.Promotions, r.Measures.CommandsPerGrant, r.Measures.MaxConnections = 1, 812.5, 77
	r.Measures.LongestIdleMS, r.Measures.LongestIdleTTL = 950, 0.95
	r.Measures.Recovery = []models.Recovery{
		{Fault: 1, Kind: "pause-client", Target: "client 0", FromStartS: &start, FromHealS: &heal, Availability: 0.5},
		{Fault: 11, Kind: "kill-node", Target: "node lock-1"},
	}
	s := textOnly(page(t, r, h))
	for _, want := range []string{
		"F1 pause-client on client 0", "1.250 s, 0.031 s; 50%", "F2 kill-node on node lock-1", "none, none; 0%",
		"812.5", "77", "950.00 ms (95% of the TTL)", "promotions of a node to primary",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// textOnly takes the tags out of a page.
func textOnly(s string) string {
	var b strings.Builder
	inside := false
	for _, c := range s {
		switch {
		case c == '<':
			inside = true
		case c == '>':
			inside = false
		case !inside:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// The pictures of faults that overlap can be read by XML parsers too.
func TestChartsOfOverlappingFaults(t *testing.T) {
	r, h := failedOver(t)
	s := page(t, r, h)
	for _, name := range []string{">F1<", ">F2<", ">F3<", ">F4<", ">F5<"} {
		if strings.Count(s, name) < 2 {
			t.Errorf("the charts lack %s, want every fault by name in both", name)
		}
	}
}
