package fast

// The mistakes in the stock checker.
const (
	stockOpenInterval   quirk = 1 << iota // a return at the moment of a call counts as before it
	stockUnknownIgnored                   // a take that may have happened fills no gap
	stockGapSkipped                       // levels that nobody names need no filler
	stockDeadlineOff                      // a filler may be called one moment too late
	stockRefuseIgnored                    // every refusal is right
	stockRefuseLow                        // a refusal needs the level below Qty-1
	stockTieWrong                         // reads of a level come before the take that left it
	stockFirstReadOnly                    // of several reads of a level only the first is looked at
	stockTookOptional                     // a take that is certain need not find its place
	stockTookAnytime                      // a filler may have returned before the gap began
	stockBelowZero                        // a level below zero is illegal
	stockRefuseNoFill                     // a refusal does not wait for fillers below the last level
	stockHeadClosed                       // before an unknown start nothing can have been taken
	stockDominance                        // search: of states that used different steps the first is kept
	stockEagerWrong                       // search: a read is done at whatever level there is
	stockSomeOrder                        // search: of two steps that are alike the last to return is first
	stockWaysFew                          // search: of several ways to reach a level one is tried
	stockSpare                            // search: more that is done is better, whatever it cost
)
