package history

import _ "unsafe" // for go:linkname

// Now reads the clock of the record: CLOCK_MONOTONIC in nanoseconds, without a system
// call. It is Go's own monotonic time before that is made relative to the start of the
// process: an offset measured by each process would differ from process to process by
// the accident of that moment. A test holds it to the kernel's clock.
func Now() int64 { return nanotime() }

//go:linkname nanotime runtime.nanotime
func nanotime() int64
