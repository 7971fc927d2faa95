package locks

import "slices"

// The faults that expectations are keyed by. What is expected under none, mere contention,
// is expected under every fault. restart-empty is kill-node on a server without persistence.
const (
	noFault      = "none"
	killClient   = "kill-client"
	pauseClient  = "pause-client"
	restartEmpty = "restart-empty"
	killNode     = "kill-node"
	pauseNode    = "pause-node"
)

// The ids of the properties, as plain words: locks does not know the checkers.
const (
	mutualExclusion   = "mutual-exclusion"
	leaseExclusion    = "lease-exclusion"
	linearizableLock  = "linearizable-lock"
	ownership         = "ownership"
	liveness          = "liveness"
	reentrancy        = "reentrancy"
	noLostUpdate      = "no-lost-update"
	linearizableStock = "linearizable-stock"
	noOversell        = "no-oversell"
)

func single() []string { return []string{"single"} }

// onePrimary are the topologies on which a lock on one Redis runs: its client follows the
// primary.
func onePrimary() []string { return []string{"single", "failover"} }

// lockPromises are what every source claims of its lock.
func lockPromises() []string {
	return []string{mutualExclusion, leaseExclusion, linearizableLock, ownership, liveness}
}

// expectations collects weaknesses; of two on the same fault and property the certain one
// stays, and of two equal ones the first.
type expectations []Weakness

func (e expectations) add(w Weakness) expectations {
	at := slices.IndexFunc(e, func(o Weakness) bool { return o.Fault == w.Fault && o.Property == w.Property })
	switch {
	case at < 0:
		return append(e, w)
	case e[at].May && !w.May:
		e[at] = w
	}
	return e
}

// will expects properties to be violated in nearly every run.
func (e expectations) will(fault, why string, properties ...string) expectations {
	for _, p := range properties {
		e = e.add(Weakness{Fault: fault, Property: p, Why: why})
	}
	return e
}

// may expects properties to be violated by luck, or depending on deduction or flags.
func (e expectations) may(fault, why string, properties ...string) expectations {
	for _, p := range properties {
		e = e.add(Weakness{Fault: fault, Property: p, May: true, Why: why})
	}
	return e
}

// overlap expects two clients in the section at once. An owner-aware mutex then cannot
// explain the record, and the stock suffers from the deductions that trust the lock.
func (e expectations) overlap(fault, why string) expectations {
	return e.will(fault, why, mutualExclusion, linearizableLock).stock(fault)
}

// mayOverlap is overlap where it depends on luck.
func (e expectations) mayOverlap(fault, why string) expectations {
	return e.may(fault, why, mutualExclusion, linearizableLock).stock(fault)
}

func (e expectations) stock(fault string) expectations {
	return e.may(fault, "two clients in the section: a deduction that needs the lock reads a level that the other is about to change",
		noLostUpdate, linearizableStock, noOversell)
}

// outlived is what every lock with a TTL shows when its holder stands still for longer.
func (e expectations) outlived() expectations {
	return e.overlap(pauseClient, "the lock expires while its holder stands still, and the holder goes on as if it had it")
}

// misdeletes is what a release by plain DEL adds to an outlived lease.
func (e expectations) misdeletes() expectations {
	return e.will(pauseClient, "the late holder's DEL frees the lock of whoever has it by then", ownership).
		may(pauseClient, "the late DEL lets a third client in while the second one's lease runs", leaseExclusion).
		misdeletesLate()
}

// misdeletesLate is the misdelete by a DEL that its client gave up waiting for.
func (e expectations) misdeletesLate() expectations {
	return e.mayOverlap(pauseNode, "commands that timed out are executed when the server goes on: a late DEL frees the next holder's lock").
		may(pauseNode, "a late DEL frees the next holder's lock, whose own DEL then frees the one after", leaseExclusion, ownership)
}

// forgotten is what every lock on one server shows when that server loses its memory.
func (e expectations) forgotten() expectations {
	const why = "the server comes back without the lock while its holder may still be in the section"
	return e.mayOverlap(restartEmpty, why).may(restartEmpty, why, leaseExclusion)
}

// forgottenPlain is forgotten for a release by plain DEL.
func (e expectations) forgottenPlain() expectations {
	return e.forgotten().may(restartEmpty, "the old holder's DEL frees the lock of the new one", ownership)
}

// orphaned is what a lock without TTL shows when releases cannot reach the server, and when
// acquires do without their client's knowledge.
func (e expectations) orphaned() expectations {
	return e.may(killNode, "a release fails while the server is down, or an acquire's reply is lost, and the key without TTL survives the restart", liveness).
		// Whether it finds the lock free depends on the order in which the server reads its sockets.
		may(pauseNode, "an acquire that timed out is executed when the server goes on: a lock that nobody knows of, without a TTL", liveness)
}
