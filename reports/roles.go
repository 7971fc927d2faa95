package reports

import (
	"cmp"
	"slices"

	"picklock/harness/history"
)

// nodeLane is what one node was seen to be, as the timeline draws it: Roles[i] from At[i]
// (µs since the load began) to the next.
type nodeLane struct {
	Node  string   `json:"node"`
	At    []int64  `json:"t"`
	Roles []string `json:"r"`
}

// nodeLanes gives a lane for each node whose role was observed or that a fault hit, by name.
func nodeLanes(h *history.History) []nodeLane {
	var lanes []nodeLane
	of := func(node string) *nodeLane {
		i := slices.IndexFunc(lanes, func(l nodeLane) bool { return l.Node == node })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, nodeLane{Node: node, At: []int64{}, Roles: []string{}})
		}
		return &lanes[i]
	}
	for _, f := range h.Faults {
		if f.Node != "" {
			of(f.Node)
		}
	}
	for _, x := range h.Roles {
		l := of(x.Node)
		l.At, l.Roles = append(l.At, (x.Time-h.Start)/1000), append(l.Roles, clip(x.Role))
	}
	slices.SortFunc(lanes, func(a, b nodeLane) int { return cmp.Compare(a.Node, b.Node) })
	return lanes
}
