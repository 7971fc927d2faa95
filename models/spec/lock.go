package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Step is what an operation on a lock does.
type Step uint8

// The steps. The first three are certain. A step that may happen is legal in every state
// and changes only one that it can change.
const (
	Acquire    Step = iota // one hold more for the owner
	Release                // one hold less, of an owner that has one
	NotHeld                // the owner was told that it holds nothing
	MayAcquire             // an acquire of unknown outcome
	MayRelease             // a release of unknown outcome
	MayFree                // all that the owner holds may be gone: it died, or a TTL ran out
)

var stepNames = [...]string{"acquires", "releases", "does not hold", "may acquire", "may release", "may be rid of it"}

// String gives the step in words, after the owner's name.
func (s Step) String() string { return stepNames[s] }

// May says whether the step is one that may not have happened.
func (s Step) May() bool { return s >= MayAcquire }

// LockOp is one operation on a lock.
type LockOp struct {
	Call, Return int64
	Owner        int64 // who holds; the same for an acquire and its release
	Fence        int64 // of Acquire: the fencing token, above 0; 0: none was told. Of others not looked at
	ID           int64 // the caller's own; checkers do not look at it
	Step         Step
}

// End is the return that counts: that of a step that may happen is Never.
func (o *LockOp) End() int64 {
	if o.Step.May() {
		return Never
	}
	return o.Return
}

// Lock says what kind of lock is specified; see Mutex and the others. The zero value is a
// mutex that its owner can acquire again without end.
type Lock struct {
	Anonymous bool // anybody may release what anybody acquired: all owners count as one
	Holds     int  // how often one owner can hold at once; 0: without end
	Permits   int  // how many holds there can be at once, of all owners; 0: of one owner only
	Fenced    bool // the first hold of an owner has a higher fence than any before; nested ones the same. Not with Permits
}

// Mutex is Knossos' mutex: it knows no owners. Acquire needs it free, release needs it held.
func Mutex() Lock { return Lock{Anonymous: true, Holds: 1} }

// OwnerMutex is released only by the owner that acquired it, and only once.
func OwnerMutex() Lock { return Lock{Holds: 1} }

// ReentrantMutex can be acquired again by its owner, up to holds times (0: without end),
// and is free after as many releases.
func ReentrantMutex(holds int) Lock { return Lock{Holds: holds} }

// FencedMutex is an OwnerMutex whose acquires return rising fencing tokens. Only tokens
// that were told are compared: an acquire whose token was not told needs no number
// between its neighbours', as in the model that Jepsen has for Hazelcast.
func FencedMutex() Lock { return Lock{Holds: 1, Fenced: true} }

// ReentrantFencedMutex is a ReentrantMutex whose first acquires return rising fencing
// tokens, and whose nested acquires return that of the first. If the first was not told,
// the first nested one that is told stands for it.
func ReentrantFencedMutex(holds int) Lock { return Lock{Holds: holds, Fenced: true} }

// Permits is a semaphore: at most n holds at once, by any owners; an owner can have several.
func Permits(n int) Lock { return Lock{Permits: n} }

// lockState is who holds how often, and the highest fence so far. A map would not do: the
// states are compared with ==.
type lockState struct {
	holders string // of permits: encoded counts; else empty
	owner   int64
	holds   int
	fence   int64 // the highest that was told
	untold  bool  // of the present holds none was told: their token is to be higher than fence
}

// Model is the specification for porcupine. Its operations come from Operations.
func (l Lock) Model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := l.step(state.(lockState), input.(LockOp))
			return ok, next
		},
		Hash: func(state any) uint64 {
			s := state.(lockState)
			h := uint64(s.owner)*0x9e3779b97f4a7c15 + uint64(s.holds) + uint64(s.fence)*0xff51afd7ed558ccd
			for i := range len(s.holders) {
				h = (h ^ uint64(s.holders[i])) * 0x100000001b3
			}
			return h
		},
		DescribeOperation: func(input, _ any) string {
			o := input.(LockOp)
			if o.Fence != 0 {
				return fmt.Sprintf("%d %s, fence %d", o.Owner, o.Step, o.Fence)
			}
			return fmt.Sprintf("%d %s", o.Owner, o.Step)
		},
		DescribeState: func(state any) string { return state.(lockState).String() },
	}
}

