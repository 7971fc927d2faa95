package spec

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// Lease is a lock with a TTL. A hold that starts at a moment s lasts at least until s+Min,
// if it is not released or freed before, and is over at s+Max at the latest: it runs out at
// any moment from the one to the other. Both count in the clock of the operations, and
// 0 <= Min <= Max. Max can be Never: then nothing runs out for certain.
//
// The steps, in their order, at moments that do not fall:
//   - Acquire, and MayAcquire where it took effect: at a moment at which nobody holds;
//   - Release: while the owner holds, so not later than s+Max;
//   - NotHeld: at a moment at which the owner does not hold;
//   - MayRelease, MayFree where they took effect: end the hold of the owner.
//
// What ends at a moment does not overlap what starts at it.
type Lease struct{ Min, Max int64 }

// leaseState is what is known of the moments of the steps that have been taken. Held, the
// hold started at some moment from lo to hi, and the next step comes neither before that
// moment nor before now. Free, the next step does not come before now, and the rest is zero.
type leaseState struct {
	owner  int64
	held   bool
	lo, hi int64
	now    int64
}

// Model is the specification for porcupine. Its operations come from Operations; their
// calls and returns are read from the inputs.
//
// Porcupine tries orders; the model says whether an order has moments. Where a hold starts
// is left open, since an early start lets the hold run out early, and a late one lets it be
// released late. It is exact, because of a state that is held
//
//   - the starts that fit all steps so far are all of lo to hi: a step of another owner
//     comes after the start s, so s is not after its return; nothing else bounds s once the
//     hold has started;
//   - for each such s the steps since can all be as early as their calls and s allow, and
//     the last of them is at max(s, now). A step that is later than it needs to be does not
//     help any other: each needs the ones before it not to be after its return, and a
//     release not to be after s+Max.
//
// An end of the hold takes s away, and is at the earliest moment that any s allows. If the
// hold runs out, that is with s = lo: max(lo+Min, now). If it is released, at
// t = max(lo, now, call), with any s from t-Max to t, for which t-Max <= hi is needed. If it
// is freed, at the same t without that need. All later steps are free of s, so the earliest
// end is the best one.
//
// A step that may happen takes effect wherever it can (an acquire waits for the hold to run
// out). Where it did not happen, porcupine puts it last, behind everything that can fail.
// One that changes nothing has no moment.
func (l Lease) Model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return leaseState{now: math.MinInt64} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := l.step(state.(leaseState), input.(LockOp))
			return ok, next
		},
		Hash: func(state any) uint64 {
			s := state.(leaseState)
			h := uint64(s.owner)*0x9e3779b97f4a7c15 ^ uint64(s.now)*0xff51afd7ed558ccd
			return h ^ uint64(s.lo)*0xc4ceb9fe1a85ec53 ^ uint64(s.hi)*0x100000001b3
		},
		DescribeOperation: func(input, _ any) string {
			o := input.(LockOp)
			return fmt.Sprintf("%d %s", o.Owner, o.Step)
		},
		DescribeState: func(state any) string { return state.(leaseState).String() },
	}
}

func (s leaseState) String() string {
	switch {
	case !s.held && s.now == math.MinInt64:
		return "free"
	case !s.held:
		return fmt.Sprintf("free from %d", s.now)
	case s.hi == Never:
		return fmt.Sprintf("held by %d since %d or later", s.owner, s.lo)
	}
	return fmt.Sprintf("held by %d since %d to %d", s.owner, s.lo, s.hi)
}

// step takes in at the earliest moment that the order allows. Not ok: there is no moment,
// or the state forbids it.
func (l Lease) step(s leaseState, in LockOp) (leaseState, bool) {
	own := s.held && s.owner == in.Owner
	t := max(s.now, in.Call)
	end := in.End()
	switch in.Step {
	case Acquire, MayAcquire:
		if s.held {
			t = max(t, Plus(s.lo, l.Min))
		}
		return leaseState{owner: in.Owner, held: true, lo: t, hi: end, now: t}, t <= end
	case Release:
		return leaseState{now: t}, own && t <= end && t <= Plus(s.hi, l.Max)
	case MayRelease, MayFree:
		if !own {
			return s, true
		}
		return leaseState{now: t}, true
	}
	if own { // it must have run out
		t = max(t, Plus(s.lo, l.Min))
		return leaseState{now: t}, t <= end
	}
	s.now = t
	if s.held {
		s.hi = min(s.hi, end)
	}
	return s, t <= end // and lo <= now, so lo <= hi
}

// Plus adds a length of time that is not negative to a moment. Never is the end of all.
func Plus(moment, length int64) int64 {
	if moment > 0 && length > Never-moment {
		return Never
	}
	return moment + length
}
