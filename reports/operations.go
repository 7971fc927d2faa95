package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"picklock/harness/history"
	"picklock/models"
)

// maxRows bounds the table of a violation's operations.
const maxRows = 20

// operationRow is one operation of a violation, in words: what the timeline shows, for
// those who cannot see it or have no JavaScript.
type operationRow struct {
	ID                              int64
	At                              string // s, for the link
	Client, Worker                  int
	Kind, Object, From, To, Outcome string
	Note                            string
}

// operationRows lists the operations that a violation names in the order of their
// invocations, and says how many it leaves out.
func operationRows(v models.Violation, h *history.History, d *derived) (rows []operationRow, left int) {
	ops := named(v, h, d)
	if len(ops) > maxRows {
		ops, left = ops[:maxRows], len(ops)-maxRows
	}
	for _, o := range ops {
		row := operationRow{
			ID: o.ID, At: strconv.FormatFloat(h.Seconds(o.Invoke), 'f', 6, 64), Client: o.Client, Worker: o.Worker,
			Kind: string(o.Op), Object: clip(o.Object), From: fmt.Sprintf("%.3f s", h.Seconds(o.Invoke)), To: "never",
			Outcome: outcomeWords(o), Note: note(o),
		}
		if o.Return != history.Never {
			row.To = fmt.Sprintf("%.3f s", h.Seconds(o.Return))
		}
		rows = append(rows, row)
	}
	return rows, left
}

// named gives the operations that a violation names, in the order of their invocations.
func named(v models.Violation, h *history.History, d *derived) []*history.Operation {
	var ops []*history.Operation
	for _, id := range v.Operations {
		if i, ok := d.Index.Get(id); ok {
			ops = append(ops, &h.Operations[i])
		}
	}
	slices.SortStableFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	return ops
}

// outcomeWords says how an operation ended, as the timeline does.
func outcomeWords(o *history.Operation) string {
	switch {
	case o.Outcome == history.OutcomeInfo:
		return "unknown"
	case o.Outcome == history.OutcomeOK && o.Sold:
		return "ok, sold"
	case o.Outcome == history.OutcomeOK:
		return "ok"
	case o.Code != "":
		return "failed: " + o.Code
	}
	return "failed"
}

// linked cuts a violation's story like steps, and finds for each time the operation that
// it is about: one of the violation, of the worker named last before it, that was invoked
// or returned then, or whose lease began or ended then.
func linked(v models.Violation, h *history.History, d *derived) [][]part {
	out := steps(v.Story)
	if h == nil {
		for i := range out {
			for k := range out[i] {
				out[i][k].T = "" // there is no timeline to lead to
			}
		}
		return out
	}
	ops := named(v, h, d)
	for i := range out {
		who := []string{}
		for k := range out[i] {
			p := &out[i][k]
			if p.T == "" {
				if all := stepWho.FindAllStringSubmatch(p.Text, -1); len(all) > 0 {
					who = all[len(all)-1]
				}
				continue
			}
			p.Op = about(ops, h, who, p.T)
		}
	}
	return out
}

// about finds the operation of a worker (the match of stepWho; empty: anybody) that has to
// do with a time, given to the millisecond; 0: none.
func about(ops []*history.Operation, h *history.History, who []string, at string) int64 {
	t, err := strconv.ParseFloat(at, 64)
	if err != nil {
		return 0
	}
	best, least := int64(0), 0.0006 // rounding, and what it takes to compute seconds
	for _, o := range ops {
		if len(who) > 0 && (who[1] != strconv.Itoa(o.Client) || who[2] != "" && who[2] != strconv.Itoa(o.Worker)) {
			continue
		}
		moments := []int64{o.Invoke}
		if o.Return != history.Never {
			moments = append(moments, o.Return)
		}
		if o.Validity > 0 {
			moments = append(moments, leaseStart(o)+o.Validity)
		}
		for _, m := range moments {
			if far := math.Abs(h.Seconds(m) - t); far < least {
				best, least = o.ID, far
			}
		}
	}
	return best
}