// Operations makes porcupine's operations of ops.
func Operations(ops []LockOp) []porcupine.Operation {
	end := far(func(i int) int64 { return ops[i].Call }, func(i int) int64 { return ops[i].End() }, len(ops))
	out := make([]porcupine.Operation, len(ops))
	for i := range ops {
		out[i] = operation(i, ops[i], ops[i].Call, min(ops[i].End(), end))
	}
	return out
}

func (s lockState) String() string {
	switch {
	case s.holders != "":
		return "held by " + strings.TrimSuffix(s.holders, ";")
	case s.holds == 0:
		return "free"
	}
	text := fmt.Sprintf("held by %d", s.owner)
	if s.holds > 1 {
		text = fmt.Sprintf("held %d times by %d", s.holds, s.owner)
	}
	if s.fence > 0 && !s.untold {
		text += fmt.Sprintf(", fence %d", s.fence)
	}
	return text
}

func (l Lock) step(s lockState, in LockOp) (lockState, bool) {
	if l.Anonymous {
		in.Owner = 0
	}
	if l.Permits > 0 {
		return l.stepPermits(s, in)
	}
	own := s.holds > 0 && s.owner == in.Owner
	switch in.Step {
	case Acquire, MayAcquire:
		switch {
		case s.holds == 0:
			next := lockState{owner: in.Owner, holds: 1, fence: s.fence, untold: l.Fenced}
			if next, ok := l.fenced(next, in); ok {
				return next, true
			}
		case own && (l.Holds == 0 || s.holds < l.Holds):
			if next, ok := l.fenced(s, in); ok {
				next.holds++
				return next, true
			}
		}
		return s, in.Step.May()
	case Release, MayRelease:
		if !own {
			return s, in.Step.May()
		}
		s.holds--
	case NotHeld:
		return s, !own
	case MayFree:
		if !own {
			return s, true
		}
		s.holds = 0
	}
	if s.holds == 0 {
		s.owner, s.untold = 0, false
	}
	return s, true
}

// fenced takes the token that came with an acquire, if one came.
func (l Lock) fenced(s lockState, in LockOp) (lockState, bool) {
	switch {
	case !l.Fenced || in.Fence == 0 || in.Step != Acquire:
		return s, true
	case s.untold:
		ok := in.Fence > s.fence
		s.fence, s.untold = in.Fence, false
		return s, ok
	}
	return s, in.Fence == s.fence
}

// stepPermits keeps the counts of all owners in a string, ordered by owner.
func (l Lock) stepPermits(s lockState, in LockOp) (lockState, bool) {
	at, end, n := findHolder(s.holders, in.Owner)
	left := n
	switch in.Step {
	case Acquire, MayAcquire:
		if s.holds == l.Permits || l.Holds > 0 && n == l.Holds {
			return s, in.Step.May()
		}
		left++
	case Release, MayRelease:
		if n == 0 {
			return s, in.Step.May()
		}
		left--
	case NotHeld:
		return s, n == 0
	case MayFree:
		left = 0
	}
	entry := ""
	if left > 0 {
		entry = strconv.FormatInt(in.Owner, 10) + "x" + strconv.Itoa(left) + ";"
	}
	s.holders = s.holders[:at] + entry + s.holders[end:]
	s.holds += left - n
	return s, true
}

// findHolder finds an owner's count, and the part of holders that says so. Of one that is
// not in it, that is the place where it would be.
func findHolder(holders string, owner int64) (at, end, n int) {
	for at < len(holders) {
		end = at + strings.IndexByte(holders[at:], ';')
		name, count, _ := strings.Cut(holders[at:end], "x")
		end++
		o, _ := strconv.ParseInt(name, 10, 64)
		if o == owner {
			n, _ = strconv.Atoi(count)
			return at, end, n
		}
		if o > owner {
			return at, at, 0
		}
		at = end
	}
	return at, at, 0
}
