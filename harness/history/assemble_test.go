package history_test

import (
	"reflect"
	"strings"
	"testing"

	"picklock/harness/history"
)

// Roles keep the order of their times, whatever order the events come in, and a client's
// confirmation of an order is no operation.
func TestAssembleKeepsRoles(t *testing.T) {
	h, err := history.Assemble([]history.Event{
		{Time: 30, Type: history.NodeRole, Node: "lock-2", Note: history.Primary},
		{Time: 10, Type: history.Begin},
		{Time: 11, Type: history.NodeRole, Node: "lock-2", Note: "replica of lock-1"},
		{Time: 20, Type: history.ClientTold, Client: 1, Worker: 2, Note: "hangs"},
		{Time: 40, Type: history.End},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Role{{Node: "lock-2", Time: 11, Role: "replica of lock-1"}, {Node: "lock-2", Time: 30, Role: "primary"}}
	if !reflect.DeepEqual(h.Roles, want) {
		t.Errorf("got roles %+v, want %+v", h.Roles, want)
	}
	if len(h.Operations) != 0 {
		t.Errorf("got operations %+v, want none", h.Operations)
	}
}

// Faults that overlap are told apart by their numbers and stand by their starts.
func TestAssembleOverlappingFaults(t *testing.T) {
	fault := func(n int, kind string, start, end int64, stays bool) *history.Fault {
		return &history.Fault{N: n, Kind: kind, Target: "node lock", Client: -1, Node: "lock", Start: start, End: end, Landed: true, Stays: stays}
	}
	h, err := history.Assemble([]history.Event{
		{Time: 20, Type: history.FaultStart, Fault: fault(2, "clock-node", 20, 0, true)},
		{Time: 10, Type: history.FaultStart, Fault: fault(1, "pause-node", 10, 0, false)},
		{Time: 90, Type: history.FaultEnd, Fault: fault(2, "clock-node", 20, 90, true)},
		{Time: 30, Type: history.FaultEnd, Fault: fault(1, "pause-node", 10, 30, false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Fault{*fault(1, "pause-node", 10, 30, false), *fault(2, "clock-node", 20, 90, true)}
	if !reflect.DeepEqual(h.Faults, want) {
		t.Errorf("got  %+v\nwant %+v", h.Faults, want)
	}
}

func TestAssembleRefuses(t *testing.T) {
	_, err := history.Assemble([]history.Event{{Time: 1, Type: history.NodeRole, Note: history.Primary}})
	if err == nil || !strings.Contains(err.Error(), "of no node") {
		t.Errorf("a role of no node: got error %v, want one that says so", err)
	}
}
