package models

import (
	"cmp"
	"slices"
)

// contended counts the pairs of operations of different workers on one object that
// overlapped while one of them waited. With locks: from the invocation of an acquire to
// the end of the hold that it led to, so that a pair is one that waits and one that waits
// or holds. Without locks: deductions of one SKU that overlapped.
func contended(r *record) int {
	type busy struct {
		span
		worker [2]int
	}
	objects := map[string][]busy{}
	for _, name := range r.names {
		for _, g := range r.byLock[name] {
			for _, a := range g.acquires {
				if a != g.outer {
					continue
				}
				end := r.clip(a.Return)
				if h := r.believed(g); h != nil {
					end = h.to
				}
				objects[name] = append(objects[name], busy{span{a.Invoke, end}, [2]int{a.Client, a.Worker}})
			}
		}
	}
	if len(objects) == 0 || len(r.p.Promises) == 0 {
		clear(objects)
		for _, d := range r.deducts {
			objects[d.Object] = append(objects[d.Object], busy{span{d.Invoke, r.clip(d.Return)}, [2]int{d.Client, d.Worker}})
		}
	}
	pairs := 0
	for _, all := range objects {
		slices.SortFunc(all, func(a, b busy) int { return cmp.Compare(a.from, b.from) })
		var open []busy
		for _, b := range all {
			still := open[:0]
			for _, o := range open {
				if o.to <= b.from {
					continue
				}
				still = append(still, o)
				if o.worker != b.worker {
					pairs++
				}
			}
			open = append(still, b)
		}
	}
	return pairs
}
