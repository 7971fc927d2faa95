package foreign

import (
	"fmt"
	"slices"

	"picklock/harness/history"
	"picklock/models/spec"
)

// LockOps are the operations on one lock. The ID of each is the position of its Op in the
// History.
type LockOps struct {
	Key Value // the lock's name; empty: the file names none
	Ops []spec.LockOp
	// Unowned are the positions of acquires and releases of unknown outcome that are left
	// out because the file does not tell their owner. If Ops are illegal, those may explain
	// it; if Ops are legal, they are so with them too, for none of them need have happened.
	Unowned []int
}

// Locks gives the operations on each lock, in the order in which they appear, as the model
// of a lock counts them.
//
//   - acquire and lock that ended ok acquire, release and unlock release. Those of unknown
//     outcome may have. Failed ones say nothing, but see Rules.NotHeld. extend and deduct
//     are passed over: no model of a lock without leases knows them.
//   - The lock is what :key says, or :lock of a map that is the value, or the key of a tuple
//     [key value], if all values are such tuples.
//   - The fence is the value of the completed acquire, a number, or its :fence; 0 is none.
//   - The owner is :client or :owner of a map that is the value, as in Jepsen's tests of
//     Hazelcast, or :client of the operation or of its :debug. Those tests name it only in
//     operations that ended ok: others, whose value is a uid, belong to the client that the
//     same :uid was of, or else the same process. Where no operation of the file names a client, the owner is
//     the process.
//
// Errors about the history are *Error: an operation that the model does not know, tuples and other values
// mixed, a fence that is none, or an acknowledged operation without an owner.
func (h *History) Locks(m Model) ([]LockOps, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	lock, ok := m.Lock()
	if !ok {
		return nil, fmt.Errorf("model %s is not of a lock", m.Name)
	}
	t, err := h.lockTerms()
	if err != nil {
		return nil, err
	}
	var out []LockOps
	index := map[Value]int{}
	for _, i := range t.ops {
		o := &h.Ops[i]
		key, err := t.key(o)
		if err != nil {
			return nil, err
		}
		at, ok := index[key]
		if !ok {
			at = len(out)
			index[key] = at
			out = append(out, LockOps{Key: key})
		}
		op, counts, err := t.op(o, lock)
		if err != nil {
			return nil, err
		}
		if !counts {
			continue
		}
		op.ID = int64(i)
		if op.Owner, ok = t.owner(o, lock); !ok {
			if !op.Step.May() && op.Step != spec.NotHeld {
				return nil, h.errorf(o.Line, "the owner cannot be told: process %s names no client, or several, and others do", o.Process)
			}
			if op.Step.May() {
				out[at].Unowned = append(out[at].Unowned, i)
			}
			continue
		}
		out[at].Ops = append(out[at].Ops, op)
	}
	return out, nil
}

func acquires(f string) bool { return f == "acquire" || f == "lock" }
func releases(f string) bool { return f == "release" || f == "unlock" }

// lockTerms are what the operations on locks mean by their values.
type lockTerms struct {
	h       *History
	ops     []int // acquires and releases
	tuples  bool
	named   bool            // operations name their clients
	clients map[Value]Value // of a process or a uid; empty: several
	owners  map[Value]int64 // numbers of clients or processes
}

func (h *History) lockTerms() (*lockTerms, error) {
	t := &lockTerms{h: h, clients: map[Value]Value{}, owners: map[Value]int64{}}
	tuples := 0
	for i := range h.Ops {
		o := &h.Ops[i]
		switch {
		case acquires(o.F), releases(o.F):
			t.ops = append(t.ops, i)
			if _, _, ok := tuple(o.Invoked); ok {
				tuples++
			}
		case o.F != "extend" && o.F != "deduct":
			return nil, h.errorf(o.Line, "unknown :f %s: a lock has acquire and release", o.F)
		}
	}
	t.tuples = tuples > 0
	for _, i := range t.ops {
		o := &h.Ops[i]
		if _, _, ok := tuple(o.Invoked); t.tuples && !ok {
			return nil, h.errorf(o.Line, "the value %s is no tuple [key value], as others are", o.Invoked)
		}
		client := t.client(o)
		if client == "" {
			continue
		}
		t.named = true
		t.learn(o.Process, client)
		_, completed := t.values(o)
		if uid := completed.field("uid"); uid != "" {
			t.learn("uid "+uid, client)
		}
	}
	return t, nil
}

