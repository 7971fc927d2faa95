package reports

import (
	"cmp"
	"slices"
	"sync"

	"picklock/harness/history"
	"picklock/models"
)

// ending says what ended a hold.
type ending uint8

const (
	endOpen     ending = iota // the record ends first
	endReleased               // the client invoked its release
	endDied                   // the client process is proven dead
	endLost                   // the client learned that it no longer holds the lock
)

// lane is one row of the timeline: a worker of a client.
type lane struct{ Client, Worker int }

// hold is a time in which a client believes that it owns a lock, with the part of it
// that the lock vouches for. Times are ns of the record.
type hold struct {
	Acquire  int // index into History.Operations
	Lane     int
	From, To int64
	Ending   ending
	// Lease is the time to which the lock vouches: Never for a lock without TTL, and the
	// hold's own start where the client entered although nothing was granted.
	Lease int64
	// Remains is the time to which the lease goes on without its client: it died, or went
	// away without a release. It is To where nothing remains.
	Remains int64
	// Depth counts the holds of the same worker that were open when this one began.
	Depth int
	// Nested: the client had the lock already, by the same grant.
	Nested bool
}

// derived is what a picture needs to know of a history.
type derived struct {
	Lanes  []lane
	LaneOf []int32 // by index of operation
	// Ends are the operations' ends as they can be drawn: an operation that has no known
	// return ends where its worker is next heard of, dies, or the record stops.
	Ends  []int64
	Index *history.Index // operation id to index
	Holds []hold         // by From
}

// derive works out lanes, holds and leases. A hold goes from the return of an acquire
// that succeeded (or after which the client entered all the same) to the first of: the
// invocation of its release, the client's death, the client's own discovery of the
// loss, the end of the record. Its lease is counted from the start of the attempt that
// was granted, and prolonged by each successful extend, counted from that one's start.
func derive(h *history.History) *derived {
	d := &derived{
		LaneOf: make([]int32, len(h.Operations)),
		Ends:   make([]int64, len(h.Operations)),
		Index:  h.Index(),
	}
	d.lanes(h)
	var ends sync.WaitGroup
	ends.Go(func() { d.ends(h) })
	d.holds(h)
	ends.Wait()
	return d
}

func (d *derived) lanes(h *history.History) {
	numbers := map[lane]int32{} // in the order in which they are first heard of
	var recent [1 << recentLanes]struct {
		lane
		n int32 // plus one; 0: none
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		l := lane{o.Client, o.Worker}
		near := &recent[uint64(31*l.Client+l.Worker)*0x9e3779b97f4a7c15>>(64-recentLanes)]
		if near.n == 0 || near.lane != l {
			n, known := numbers[l]
			if !known {
				n = int32(len(d.Lanes))
				numbers[l] = n
				d.Lanes = append(d.Lanes, l)
			}
			near.lane, near.n = l, n+1
		}
		d.LaneOf[i] = near.n - 1
	}
	slices.SortFunc(d.Lanes, func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Worker, b.Worker))
	})
	place := make([]int32, len(d.Lanes))
	for i, l := range d.Lanes {
		place[numbers[l]] = int32(i)
	}
	for i, n := range d.LaneOf {
		d.LaneOf[i] = place[n]
	}
}

// recentLanes is how many lanes are at hand without a look into a map, in bits.
const recentLanes = 8

func (d *derived) ends(h *history.History) {
	next := make([]int64, len(d.Lanes)) // invocation that follows in the lane
	for i := range next {
		next[i] = h.End
	}
	for i := len(h.Operations) - 1; i >= 0; i-- {
		o := &h.Operations[i]
		d.Ends[i] = o.Return
		if o.Return == history.Never {
			end := next[d.LaneOf[i]]
			if t, dies := deathAfter(h, o.Client, o.Invoke); dies {
				end = min(end, t)
			}
			d.Ends[i] = max(o.Invoke, end)
		}
		next[d.LaneOf[i]] = o.Invoke
	}
}

