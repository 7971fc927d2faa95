package locks

// fencingTokens is the id of the property that tokens grow.
const fencingTokens = "fencing"

// mayOverlapBy is mayOverlap where the lock itself grants twice, so that leases overlap too.
func (e expectations) mayOverlapBy(fault, why string) expectations {
	return e.mayOverlap(fault, why).may(fault, why, leaseExclusion)
}

// heldTooLong is what every lock shows whose holder is not told that its lease is over.
func (e expectations) heldTooLong() expectations {
	for _, fault := range append(slow(), hangWorker, partitionClient, isolateNode, cutOneWay) {
		e = e.mayOverlap(fault, "the holder works on after the end of its lease: it hangs, waits for a slow stock, or is cut off from the lock alone")
	}
	return e
}

// losesKeys is what a lock shows whose servers lose its key or end its TTL early.
func (e expectations) losesKeys(why string) expectations {
	for _, fault := range append(operator(), restartEmpty, clockNode) {
		e = e.mayOverlapBy(fault, why)
	}
	return e.may(clockNode, "a clock that steps back stretches the lease of a holder that died or could not release", liveness)
}

// promoted is what a lock shows whose server is replaced by a replica that has not heard of
// it, or that serves its own side of a cut.
func (e expectations) promoted() expectations {
	for _, fault := range promotion() {
		e = e.mayOverlapBy(fault, "a replica is promoted that has not heard of the lock, or the old primary goes on granting")
	}
	return e
}

// stormed expects, by luck, all that any single fault can bring out. It comes last.
func (e expectations) stormed() expectations {
	for _, w := range e {
		e = e.may(storm, "a storm mixes the other faults: "+w.Fault, w.Property)
	}
	return e
}
