package spec

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// RegisterStep is what an operation on a register does.
type RegisterStep uint8

// The steps. Those that may happen are legal in every state. A CAS of unknown outcome that
// takes effect where the value is another changes nothing, as the real one would have.
const (
	Read      RegisterStep = iota // finds Value; Nil: finds that nothing was written
	Write                         // Value is there afterwards
	CAS                           // finds Expect and puts Value in its place
	CASFailed                     // finds something else than Expect and changes nothing
	Append                        // Value's text is behind what was there; nothing counts as an empty text
	MayWrite                      // a write of unknown outcome
	MayCAS                        // a CAS of unknown outcome
	MayAppend                     // an append of unknown outcome
)

var registerStepNames = [...]string{
	"reads", "writes", "swaps", "does not swap", "appends", "may write", "may swap", "may append",
}

// String gives the step in words.
func (s RegisterStep) String() string { return registerStepNames[s] }

// May says whether the step is one that may not have happened.
func (s RegisterStep) May() bool { return s >= MayWrite }

// Value is what a register holds. Values are the same if their texts are; a caller whose
// values have several ways to be written chooses one.
type Value struct {
	Text string
	Set  bool // false: nothing was ever written; Text is empty then
}

// Nil is the value of a register that was never written.
var Nil = Value{}

// Some is the value with that text, which may be empty.
func Some(text string) Value { return Value{text, true} }

// String gives the text, or nil.
func (v Value) String() string {
	if !v.Set {
		return "nil"
	}
	return v.Text
}

// RegisterOp is one operation on a register. A read whose answer is not known is none: it
// constrains nothing.
type RegisterOp struct {
	Call, Return int64
	ID           int64  // the caller's own; checkers do not look at it
	Key          string // which register; registers do not know of each other
	Value        Value  // what was found, or written
	Expect       Value  // of CAS, CASFailed, MayCAS: what was to be there
	Step         RegisterStep
}

// End is the return that counts: that of a step that may happen is Never.
func (o *RegisterOp) End() int64 {
	if o.Step.May() {
		return Never
	}
	return o.Return
}

// Register specifies a set of registers, one for each key, all with the same value at
// first. It is Knossos' register and cas-register, and the etcd model of porcupine's own
// tests: reads find what was written last, a CAS swaps if and only if it finds what it
// expects.
type Register struct{ Initial Value }

// KeyValue is the map of texts with get (Read), put (Write) and append of porcupine's own
// tests: a key that was never put has the empty text.
func KeyValue() Register { return Register{Initial: Some("")} }

// Model is the specification for porcupine, which checks each key apart. Its operations
// come from RegisterOperations.
func (r Register) Model() porcupine.Model {
	return porcupine.Model{
		Partition: partitionRegisters,
		Init:      func() any { return r.Initial },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := stepRegister(state.(Value), input.(RegisterOp))
			return ok, next
		},
		Hash: func(state any) uint64 {
			v := state.(Value)
			h := uint64(0xcbf29ce484222325) // FNV-1a
			if v.Set {
				h++
			}
			for i := range len(v.Text) {
				h = (h ^ uint64(v.Text[i])) * 0x100000001b3
			}
			return h
		},
		DescribeOperation: func(input, _ any) string {
			o := input.(RegisterOp)
			switch o.Step {
			case CAS, CASFailed, MayCAS:
				return fmt.Sprintf("%s %s for %s", o.Step, o.Expect, o.Value)
			}
			return fmt.Sprintf("%s %s", o.Step, o.Value)
		},
		DescribeState: func(state any) string { return state.(Value).String() },
	}
}

func stepRegister(s Value, in RegisterOp) (Value, bool) {
	switch in.Step {
	case Read:
		return s, s == in.Value
	case Write, MayWrite:
		return in.Value, true
	case CAS, MayCAS:
		if s == in.Expect {
			return in.Value, true
		}
		return s, in.Step == MayCAS
	case CASFailed:
		return s, s != in.Expect
	case Append, MayAppend:
		return Some(s.Text + in.Value.Text), true
	}
	panic(fmt.Sprintf("spec: no such step of a register: %d", in.Step))
}

// RegisterOperations makes porcupine's operations of ops.
func RegisterOperations(ops []RegisterOp) []porcupine.Operation {
	end := far(func(i int) int64 { return ops[i].Call }, func(i int) int64 { return ops[i].End() }, len(ops))
	out := make([]porcupine.Operation, len(ops))
	for i := range ops {
		out[i] = operation(i, ops[i], ops[i].Call, min(ops[i].End(), end))
	}
	return out
}

// partitionRegisters splits operations by key, in the order in which the keys appear.
func partitionRegisters(all []porcupine.Operation) [][]porcupine.Operation {
	var out [][]porcupine.Operation
	index := map[string]int{}
	for _, o := range all {
		key := o.Input.(RegisterOp).Key
		at, ok := index[key]
		if !ok {
			at = len(out)
			index[key] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], o)
	}
	return out
}

// SplitRegisters gives the operations of each key apart, the keys in order.
func SplitRegisters(ops []RegisterOp) (keys []string, of map[string][]RegisterOp) {
	of = map[string][]RegisterOp{}
	for _, o := range ops {
		if _, ok := of[o.Key]; !ok {
			keys = append(keys, o.Key)
		}
		of[o.Key] = append(of[o.Key], o)
	}
	slices.Sort(keys)
	return keys, of
}
