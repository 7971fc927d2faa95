package nemesis

import (
	"slices"
	"sync"
)

// aspect is what a fault takes of its target for as long as it works. Two faults that
// take the same aspect of one target would undo each other's work.
type aspect string

// The aspects.
const (
	nothing aspect = ""        // what works on the wire takes nothing of its ends
	ending  aspect = "ending"  // its process ends or is started anew: kill, power loss, another configuration
	running aspect = "running" // its process is stopped and continued
	clock   aspect = "clock"   // the time that it sees
	data    aspect = "data"    // what it keeps: commands are sent to it
	link    aspect = "link"    // packets between it and other nodes
	section aspect = "section" // a client's worker is kept in its section
)

// against says whether two faults with these aspects of one target contradict each other.
// A process that ends takes everything with it but the state of the network. A stopped
// server obeys no command.
func (a aspect) against(b aspect) bool {
	if a == nothing || b == nothing {
		return false
	}
	if a == b {
		return true
	}
	pair := func(x, y aspect) bool { return a == x && b == y || a == y && b == x }
	if a == ending || b == ending {
		return !pair(ending, link)
	}
	return pair(running, data) || pair(running, section)
}

// claims are what the faults of one test have taken. The zero value is ready.
type claims struct {
	mu    sync.Mutex
	taken map[string][]claim // by name of the target: "client 3", "node lock-1"
}

type claim struct {
	fault int
	as    aspect
}

// claimant is one fault's access to the claims. Its zero value claims nothing and finds
// everything free.
type claimant struct {
	all   *claims
	fault int
}

// free says whether the fault could take the target.
func (c claimant) free(as aspect, target string) bool {
	if c.all == nil {
		return true
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	return c.possible(as, target)
}

func (c claimant) possible(as aspect, target string) bool {
	return !slices.ContainsFunc(c.all.taken[target], func(o claim) bool { return o.fault != c.fault && o.as.against(as) })
}

// take takes all the targets, or none of them if one is not free.
func (c claimant) take(as aspect, targets ...string) bool {
	if c.all == nil {
		return true
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	for _, t := range targets {
		if !c.possible(as, t) {
			return false
		}
	}
	if c.all.taken == nil {
		c.all.taken = map[string][]claim{}
	}
	for _, t := range targets {
		c.all.taken[t] = append(c.all.taken[t], claim{c.fault, as})
	}
	return true
}

// drop gives back whatever the fault has taken.
func (c claimant) drop() {
	if c.all == nil {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	for t, list := range c.all.taken {
		c.all.taken[t] = slices.DeleteFunc(list, func(o claim) bool { return o.fault == c.fault })
	}
}
