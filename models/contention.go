package models

// contended counts the pairs of operations of different workers on one object that
// overlapped while one of them waited. With locks: from the invocation of an acquire to
// the end of the hold that it led to, so that a pair is one that waits and one that waits
// or holds. Without locks: deductions of one SKU that overlapped.
func contended(r *record) int {
	pairs := 0
	if len(r.p.Promises) > 0 {
		asked := false
		for _, name := range r.names {
			all := make([]busy, 0, len(r.byLock[name]))
			for _, g := range r.byLock[name] {
				if g.outer == nil {
					continue
				}
				end := r.clip(g.returned)
				if g.hold != nil {
					end = g.hold.to
				}
				all = append(all, busy{span{g.invoked, end}, g.worker})
			}
			asked = asked || len(all) > 0
			pairs += overlapping(all)
		}
		if asked {
			return pairs
		}
	}
	objects, numbers := map[string][]busy{}, workers{}
	for _, d := range r.deducts {
		objects[d.Object] = append(objects[d.Object], busy{span{d.Invoke, r.clip(d.Return)}, numbers.of(d)})
	}
	for _, all := range objects {
		pairs += overlapping(all)
	}
	return pairs
}

// busy is a stretch in which a worker waited or held.
type busy struct {
	span
	worker int32 // its number
}

// overlapping counts the pairs of different workers of which one began while the other was
// busy. It sorts all in place. Taken by their starts, each pairs with those that are open
// then: the ones that began before it and are not over, of which the ends, in order, tell
// the number. So operations that never end cost no more than others.
func overlapping(all []busy) int {
	sortBy(all, func(b *busy) int64 { return b.from })
	ends := make([]busy, 0, len(all))
	for _, b := range all {
		if !b.empty() { // an empty one is over before anything else begins
			ends = append(ends, b)
		}
	}
	sortBy(ends, func(b *busy) int64 { return b.to })
	pairs, over, began := 0, 0, 0
	most := int32(-1)
	for i := range all {
		most = max(most, all[i].worker)
	}
	open := make([]int, most+1) // by worker
	for _, b := range all {
		for over < len(ends) && ends[over].to <= b.from {
			open[ends[over].worker]--
			over++
		}
		pairs += began - over - open[b.worker]
		if !b.empty() {
			open[b.worker]++
			began++
		}
	}
	return pairs
}
