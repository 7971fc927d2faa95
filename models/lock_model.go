package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// lockStep is what an operation does in the sequential specification of a lock.
type lockStep uint8

// The steps. Those that "may" happen are legal in every state and change it only where
// they can; see the comment of lockModel for why that is exact.
const (
	stepAcquire    lockStep = iota // free (or own, if reentrant) to held
	stepRelease                    // held by this grant to one hold less
	stepNotHeld                    // "not held" was the answer: must not be held by this grant
	mayAcquire                     // an unknown nested acquire
	mayReleaseOne                  // an unknown release
	mayReleaseFull                 // the holder died, lost the lock or walked away: it may come free
)

// lockInput is the input of porcupine's operations on a lock.
type lockInput struct {
	step  lockStep
	grant int64
	text  string // for pictures
}

// lockState is the state of a lock: who holds it how often. The zero value is free.
type lockState struct {
	grant int64
	holds int
}

// lockModel is the owner-aware mutex, plain or reentrant. Owners are grants: an acquire
// is a new owner each time, even of the same worker.
//
// An operation of unknown outcome is one that "may" happen: it is legal in any state,
// takes effect if it can, and returns at the end of time. That is exact: where it did
// happen, porcupine puts it there; where it did not, porcupine puts it last, behind
// everything that could notice.
func lockModel(start lockState, reentrant bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(lockState), input.(lockInput)
			next, ok := s.step(in, reentrant)
			return ok, next
		},
		Hash:              func(state any) uint64 { return uint64(state.(lockState).grant) * 0x9e3779b97f4a7c15 },
		DescribeOperation: func(input, _ any) string { return input.(lockInput).text },
		DescribeState:     func(state any) string { return state.(lockState).String() },
	}
}

func (s lockState) String() string {
	switch s.holds {
	case 0:
		return "free"
	case 1:
		return fmt.Sprintf("held under grant %d", s.grant)
	}
	return fmt.Sprintf("held %d times under grant %d", s.holds, s.grant)
}

func (s lockState) step(in lockInput, reentrant bool) (lockState, bool) {
	own := s.holds > 0 && s.grant == in.grant
	switch in.step {
	case stepAcquire:
		if s.holds == 0 {
			return lockState{in.grant, 1}, true
		}
		if own && reentrant {
			s.holds++
			return s, true
		}
		return s, false
	case stepRelease:
		if !own {
			return s, false
		}
		return s.less(), true
	case stepNotHeld:
		return s, !own
	case mayAcquire:
		if s.holds == 0 {
			return lockState{in.grant, 1}, true
		}
		if own {
			s.holds++
		}
	case mayReleaseOne:
		if own {
			return s.less(), true
		}
	case mayReleaseFull:
		if own {
			return lockState{}, true
		}
	}
	return s, true
}

func (s lockState) less() lockState {
	if s.holds == 1 {
		return lockState{}
	}
	s.holds--
	return s
}
