package history

// Index finds things by the IDs of operations. It is made for IDs that lie close together,
// as those of one process do: then it takes some 5 bytes for each, and neighbours are
// found in one line of the cache. IDs that lie apart cost some 100 bytes each. The zero
// value is empty and ready. Several may call Get at once while nobody calls Put.
type Index struct {
	pages  map[int64]*page
	recent [1 << recentBits]recentPage // where Put was last
	free   []page
	n      int
}

// recentPage is a page with its number. Those who write a history side by side have each
// a stretch of IDs, and so a page, of their own.
type recentPage struct {
	number int64
	page   *page
}

const recentBits = 8

const pageBits = 4

// page holds what stands at the IDs of one stretch, plus one; 0: nothing.
type page [1 << pageBits]int32

// Len is the number of IDs that have something.
func (x *Index) Len() int { return x.n }

// Get gives what was put at id; false: nothing.
func (x *Index) Get(id int64) (int, bool) {
	p := x.pages[id>>pageBits]
	if p == nil {
		return 0, false
	}
	v := p[id&(1<<pageBits-1)]
	return int(v) - 1, v != 0
}

// Find is Get for one caller alone, not beside others: it is faster where the IDs lie close
// to those of the last calls.
func (x *Index) Find(id int64) (int, bool) {
	number := id >> pageBits
	near := x.near(number)
	if near.page == nil || near.number != number {
		p := x.pages[number]
		if p == nil {
			return 0, false
		}
		near.page, near.number = p, number
	}
	v := near.page[id&(1<<pageBits-1)]
	return int(v) - 1, v != 0
}

func (x *Index) near(number int64) *recentPage {
	return &x.recent[uint64(number)*0x9e3779b97f4a7c15>>(64-recentBits)]
}

// View is the same index for one more caller of Find. Nobody may call Put any more.
func (x *Index) View() *Index {
	same := *x
	return &same
}

// Put puts v, which must be at least 0 and below 2^31-1, at id.
func (x *Index) Put(id int64, v int) {
	number := id >> pageBits
	near := x.near(number)
	if near.page == nil || near.number != number {
		p := x.pages[number]
		if p == nil {
			p = x.page(number)
		}
		near.page, near.number = p, number
	}
	at := &near.page[id&(1<<pageBits-1)]
	if *at == 0 {
		x.n++
	}
	*at = int32(v + 1)
}

// page makes a new page; they come in blocks.
func (x *Index) page(number int64) *page {
	if len(x.free) == 0 {
		x.free = make([]page, 256)
	}
	p := &x.free[0]
	x.free = x.free[1:]
	if x.pages == nil {
		x.pages = map[int64]*page{}
	}
	*p = page{} // the first touch is a write: after a read the kernel would have to give the memory twice
	x.pages[number] = p
	return p
}
