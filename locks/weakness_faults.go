package locks

// The faults beyond those of weakness.go that expectations are keyed by. failover is also
// what a primary that dies, stands still or is cut off leads to where it has replicas.
const (
	powerLoss          = "power-loss"
	failover           = "failover"
	stalePromotion     = "stale-promotion"
	partitionClient    = "partition-client"
	partitionReplica   = "partition-replica"
	partitionPrimary   = "partition-primary"
	isolateNode        = "isolate-node"
	cutOneWay          = "cut-one-way"
	clockNode          = "clock-node"
	clockClient        = "clock-client"
	slowNode           = "slow-node"
	slowWire           = "slow-wire"
	dropReply          = "drop-reply"
	delayReply         = "delay-reply"
	delayRequest       = "delay-request"
	resetConnection    = "reset-connection"
	fillMemory         = "fill-memory"
	flush              = "flush"
	deleteKey          = "delete-key"
	scriptFlush        = "script-flush"
	hangWorker         = "hang-worker"
	misconfigureClient = "misconfigure-client"
	storm              = "storm"
	// noAnswer is no fault of the schedule: some acquire or release ended without its outcome
	// known, whatever the reason, be it that the machine stood still.
	noAnswer = "no-answer"
)

// traits are what decides how a lock on one Redis fares under the faults.
type traits struct {
	expires bool // its key has a TTL
	orphans bool // its key has none, or gets one too late: a lock that nobody knows of stays for ever
	deletes bool // its release may free another's lock: a plain DEL, or a token that others have too
	renews  bool // its holder prolongs its lease
	endless bool // its lease is prolonged for as long as it hangs, by itself or by others
}

// effect is what a group of faults does to the locks that have a trait.
type effect struct {
	faults   []string
	has      func(traits) bool
	why      string
	overlaps bool     // two clients in the section, by luck
	breaks   []string // other properties, by luck
}

func anyLock(traits) bool     { return true }
func expires(t traits) bool   { return t.expires }
func orphans(t traits) bool   { return t.orphans }
func deletes(t traits) bool   { return t.deletes }
func late(t traits) bool      { return t.deletes && t.expires }
func outstays(t traits) bool  { return t.expires && !t.renews }
func unbounded(t traits) bool { return !t.expires || t.endless }

// operator are faults after which the key is gone; promotion those after which another
// server answers, or two do; slow those that let commands or replies arrive late;
// unanswered those that leave a client without the reply to what was executed.
func operator() []string {
	return []string{flush, deleteKey, fillMemory, powerLoss}
}

func promotion() []string {
	return []string{failover, stalePromotion, partitionReplica, partitionPrimary, isolateNode, cutOneWay}
}

func slow() []string {
	return []string{delayReply, delayRequest, slowNode, slowWire}
}

func unanswered() []string {
	return append([]string{
		dropReply, resetConnection, partitionClient, powerLoss, failover, stalePromotion,
		partitionPrimary, isolateNode, cutOneWay,
	}, slow()...)
}

// effects is FAILURES.md's table for locks on one server, as far as luck decides.
func effects() []effect {
	cut := []string{partitionClient, isolateNode, cutOneWay}
	return []effect{
		{operator(), anyLock, "the key is gone while its holder may still be in the section", true, []string{leaseExclusion}},
		{operator(), deletes, "the old holder's release frees the lock of the new one", false, []string{ownership}},
		{promotion(), anyLock, "the server that answers now never heard of the lock", true, []string{leaseExclusion}},
		{promotion(), deletes, "the old holder's release frees the lock of the new one", false, []string{ownership}},
		{[]string{clockNode}, expires, "a clock that steps ahead ends the lease early", true, []string{leaseExclusion}},
		{[]string{clockNode}, late, "a holder whose lease ended early frees the lock of the next", false, []string{ownership}},
		{[]string{clockNode}, expires, "a clock that steps back stretches the lease of a holder that never gave it back", false, []string{liveness}},
		{[]string{clockClient}, func(t traits) bool { return t.renews }, "a clock that stands back renews too late, and knows of no loss", true, nil},
		{cut, expires, "a holder that is cut off works on, or learns of its loss at the very end of its lease", true, nil},
		{slow(), expires, "the holder waits, for its grant or for the stock, for longer than the lease lasts", true, nil},
		{append(cut, slow()...), late, "a release that comes late frees the lock of whoever has it by then", true, []string{leaseExclusion, ownership}},
		{[]string{hangWorker}, outstays, "the lock expires while its holder hangs in the section", true, nil},
		{[]string{hangWorker}, late, "the worker that hung frees the lock of whoever has it by then", false, []string{leaseExclusion, ownership}},
		{append(unanswered(), noAnswer), orphans, "an acquire or a release of unknown outcome leaves a lock that nobody gives back, without a TTL", false, []string{liveness}},
	}
}

// onOneServer expects what the faults beyond weakness.go's do to a lock with these traits;
// it comes last.
func (e expectations) onOneServer(t traits) expectations {
	for _, x := range effects() {
		if !x.has(t) {
			continue
		}
		for _, fault := range x.faults {
			if x.overlaps {
				e = e.mayOverlap(fault, x.why)
			}
			e = e.may(fault, x.why, x.breaks...)
		}
	}
	if unbounded(t) {
		e = e.will(hangWorker, "the lock of a holder that hangs never ends: it has no TTL, or it is renewed for ever", liveness)
	}
	return e.stormed()
}

// resent is what a command adds that is sent again although it may have been executed.
func (e expectations) resent(why string, properties ...string) expectations {
	for _, fault := range append(unanswered(), killNode, pauseNode) {
		e = e.may(fault, why, properties...)
	}
	return e
}
