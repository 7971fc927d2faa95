package nemesis

import "slices"

// All lists the kinds.
func All() []Kind {
	return []Kind{
		pauseClient(),
		killClient(),
		hangWorker(),
		clockClient(),
		misconfigureClient(),
		partitionClient(),
		slowWire(),
		slowNode(),
		dropRequest(),
		dropReply(),
		delayRequest(),
		delayReply(),
		resetConnection(),
		pauseNode(),
		killNode(),
		powerLoss(),
		partitionReplica(),
		partitionPrimary(),
		isolateNode(),
		cutOneWay(),
		failover(),
		stalePromotion(),
		clockNode(),
		fillMemory(),
		flush(),
		deleteKey(),
		scriptFlush(),
	}
}

// Find looks a kind up by its name.
func Find(name string) (Kind, bool) {
	all := All()
	at := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if at < 0 {
		return Kind{}, false
	}
	return all[at], true
}
