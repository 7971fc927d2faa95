package fast

// Mistakes that tests plant in the checker of leases, to see that they would be found.
const (
	quirkLeaseTouch       quirk = 1 << (20 + iota) // what ends at a moment overlaps what starts at it
	quirkLeaseWindowOpen                           // the two ends of a window are not part of it
	quirkLeaseNoWindows                            // windows are skipped
	quirkLeaseNoFrees                              // frees are ignored
	quirkLeaseNoMax                                // a release can be as late as it likes
	quirkLeaseNoNotHeld                            // answers "not held" are ignored
	quirkLeaseCoreAtCall                           // a core starts with the call of the acquire
	quirkLeaseMinIsMax                             // nobody else holds before Max
	quirkLeaseLongIllegal                          // loose holds that do not fit at once never do
	quirkLeaseLongLegal                            // loose holds always fit
	quirkLeaseUnknownHeld                          // an acquire that may have happened did
	quirkLeaseOrder                                // holds come in the order of their earliest starts
)
