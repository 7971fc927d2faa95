package models

import "picklock/harness/history"

// fairness gives Jain's index of the grants per worker that asked for a lock, and the
// longest time in s for which a worker that asked went without a grant: from its first
// acquire after its last grant to its next grant, or else to the end of its last acquire.
// Source: Jain, Chiu, Hawe: A Quantitative Measure of Fairness (DEC-TR-301, 1984).
func fairness(r *record) (jain, starved float64) {
	type worker struct {
		grants float64
		asked  bool // ever
		asking bool
		since  int64
	}
	numbers := r.workers
	workers := make([]worker, len(numbers.numbers))
	longest := int64(0)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Op != history.Acquire {
			continue
		}
		w := &workers[numbers.of(o)]
		w.asked = true
		if !w.asking {
			w.asking, w.since = true, o.Invoke
		}
		end := o.Return
		if end == history.Never {
			end = o.Invoke
			if t := r.died(o.Client, o.Invoke); t != history.Never {
				end = t
			}
		}
		longest = max(longest, end-w.since)
		if o.Outcome == history.OutcomeOK {
			w.grants++
			w.asking = false
		}
		if o.Return == history.Never {
			w.asking = false // a new life begins after it
		}
	}
	sum, squares, asked := 0.0, 0.0, 0.0
	for i := range workers {
		w := &workers[i]
		if w.asked {
			asked++
		}
		sum += w.grants
		squares += w.grants * w.grants
	}
	if squares > 0 {
		jain = sum * sum / (asked * squares)
	}
	return jain, float64(longest) / 1e9
}
