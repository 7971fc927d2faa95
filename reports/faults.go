package reports

import (
	"fmt"
	"slices"

	"picklock/harness/history"
	"picklock/harness/store"
)

// fault is one fault as all pictures show it, with the short name (F1, F2, ...) that
// stands in each of them.
type fault struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	Target string  `json:"target"`
	Client int     `json:"client"`         // the client hit, or -1
	Node   string  `json:"node,omitempty"` // the node hit; neither: it hits everybody
	From   float64 `json:"from"`           // s since the load began
	To     float64 `json:"to"`
	Open   bool    `json:"open,omitempty"` // its end is not known: To is the end of the record
	Landed bool    `json:"landed"`
	Proof  string  `json:"proof,omitempty"`
	Healed string  `json:"healed,omitempty"`
	Error  string  `json:"error,omitempty"`
	Row    int     `json:"row"` // from 0: faults that overlap stand in different rows

	start, end int64 // ns of the record, exact: events must keep their order; 0 without a history
}

// faults takes the faults from the history, which knows the client that was hit, or from
// the result where there is no history.
func faults(r *store.Result, h *history.History) []fault {
	var fs []fault
	if h != nil {
		for _, x := range h.Faults {
			f := fault{
				Kind: x.Kind, Target: x.Target, Client: x.Client, Node: x.Node, From: h.Seconds(x.Start), To: h.Seconds(x.End),
				Landed: x.Landed, Proof: x.Proof, Healed: x.Healed, Error: x.Error,
				start: x.Start, end: x.End,
			}
			if x.End == 0 {
				f.To, f.Open, f.end = h.Seconds(h.End), true, h.End
			}
			fs = append(fs, f)
		}
	}
	if len(fs) == 0 {
		for _, x := range r.Faults {
			fs = append(fs, fault{
				Kind: x.Kind, Target: x.Target, Client: -1, From: x.StartS, To: x.EndS,
				Landed: x.Landed, Proof: x.Proof, Healed: x.Healed, Error: x.Error,
			})
		}
	}
	for i := range fs {
		fs[i].Name = fmt.Sprintf("F%d", i+1)
		fs[i].To = max(fs[i].From, fs[i].To)
	}
	rows(fs)
	return fs
}

// rows gives each fault the first row that is free when it begins. The faults are in the
// order in which they began.
func rows(fs []fault) {
	var free []float64 // when each row is
	for i := range fs {
		f := &fs[i]
		f.Row = slices.IndexFunc(free, func(t float64) bool { return t <= f.From })
		if f.Row < 0 {
			f.Row = len(free)
			free = append(free, 0)
		}
		free[f.Row] = f.To
	}
}

// title says in one line what the fault hit and when.
func (f *fault) title() string {
	end := fmt.Sprintf("%.3f s", f.To)
	if f.Open {
		end = "the end of the record"
	}
	return fmt.Sprintf("%s %s · %s · %.3f s to %s", f.Name, f.Kind, f.Target, f.From, end)
}