// learn notes whose a process or a uid is.
func (t *lockTerms) learn(what, client Value) {
	if known, ok := t.clients[what]; ok && known != client {
		client = ""
	}
	t.clients[what] = client
}

// values gives those of an operation without the key of a tuple.
func (t *lockTerms) values(o *Op) (invoked, completed Value) {
	invoked, completed = o.Invoked, o.Completed
	if t.tuples {
		_, invoked, _ = tuple(invoked)
		if _, v, ok := tuple(completed); ok {
			completed = v
		}
	}
	return invoked, completed
}

func (t *lockTerms) key(o *Op) (Value, error) {
	invoked, completed := t.values(o)
	keys := []Value{o.Key, invoked.field("lock"), completed.field("lock")}
	if t.tuples {
		k, _, _ := tuple(o.Invoked)
		keys = append(keys, k)
		if k2, _, ok := tuple(o.Completed); ok {
			keys = append(keys, k2)
		}
	}
	keys = slices.DeleteFunc(keys, func(k Value) bool { return k == "" })
	if len(keys) == 0 {
		return "", nil
	}
	for _, k := range keys[1:] {
		if k != keys[0] {
			return "", t.h.errorf(o.Line, "this %s is of the lock %s and of %s", o.F, keys[0], k)
		}
	}
	return keys[0], nil
}

// client is the one that the operation itself names.
func (t *lockTerms) client(o *Op) Value {
	invoked, completed := t.values(o)
	for _, c := range []Value{completed.field("owner"), invoked.field("owner"), completed.field("client"), invoked.field("client"), o.Client} {
		if c != "" {
			return c
		}
	}
	return ""
}

func (t *lockTerms) owner(o *Op, lock spec.Lock) (int64, bool) {
	who := o.Process
	if t.named && !lock.Anonymous {
		if who = t.client(o); who == "" {
			invoked, _ := t.values(o)
			who = t.clients["uid "+invoked]
		}
		if who == "" {
			who = t.clients[o.Process]
		}
		if who == "" {
			return 0, false
		}
	}
	n, ok := t.owners[who]
	if !ok {
		n = int64(len(t.owners)) + 1
		t.owners[who] = n
	}
	return n, true
}

// op gives the step of an operation, without its owner; counts is false if it says nothing.
func (t *lockTerms) op(o *Op, lock spec.Lock) (op spec.LockOp, counts bool, err error) {
	op = spec.LockOp{Call: o.Call, Return: o.Return}
	acquire := acquires(o.F)
	switch {
	case o.Outcome == history.OutcomeInfo && acquire:
		op.Step = spec.MayAcquire
	case o.Outcome == history.OutcomeInfo:
		op.Step = spec.MayRelease
	case o.Outcome == history.OutcomeOK && acquire:
		op.Step = spec.Acquire
		if lock.Fenced {
			op.Fence, err = t.fence(o)
		}
	case o.Outcome == history.OutcomeOK:
		op.Step = spec.Release
	case acquire || lock.Anonymous || !t.h.Rules.NotHeld ||
		!says(o.Error, "not-held", "not-owner", "not-lock-owner", "not-permit-owner"):
		return op, false, nil
	default:
		op.Step = spec.NotHeld
	}
	return op, true, err
}

func (t *lockTerms) fence(o *Op) (int64, error) {
	_, v := t.values(o)
	if v.isMap() {
		v = v.field("fence")
	}
	if v == "" || v.text() {
		return 0, nil
	}
	n, ok := v.integer()
	if !ok || n < 0 {
		return 0, t.h.errorf(o.EndLine, "the fence %s is not a number that picklock can compare", v)
	}
	return n, nil
}
