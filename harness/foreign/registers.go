package foreign

import (
	"fmt"
	"strings"

	"picklock/harness/history"
	"picklock/models/spec"
)

// Registers gives the operations on registers, or on the keys of a map, as the model counts
// them. The ID of each is the position of its Op in the History.
//
//   - read and get find what they completed with; nil says nothing or that nothing was
//     there (Rules.NilRead). Others than those that ended ok say nothing.
//   - write and put, cas with [expected new], and append may have happened if their outcome
//     is unknown; failed ones say nothing, but see Rules.FailedCAS.
//   - The key is what :key says, or that of a tuple [key value], as Jepsen's independent
//     tests write it. The values are such tuples if they are all vectors of two, those of
//     cas with a vector of two in it; a read that was invoked with nil is none.
//
// Errors about the history are *Error: an operation that the model does not know, a value that does not
// fit the operation, or an answer that contradicts its invocation.
func (h *History) Registers(m Model) ([]spec.RegisterOp, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if _, ok := m.Register(); !ok {
		return nil, fmt.Errorf("model %s is not of a register", m.Name)
	}
	tuples, err := h.registerTuples(m)
	if err != nil {
		return nil, err
	}
	out := make([]spec.RegisterOp, 0, len(h.Ops))
	for i := range h.Ops {
		op, counts, err := h.registerOp(&h.Ops[i], m, tuples)
		if err != nil {
			return nil, err
		}
		if counts {
			op.ID = int64(i)
			out = append(out, op)
		}
	}
	return out, nil
}

// registerTuples says whether the values are tuples [key value], and checks that the model
// knows every operation.
func (h *History) registerTuples(m Model) (bool, error) {
	tuples := len(h.Ops) > 0
	for i := range h.Ops {
		o := &h.Ops[i]
		known := reads(o.F) || writes(o.F) || o.F == "cas" && m.Name == CASRegister || o.F == "append" && m.Name == KV
		if !known {
			return false, h.errorf(o.Line, "unknown :f %s: the model %s does not know it", o.F, m.Name)
		}
		_, v, ok := tuple(o.Invoked)
		if ok && o.F == "cas" {
			_, _, ok = tuple(v)
		}
		tuples = tuples && ok && o.Key == ""
	}
	return tuples, nil
}

func reads(f string) bool  { return f == "read" || f == "get" }
func writes(f string) bool { return f == "write" || f == "put" }

func (h *History) registerOp(o *Op, m Model, tuples bool) (op spec.RegisterOp, counts bool, err error) {
	op = spec.RegisterOp{Call: o.Call, Return: o.Return}
	invoked, completed := o.Invoked, o.Completed
	key := o.Key
	if tuples {
		key, invoked, _ = tuple(o.Invoked)
		if completed != "" {
			k, v, ok := tuple(completed)
			if (!ok || k != key) && o.Outcome != history.OutcomeInfo {
				return op, false, h.errorf(o.EndLine, "the value %s is no tuple of the key %s, as its invocation's is", completed, key)
			}
			completed = v
		}
	}
	op.Key = string(key)
	ok, info := o.Outcome == history.OutcomeOK, o.Outcome == history.OutcomeInfo
	if reads(o.F) {
		if !ok || completed == "" && !h.Rules.NilRead {
			return op, false, nil
		}
		op.Step = spec.Read
		op.Value, err = h.registerValue(o, m, completed)
		return op, true, err
	}
	value := invoked
	if ok && completed != "" {
		if value != "" && value != completed {
			return op, false, h.errorf(o.EndLine, "%s was invoked with %s, but completed with %s", o.F, value, completed)
		}
		value = completed
	}
	if o.F == "cas" {
		return h.casOp(o, op, value)
	}
	switch {
	case !ok && !info:
		return op, false, nil
	case o.F == "append":
		op.Step = may(spec.Append, spec.MayAppend, info)
	default:
		op.Step = may(spec.Write, spec.MayWrite, info)
	}
	op.Value, err = h.registerValue(o, m, value)
	return op, true, err
}

func may(certain, unknown spec.RegisterStep, info bool) spec.RegisterStep {
	if info {
		return unknown
	}
	return certain
}

func (h *History) casOp(o *Op, op spec.RegisterOp, value Value) (spec.RegisterOp, bool, error) {
	expect, value, ok := tuple(value)
	if !ok {
		return op, false, h.errorf(o.Line, "the value of a cas is [expected new], not %s", o.Invoked)
	}
	op.Expect, op.Value = registerValue(expect), registerValue(value)
	switch o.Outcome {
	case history.OutcomeOK:
		op.Step = spec.CAS
	case history.OutcomeInfo:
		op.Step = spec.MayCAS
	default:
		op.Step = spec.CASFailed
		said := says(o.Error, "cas-failed", "mismatch", "compare-failed")
		return op, h.Rules.FailedCAS == Something || h.Rules.FailedCAS == IfItSays && said, nil
	}
	return op, true, nil
}

// registerValue gives the value in the model's terms: a key-value map holds texts, and what
// was never put is the empty one.
func (h *History) registerValue(o *Op, m Model, v Value) (spec.Value, error) {
	if m.Name != KV {
		return registerValue(v), nil
	}
	if v == "" && reads(o.F) {
		return spec.Some(""), nil
	}
	text, ok := v.plain()
	if !ok {
		return spec.Nil, h.errorf(o.Line, "the value of %s is a string, not %s", o.F, v)
	}
	return spec.Some(strings.Clone(text)), nil
}