func (d *derived) holds(h *history.History) {
	// By the acquire that a grant is named after.
	released := make([]int64, len(h.Operations)) // the first release's invocation plus one; 0: none
	extended := make([]int64, len(h.Operations)) // the end of the prolonged lease
	clear(released)                              // touched by a write first: after a read the kernel would have to give the memory twice
	open := map[int][]int{}                      // by outer acquire: it and those on top of it that are open, where there are any
	for i := range h.Operations {
		o := &h.Operations[i]
		if nested(o) && enters(o) {
			if at, known := d.Index.Find(o.Grant); known {
				if open[at] == nil {
					open[at] = []int{at}
				}
				open[at] = append(open[at], i)
			}
		}
		extends := o.Op == history.Extend && o.Outcome == history.OutcomeOK && o.Validity > 0
		if o.Op != history.Release && !extends {
			continue
		}
		at, known := d.Index.Find(o.Grant)
		switch {
		case !known:
		case extends:
			extended[at] = max(extended[at], leaseStart(o)+o.Validity)
		case len(open[at]) > 1: // it gives back what was taken last
			all := open[at]
			last := len(all) - 1
			released[all[last]] = o.Invoke + 1
			open[at] = all[:last]
			if o.Outcome == history.OutcomeFail && o.Code == history.CodeNotHeld { // late news
				for _, i := range all[:last] {
					released[i] = o.Return + 1
				}
				open[at] = nil
			}
		case released[at] == 0 || o.Invoke < released[at]-1:
			released[at] = o.Invoke + 1
		}
	}
	lost := map[int64]int64{}
	for _, l := range h.Losses {
		if t, twice := lost[l.Grant]; !twice || l.Time < t {
			lost[l.Grant] = l.Time
		}
	}
	// In the order of their starts: holds are large, and moving them about would cost more
	// than all the rest.
	type start struct {
		at      int64
		acquire int32
	}
	starts := make([]start, 0, len(h.Operations)/3)
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Op == history.Acquire && o.Return != history.Never && (o.Outcome == history.OutcomeOK || enters(o)) {
			starts = append(starts, start{o.Return, int32(i)})
		}
	}
	models.SortBy(starts, func(s *start) int64 { return s.at })
	d.Holds = make([]hold, 0, len(starts))
	for _, s := range starts {
		i := int(s.acquire)
		o := &h.Operations[i]
		granted, enters := o.Outcome == history.OutcomeOK, enters(o)
		x := hold{Acquire: i, Lane: int(d.LaneOf[i]), From: o.Return, To: max(h.End, o.Return), Lease: o.Return, Nested: nested(o)}
		switch {
		case !granted:
		case o.Validity <= 0:
			x.Lease = history.Never
		default:
			x.Lease = max(leaseStart(o)+o.Validity, extended[i])
		}
		if t := released[i] - 1; t >= 0 && t <= x.To {
			x.To, x.Ending = t, endReleased
		}
		if t, ok := deathAfter(h, o.Client, x.From); ok && t < x.To {
			x.To, x.Ending = t, endDied
		}
		if t, ok := lost[cmp.Or(o.Grant, o.ID)]; ok && t < x.To {
			x.To, x.Ending = max(t, x.From), endLost
		}
		if !enters { // granted, but the client went away
			x.To, x.Ending = x.From, endLost
		}
		x.Remains = x.To
		if x.Ending == endDied || !enters {
			x.Remains = max(x.To, min(x.Lease, h.End))
		}
		d.Holds = append(d.Holds, x)
	}
	d.cutRemains(h)
	d.depths()
}

// enters says whether the client goes into the section after this acquire.
func enters(o *history.Operation) bool {
	return o.Return != history.Never && (o.Outcome == history.OutcomeOK && o.Belief != history.BelievesNot || o.Belief == history.BelievesHeld)
}

// nested says whether an acquire went on top of a grant that its worker already had.
func nested(o *history.Operation) bool {
	return o.Op == history.Acquire && o.Grant != 0 && o.Grant != o.ID
}

// cutRemains ends what remains of a lease where the lock was granted anew: it cannot
// have gone on.
func (d *derived) cutRemains(h *history.History) {
	for i := range d.Holds {
		x := &d.Holds[i]
		if x.Remains == x.To {
			continue
		}
		for _, y := range d.Holds[i+1:] {
			if y.From >= x.Remains {
				break
			}
			if y.Lease > y.From && y.From > x.To &&
				h.Operations[y.Acquire].Object == h.Operations[x.Acquire].Object {
				x.Remains = y.From
			}
		}
	}
}

func (d *derived) depths() {
	open := make([][]int64, len(d.Lanes)) // ends of the holds that may still be open
	for i := range d.Holds {
		x := &d.Holds[i]
		ends := slices.DeleteFunc(open[x.Lane], func(t int64) bool { return t <= x.From })
		x.Depth = len(ends)
		open[x.Lane] = append(ends, x.To)
	}
}

// vouched is the end of the hold's part that the lock vouches for.
func (x *hold) vouched() int64 { return max(x.From, min(x.To, x.Lease)) }

func leaseStart(o *history.Operation) int64 {
	if o.From > 0 {
		return o.From
	}
	return o.Invoke
}

// deathAfter finds the first death of a client at or after t: a client that was started
// again has the same number.
func deathAfter(h *history.History, client int, t int64) (int64, bool) {
	for _, x := range h.Deaths {
		if x.Client == client && x.Time >= t {
			return x.Time, true
		}
	}
	return 0, false
}
