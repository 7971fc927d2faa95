package models

import "picklock/harness/history"

// fairness gives Jain's index of the grants per worker that asked for a lock, and the
// longest time in s for which a worker that asked went without a grant: from its first
// acquire after its last grant to its next grant, or else to the end of its last acquire.
// Source: Jain, Chiu, Hawe: A Quantitative Measure of Fairness (DEC-TR-301, 1984).
func fairness(r *record) (jain, starved float64) {
	type worker struct {
		grants float64
		asking bool
		since  int64
	}
	workers := map[[2]int]*worker{}
	longest := int64(0)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Op != history.Acquire {
			continue
		}
		key := [2]int{o.Client, o.Worker}
		w := workers[key]
		if w == nil {
			w = &worker{}
			workers[key] = w
		}
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
	sum, squares := 0.0, 0.0
	for _, w := range workers {
		sum += w.grants
		squares += w.grants * w.grants
	}
	if squares > 0 {
		jain = sum * sum / (float64(len(workers)) * squares)
	}
	return jain, float64(longest) / 1e9
}
