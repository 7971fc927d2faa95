package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"picklock/models/spec"
)

// parseRegister reads one operation a word, "call-return:step" with the value behind the
// step: r1 reads 1, r_ reads nil, w1 writes, c12 swaps 1 for 2, f1 finds no 1, a1 appends;
// W, C and A are those of unknown outcome. A key may stand before the interval: "x@0-1:r1".
func parseRegister(t *testing.T, text string) []spec.RegisterOp {
	t.Helper()
	value := func(c byte) spec.Value {
		if c == '_' {
			return spec.Nil
		}
		return spec.Some(string(c))
	}
	steps := map[byte]spec.RegisterStep{'r': spec.Read, 'w': spec.Write, 'c': spec.CAS, 'f': spec.CASFailed, 'a': spec.Append,
		'W': spec.MayWrite, 'C': spec.MayCAS, 'A': spec.MayAppend}
	var ops []spec.RegisterOp
	for i, word := range strings.Fields(text) {
		o := spec.RegisterOp{ID: int64(i)}
		if key, rest, ok := strings.Cut(word, "@"); ok {
			o.Key, word = key, rest
		}
		var what string
		if _, err := fmt.Sscanf(word, "%d-%d:%s", &o.Call, &o.Return, &what); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		o.Step = steps[what[0]]
		switch o.Step {
		case spec.CAS, spec.MayCAS:
			o.Expect, o.Value = value(what[1]), value(what[2])
		case spec.CASFailed:
			o.Expect = value(what[1])
		default:
			o.Value = value(what[1])
		}
		ops = append(ops, o)
	}
	return ops
}

// The published semantics of Knossos' Register and CASRegister and of the models in
// porcupine's tests, one sentence each.
func TestRegister(t *testing.T) {
	for _, c := range []struct {
		says  string
		ops   string
		legal bool
	}{
		{"nothing was written at first", "0-1:r_", true},
		{"nothing is not the empty text", "0-1:a_ 2-3:r_", false},
		{"a value that nobody wrote is not read", "0-1:r1", false},
		{"a write is read", "0-1:w1 2-3:r1", true},
		{"a value that was overwritten is not read", "0-1:w1 2-3:w2 4-5:r1", false},
		{"nil is not read after a write", "0-1:w1 2-3:r_", false},
		{"a read during a write finds either", "0-9:w1 1-2:r_ 3-4:r1", true},
		{"but not the new and then the old", "0-9:w1 1-2:r1 3-4:r_", false},
		{"what returns as another is called may come after it", "0-5:r1 5-6:w1", true},
		{"swaps what is there", "0-1:w1 2-3:c12 4-5:r2", true},
		{"does not swap what is not there", "0-1:w1 2-3:c21", false},
		{"nil can be swapped", "0-1:c_1 2-3:r1", true},
		{"a swap fails on another value", "0-1:w1 2-3:f2 4-5:r1", true},
		{"a swap does not fail on the expected value", "0-1:w1 2-3:f1", false},
		{"a swap that failed found another value at some moment", "0-9:w2 1-2:f1", true},
		{"a write of unknown outcome may happen", "0-1:w1 2-3:W2 9-10:r2", true},
		{"or never", "0-1:w1 2-3:W2 9-10:r1", true},
		{"or late", "0-1:w1 2-3:W2 9-10:r1 11-12:r2", true},
		{"but not twice", "0-1:w1 2-3:W2 4-5:r2 6-7:w1 8-9:r2", false},
		{"nor before it was called", "0-1:w1 2-3:r2 4-5:W2", false},
		{"a swap of unknown outcome may happen", "0-1:w1 2-3:C12 9-10:r2", true},
		{"or never", "0-1:w1 2-3:C12 9-10:r1", true},
		{"but only on what it expects", "0-1:w1 2-3:C32 9-10:r2", false},
		{"nor twice", "0-1:w1 2-3:C12 4-5:r2 6-7:w1 8-9:r2", false},
		{"appends stand behind each other", "0-1:a1 2-3:a2 4-5:c__", false},
		{"keys do not know of each other", "x@0-1:w1 y@2-3:r_ x@4-5:r1", true},
		{"and each must be right", "x@0-1:w1 y@2-3:r1 x@4-5:r1", false},
		{"crashed read, then 0, then reads of 3 and 2 that nobody wrote (Knossos' bad-analysis)",
			"0-1:w2 3-4:w4 5-6:r4 7-8:w0 9-11:r0 10-99:W1 12-15:r3 13-14:r2", false},
		{"0 or 4 but not 3 (Knossos' rethink-fail-minimal)", "0-1:w0 2-4:r3 3-5:w4 6-7:r4", false},
	} {
		got := porcupine.CheckOperations(spec.Register{}.Model(), spec.RegisterOperations(parseRegister(t, c.ops)))
		if got != c.legal {
			t.Errorf("%s: %s: got legal %v, want %v", c.says, c.ops, got, c.legal)
		}
	}
}

