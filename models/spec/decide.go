package spec

import (
	"runtime/metrics"
	"time"

	"github.com/anishathalye/porcupine"
)

// Memory is what porcupine may hold, in bytes, unless it is told otherwise.
const Memory = 1 << 30

// Decide has porcupine decide whether operations linearize, within a time and, nearly, a
// memory. Unknown: it takes more.
//
// porcupine remembers every state that it has been in, so what it holds grows with the time
// that it takes, and nobody can stop it before its time is over. So it begins with a small
// part of the time, and begins anew with four times as much where that did not suffice, as
// long as what it held by then lets expect that the next part has room. That costs a third
// more time at most.
func Decide(m porcupine.Model, ops []porcupine.Operation, timeout time.Duration, memory int64) porcupine.CheckResult {
	end := time.Now().Add(timeout)
	for part := max(timeout/64, time.Millisecond); ; {
		left := max(time.Until(end), 1) // zero is no limit to porcupine
		part = min(part, left)
		held, start := live(), time.Now()
		res := porcupine.CheckOperationsTimeout(m, ops, part)
		if res != porcupine.Unknown || part == left {
			return res
		}
		next := 4 * part
		// The heap can have doubled since the last collection.
		if grown := 2 * (live() - held); grown > 0 {
			room := time.Duration(float64(time.Since(start)) * float64(memory) / float64(grown))
			if next = min(next, room); next <= part {
				return porcupine.Unknown
			}
		}
		part = next
	}
}

// live is how many bytes the last garbage collection left.
func live() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
