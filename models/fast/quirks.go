package fast

// quirk is a mistake that a test plants in a checker, to see that the tests find it. Each
// checker names its own in a file quirks_<checker>.go.
type quirk uint32

// planted are the mistakes in force: none, except in those tests.
var planted quirk

// has says whether q is in force.
func has(q quirk) bool { return planted&q != 0 }
