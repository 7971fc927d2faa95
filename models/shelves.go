package models

// shelves sorts things by the SKU that they are about, each list in the order of the
// things, without growing any: with a million things that would be most of the work.
func shelves[T any](n int, at func(int) (sku string, thing T)) map[string][]T {
	number := map[string]int{}
	var counts []int
	of := make([]int32, n)
	for i := range n {
		sku, _ := at(i)
		k, known := number[sku]
		if !known {
			k = len(counts)
			number[sku] = k
			counts = append(counts, 0)
		}
		counts[k]++
		of[i] = int32(k)
	}
	lists := make([][]T, len(counts))
	room := make([]T, n)
	for k, c := range counts {
		lists[k], room = room[:0:c], room[c:]
	}
	for i := range n {
		_, thing := at(i)
		lists[of[i]] = append(lists[of[i]], thing)
	}
	all := make(map[string][]T, len(lists))
	for sku, k := range number {
		all[sku] = lists[k]
	}
	return all
}
