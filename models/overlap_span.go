package models

import "picklock/harness/history"

// overlapSpan is the time in ns from the beginning of the first to the end of the last
// stretch in which two believed to hold one lock: the window in which a lock fails, be it
// a moment or for as long as a network is cut. 0: no two ever did.
func (r *record) overlapSpan() int64 {
	all := span{history.Never, 0}
	for _, name := range r.names {
		var open []*hold
		for _, h := range r.locks[name] {
			if h.empty() {
				continue
			}
			still := open[:0]
			for _, o := range open {
				if o.to <= h.from {
					continue
				}
				still = append(still, o)
				if conflict(o, h) {
					all.from, all.to = min(all.from, h.from), max(all.to, min(o.to, h.to))
				}
			}
			open = append(still, h)
		}
	}
	if all.empty() {
		return 0
	}
	return all.to - all.from
}
