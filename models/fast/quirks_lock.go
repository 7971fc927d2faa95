package fast

// Mistakes that can be planted in the lock checker, to show that the differential tests
// would find them. Nothing but a test plants any.
const (
	quirkTouching        quirk = 1 << iota // holds that touch are taken for overlapping
	quirkNoWindow                          // windows are not looked at
	quirkWindowEnds                        // a window's own ends are not a part of it
	quirkDeafRelease                       // a release that may have happened never does
	quirkProofless                         // a release does not prove an unknown acquire
	quirkNotHeld                           // "not held" is not looked at
	quirkFromCall                          // a hold counts from the acquire's call
	quirkToReturn                          // a hold counts to the release's return
	quirkFenceTwice                        // two holds may have the same fence
	quirkSkipClusters                      // what is left to porcupine is taken for legal
	quirkOneMore                           // a permit more than there is
	quirkFreeOne                           // the death of an owner ends one of its holds only
	quirkReleaseOfNobody                   // a release without a hold is legal
	quirkNeedless                          // an unknown acquire is left out though its owner may need it
)