func TestKeyValue(t *testing.T) {
	op := func(call, ret int64, step spec.RegisterStep, key, text string) spec.RegisterOp {
		return spec.RegisterOp{Call: call, Return: ret, Step: step, Key: key, Value: spec.Some(text)}
	}
	for _, c := range []struct {
		says  string
		ops   []spec.RegisterOp
		legal bool
	}{
		{"a key is empty at first", []spec.RegisterOp{op(0, 1, spec.Read, "x", "")}, true},
		{"appends to nothing", []spec.RegisterOp{op(0, 1, spec.Append, "x", "a"), op(2, 3, spec.Append, "x", "b"), op(4, 5, spec.Read, "x", "ab")}, true},
		{"appends in order", []spec.RegisterOp{op(0, 1, spec.Append, "x", "a"), op(2, 3, spec.Append, "x", "b"), op(4, 5, spec.Read, "x", "ba")}, false},
		{"a put forgets", []spec.RegisterOp{op(0, 1, spec.Append, "x", "a"), op(2, 3, spec.Write, "x", "b"), op(4, 5, spec.Read, "x", "b")}, true},
		{"an append of unknown outcome happens once at most", []spec.RegisterOp{op(0, 1, spec.MayAppend, "x", "a"), op(4, 5, spec.Read, "x", "aa")}, false},
		{"or late", []spec.RegisterOp{op(0, 1, spec.MayAppend, "x", "a"), op(4, 5, spec.Read, "x", ""), op(6, 7, spec.Read, "x", "a")}, true},
	} {
		if got := porcupine.CheckOperations(spec.KeyValue().Model(), spec.RegisterOperations(c.ops)); got != c.legal {
			t.Errorf("%s: got legal %v, want %v", c.says, got, c.legal)
		}
	}
}

// A history made by running real operations at a moment of their intervals is legal, and
// stays so when outcomes become unknown; one more read of what was never written makes it
// illegal.
func TestRegisterRunsAreLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var state spec.Value
		var ops []spec.RegisterOp
		values := []spec.Value{spec.Nil, spec.Some("1"), spec.Some("2"), spec.Some("")}
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			at := int64(10 * i)
			o := spec.RegisterOp{Call: at - rapid.Int64Range(0, 25).Draw(t, "before"), Return: at + rapid.Int64Range(0, 25).Draw(t, "after")}
			o.Value = rapid.SampledFrom(values).Draw(t, "value")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				o.Step, o.Value = spec.Read, state
			case 1:
				o.Step, state = spec.Write, o.Value
			case 2:
				o.Expect = rapid.SampledFrom(values).Draw(t, "expect")
				o.Step = spec.CASFailed
				if state == o.Expect {
					o.Step, state = spec.CAS, o.Value
				}
			}
			if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
				switch o.Step {
				case spec.Write:
					o.Step = spec.MayWrite
				case spec.CAS, spec.CASFailed:
					o.Step = spec.MayCAS
				}
			}
			ops = append(ops, o)
		}
		model := spec.Register{}.Model()
		if !porcupine.CheckOperations(model, spec.RegisterOperations(ops)) {
			t.Fatalf("a history that happened is called illegal: %+v", ops)
		}
		ops = append(ops, spec.RegisterOp{Call: 1, Return: 200, Step: spec.Read, Value: spec.Some("never")})
		if porcupine.CheckOperations(model, spec.RegisterOperations(ops)) {
			t.Fatalf("a read of what nobody wrote is called legal: %+v", ops)
		}
	})
}

func TestSplitRegisters(t *testing.T) {
	keys, of := spec.SplitRegisters(parseRegister(t, "y@0-1:w1 x@0-1:w2 y@2-3:r1"))
	if fmt.Sprint(keys) != "[x y]" || len(of["x"]) != 1 || len(of["y"]) != 2 || of["y"][1].Step != spec.Read {
		t.Errorf("got keys %v and %v", keys, of)
	}
}
