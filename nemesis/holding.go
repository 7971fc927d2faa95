package nemesis

import (
	"cmp"
	"fmt"
	"slices"
)

// freshHolder is the worker whose hold has most time left: the one that was granted its
// lock last; since the trigger, if a grant was the trigger, and of the client whose frame
// was it, if that holds. Faults on servers, which do not stop the holder, want it.
func (w World) freshHolder() (Holding, bool) {
	all, err := w.holdings(Planned{Target: Holder})
	if err != nil || len(all) == 0 {
		return Holding{}, false // after an error the next look will tell
	}
	return slices.MaxFunc(all, func(a, b Holding) int {
		if w.Hit != nil && a.Client != b.Client {
			switch w.Hit.Client {
			case a.Client:
				return 1
			case b.Client:
				return -1
			}
		}
		return cmp.Compare(a.Since, b.Since)
	}), true
}

// holds says whether the hold goes on, by all that is recorded until now. A release is
// recorded before its first byte is sent: while there is none, the holder has not given
// the lock back.
func (w World) holds(h Holding) (bool, error) {
	all, err := w.Clients.Holders()
	return slices.ContainsFunc(all, func(o Holding) bool { return o.Client == h.Client && o.Worker == h.Worker && o.Grant == h.Grant }), err
}

func (h Holding) inWords(w World) string {
	return fmt.Sprintf("worker %d of client %d holds %s since %.3f s, no release recorded", h.Worker, h.Client, h.Object, w.Seconds(h.Since))
}
