// Package spec holds the sequential specifications of locks, stock and registers, as
// models for porcupine and as plain operations that any checker can read.
//
// An operation has a call and a return, both in the same clock (nanoseconds, or any other
// count): it took effect at one moment from the first to the second, both included. So of
// two operations of which one returns at the moment at which the other is called, either
// may have come first. Several operations can take effect at the same moment, in any
// order.
//
// Steps that "may" happen are those of unknown outcome: each takes effect once, at any
// moment from its call on, or never. Their Return is not looked at.
//
// A specification says what is right, and is the judge of last resort; package fast decides
// the same questions, and must give the same answers, in near-linear time.
package spec

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Never is the return of an operation that has none. If it is a certain one, it took effect
// at some moment from its call on, with the other operations of the history as they are.
const Never int64 = math.MaxInt64

// far is the return that porcupine is given for what stays open to the end: behind every
// call and every known return.
func far(call, ret func(i int) int64, n int) int64 {
	end := int64(0)
	for i := range n {
		end = max(end, call(i))
		if r := ret(i); r != Never {
			end = max(end, r)
		}
	}
	return min(end, Never-1) + 1
}

// operation makes one of porcupine's. Each has a client of its own: whose operations do
// not overlap is a matter of the caller.
func operation(i int, input any, call, ret int64) porcupine.Operation {
	return porcupine.Operation{ClientId: i, Input: input, Call: call, Return: ret, Metadata: i}
}
