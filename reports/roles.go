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

// nodeLanes gives a lane for each node whose role was observed, by name.
func nodeLanes(h *history.History) []nodeLane {
	var lanes []nodeLane
	for _, x := range h.Roles {
		i := slices.IndexFunc(lanes, func(l nodeLane) bool { return l.Node == x.Node })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, nodeLane{Node: x.Node})
		}
		l := &lanes[i]
		l.At, l.Roles = append(l.At, (x.Time-h.Start)/1000), append(l.Roles, clip(x.Role))
	}
	slices.SortFunc(lanes, func(a, b nodeLane) int { return cmp.Compare(a.Node, b.Node) })
	return lanes
}
