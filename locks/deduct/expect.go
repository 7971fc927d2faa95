package deduct

import "picklock/locks"

// twice is what a write shows that is sent again although it may have been done.
func twice() []locks.Weakness {
	return perhaps("a write that was done without an answer is sent again: one operation takes two units",
		[]string{
			"drop-reply", "delay-reply", "delay-request", "reset-connection", "slow-wire", "slow-node", "pause-node", "kill-node",
			"partition-client", "isolate-node", "cut-one-way", "storm",
		},
		"no-oversell", "linearizable-stock")
}

// late is what a write shows that trusts an earlier read: when it is still on its way as its
// client gives up and gives back the lock, it meets the next holder, even under a lock
// that never expires.
func late(properties ...string) []locks.Weakness {
	return perhaps("a write that its client gave up waiting for is done after the lock went to the next holder",
		[]string{"delay-request", "slow-wire", "slow-node", "partition-client", "isolate-node", "cut-one-way", "storm"}, properties...)
}

// perhaps expects properties to be violated under each of the faults, by luck.
func perhaps(why string, faults []string, properties ...string) []locks.Weakness {
	var known []locks.Weakness
	for _, fault := range faults {
		for _, property := range properties {
			known = append(known, locks.Weakness{Fault: fault, Property: property, May: true, Why: why})
		}
	}
	return known
}
