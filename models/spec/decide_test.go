package spec_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// hard are operations that porcupine has to try nearly all orders of: swaps whose outcome
// is unknown, and a reading of a value that none of them brings.
func hard(n int) []porcupine.Operation {
	var ops []spec.RegisterOp
	text := func(i int) spec.Value { return spec.Some(strconv.Itoa(i)) }
	for i := range n {
		ops = append(ops, spec.RegisterOp{Step: spec.MayCAS, Call: int64(i), Expect: text(i % 7), Value: text((5*i + 3) % 7)})
	}
	ops = append(ops, spec.RegisterOp{Step: spec.Read, Call: int64(n), Return: int64(n + 1), Value: text(99)})
	return spec.RegisterOperations(ops)
}

func TestDecideStopsInTime(t *testing.T) {
	m := spec.Register{Initial: spec.Some("0")}.Model()
	for _, timeout := range []time.Duration{time.Millisecond, 300 * time.Millisecond} {
		start := time.Now()
		if res := spec.Decide(m, hard(60), timeout, spec.Memory); res != porcupine.Unknown {
			t.Errorf("%s of 60 swaps within %s, want Unknown", res, timeout)
		}
		if took := time.Since(start); took < timeout || took > timeout+5*time.Second {
			t.Errorf("it took %s, with a limit of %s", took, timeout)
		}
	}
	if res := spec.Decide(m, hard(3), 10*time.Second, spec.Memory); res != porcupine.Illegal {
		t.Errorf("%s of 3 swaps, want Illegal", res)
	}
}

func TestDecideStopsBeforeMemoryIsFull(t *testing.T) {
	m := spec.Register{Initial: spec.Some("0")}.Model()
	runtime.GC()
	start := time.Now()
	if res := spec.Decide(m, hard(60), 5*time.Minute, 64<<20); res != porcupine.Unknown {
		t.Errorf("%s, want Unknown", res)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %s: the memory did not stop it", took)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("it took %s, and the system gave %d MiB in all", time.Since(start), mem.Sys>>20)
	if mem.Sys > 2<<30 {
		t.Errorf("the system gave %d MiB, with a limit of 64", mem.Sys>>20)
	}
}
