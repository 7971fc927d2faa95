package models

import (
	"slices"
	"strings"

	"picklock/harness/history"
)

// Where a lock's one server changes, two servers may take writes at once: the old primary,
// which somebody cut off or has not told yet, and the promoted replica. Each has keys of its
// own then, and a release on the one leaves the other's alone.
//
// A reign is a stretch in which one server took writes without being a replica. Keys come
// into a reign by commands of clients, and at its beginning: those that the server had
// copied from another one. So an effect can only have met keys that were written in its
// own reign, or before that began.

// reigns are those of all servers, as they were observed.
type reigns map[uint8]*served

// served is what is known of one server. Its reign i ended when the server was first seen
// as a replica, at ended[i] at the latest; the next one began after that. It began at
// begun[i] at the latest, when it was first seen as primary; Never: it was not seen.
type served struct{ ended, begun []int64 }

// readReigns takes them from the roles. A server that does not answer is what it was. One
// that was a replica for a shorter time than lies between two looks at it went unseen; no
// failover there and back is as quick as that.
func (r *record) readReigns() reigns {
	all := reigns{}
	replica := map[uint8]bool{}
	for _, x := range r.Roles {
		if x.Server == history.ServerUnknown {
			continue
		}
		s := all[x.Server]
		if s == nil {
			s = &served{begun: []int64{history.Never}}
			all[x.Server] = s
		}
		now := &s.begun[len(s.begun)-1]
		switch {
		case x.Role == history.Primary:
			*now, replica[x.Server] = min(*now, x.Time), false
		case strings.HasPrefix(x.Role, "replica") && !replica[x.Server]:
			s.ended, s.begun = append(s.ended, x.Time), append(s.begun, history.Never)
			replica[x.Server] = true
		}
	}
	return all
}

// reign is when an operation took effect: in one of the reigns low to high of the server.
type reign struct{ low, high int }

func (r reign) sure() bool         { return r.low == r.high }
func (r reign) equal(o reign) bool { return r.sure() && r == o }

// of tells the reign of an acknowledged operation.
func (all reigns) of(o *history.Operation) reign {
	s := all[o.Server]
	if s == nil {
		return reign{}
	}
	low, exact := slices.BinarySearch(s.ended, from(o))
	if exact {
		low++
	}
	high, _ := slices.BinarySearch(s.ended, o.Return)
	return reign{low, max(low, high)}
}

// latest is the last moment at which the reign of an operation can have begun.
func (all reigns) latest(o *history.Operation) int64 {
	if s := all[o.Server]; s != nil {
		return s.begun[all.of(o).high]
	}
	return history.Never
}

// placed says whether the record tells one server of an operation.
func placed(o *history.Operation) bool {
	return o.Server != history.ServerUnknown && o.Server != history.ServerSeveral
}

// together says whether two operations certainly met the same keys.
func (all reigns) together(a, b *history.Operation) bool {
	return placed(a) && a.Server == b.Server && all.of(a).equal(all.of(b))
}

// inherits says whether o, an effect for the grant own (nil: it was never granted), can have
// met the key of the grant x, which was asked for after own had returned.
func (all reigns) inherits(o, own, x *history.Operation) bool {
	if !placed(o) || !placed(x) {
		return true
	}
	if o.Server == x.Server {
		return true // in the reign of x, or in a later one, which began with its keys
	}
	if own != nil && all.together(o, own) {
		return false // the reign had begun when own was granted, and x came later
	}
	return from(x) < all.latest(o)
}

// node is the name of the server with a number; "": the record does not tell.
func (r *record) node(server uint8) string {
	i := slices.IndexFunc(r.Roles, func(x history.Role) bool { return x.Server == server })
	if server == history.ServerUnknown || i < 0 {
		return ""
	}
	return r.Roles[i].Node
}
