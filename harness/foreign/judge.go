package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// Judgement is what became of a history: the worst of its keys.
type Judgement struct {
	Verdict    fast.Verdict
	Operations int  // how many counted
	Vacuous    bool // none did: the verdict proves nothing
	Keys       []KeyJudgement
	Notes      []string // what a reader of the verdict should know
}

// KeyJudgement is the verdict on one lock or register.
type KeyJudgement struct {
	Key        Value // empty: the file names none
	Verdict    fast.Verdict
	Operations int
	// Ops are positions in History.Ops of operations that contradict each other; others may
	// be needed for it too. Of Illegal only.
	Ops []int
	// Line is that of the first completion up to which no order of the operations explains
	// all answers; what failed later is known to have failed. 0: not found, or not Illegal.
	Line   int
	Reason string // of Illegal and Undecided
}

const defaultTimeout = 10 * time.Second

// Judge judges a history by a model, each lock or key apart. limits bound all of it
// together. Errors are those of Locks and Registers, and of a model that is none.
func Judge(h *History, m Model, limits fast.Limits) (*Judgement, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	var parts []*part
	var notes []string
	if lock, ok := m.Lock(); ok {
		locks, err := h.Locks(m)
		if err != nil {
			return nil, err
		}
		fences := 0
		for i := range locks {
			l := &locks[i]
			for _, o := range l.Ops {
				if o.Fence != 0 {
					fences++
				}
			}
			parts = append(parts, &part{
				key: l.Key, n: len(l.Ops), unowned: l.Unowned,
				check: func(limits fast.Limits) fast.Result { return checkLock(lock, l.Ops, limits) },
				op:    func(i int) int { return int(l.Ops[i].ID) },
			})
		}
		if lock.Fenced && fences == 0 {
			notes = append(notes, "no acquire told a fence: they are not judged")
		}
	} else {
		ops, err := h.Registers(m)
		if err != nil {
			return nil, err
		}
		register, _ := m.Register()
		keys, of := spec.SplitRegisters(ops)
		for _, key := range keys {
			ops := of[key]
			parts = append(parts, &part{
				key: Value(key), n: len(ops),
				check: func(limits fast.Limits) fast.Result { return checkRegister(register, ops, limits) },
				op:    func(i int) int { return int(ops[i].ID) },
			})
		}
	}
	return h.judgement(parts, notes, limits), nil
}

// part is what is judged on its own.
type part struct {
	key     Value
	n       int
	unowned []int
	check   func(fast.Limits) fast.Result
	op      func(i int) int // position in the history of the i-th operation
	result  fast.Result
	decided bool
}

func (h *History) judgement(parts []*part, notes []string, limits fast.Limits) *Judgement {
	if limits.Timeout <= 0 {
		limits.Timeout = defaultTimeout
	}
	deadline := time.Now().Add(limits.Timeout)
	// First each part gets its share of the time that is left, then those that it did not
	// suffice for get all that the others left over.
	for round := range 2 {
		for i, p := range parts {
			left := time.Until(deadline)
			if p.decided || left <= 0 {
				continue
			}
			if round == 0 {
				left /= time.Duration(len(parts) - i)
			}
			p.result = p.check(fast.Limits{Timeout: left})
			p.decided = p.result.Verdict != fast.Undecided
		}
	}
	j := &Judgement{Verdict: fast.Legal, Notes: notes}
	for _, p := range parts {
		k := h.keyJudgement(p, limits)
		j.Operations += k.Operations
		j.Verdict = worse(j.Verdict, k.Verdict)
		j.Keys = append(j.Keys, k)
	}
	if j.Vacuous = j.Operations == 0; j.Vacuous {
		j.Notes = append(j.Notes, "no operation says anything: there was nothing to judge")
	}
	return j
}

func worse(a, b fast.Verdict) fast.Verdict {
	for _, v := range []fast.Verdict{fast.Illegal, fast.Undecided} {
		if a == v || b == v {
			return v
		}
	}
	return fast.Legal
}

func (h *History) keyJudgement(p *part, limits fast.Limits) KeyJudgement {
	k := KeyJudgement{Key: p.key, Operations: p.n, Verdict: p.result.Verdict}
	switch {
	case !p.decided:
		k.Verdict = fast.Undecided
		k.Reason = fmt.Sprintf("%d operations were not decided within %s and 1 GiB", p.n, limits.Timeout)
	case p.result.Verdict == fast.Illegal && len(p.unowned) > 0:
		k.Verdict = fast.Undecided
		o := &h.Ops[p.unowned[0]]
		k.Reason = fmt.Sprintf("illegal, unless it is explained by what has no owner: %d operations of unknown outcome, such as the %s of line %d",
			len(p.unowned), o.F, o.Line)
	case p.result.Verdict == fast.Illegal:
		for _, i := range p.result.Ops {
			at := p.op(i)
			k.Ops = append(k.Ops, at)
			k.Line = max(k.Line, h.Ops[at].EndLine)
		}
		k.Reason = "no order of the operations explains all answers"
		if k.Line != 0 {
			k.Reason = fmt.Sprintf("no order of the operations explains all answers up to line %d", k.Line)
		}
	}
	return k
}

// checkLock decides one lock.
func checkLock(l spec.Lock, ops []spec.LockOp, limits fast.Limits) fast.Result {
	return ask(len(ops), limits, func(i int) (int64, int64) { return ops[i].Call, ops[i].End() },
		func(t int64, limits fast.Limits) fast.Result { return fast.Lock(l, lockPrefix(ops, t), limits) })
}

// checkRegister decides one register: there is nobody faster than porcupine for it.
func checkRegister(r spec.Register, ops []spec.RegisterOp, limits fast.Limits) fast.Result {
	return ask(len(ops), limits, func(i int) (int64, int64) { return ops[i].Call, ops[i].End() },
		func(t int64, limits fast.Limits) fast.Result {
			some := registerPrefix(ops, t)
			res := fast.Result{Asked: len(some)}
			switch spec.Decide(r.Model(), spec.RegisterOperations(some), limits.Timeout, spec.Memory) {
			case porcupine.Illegal:
				res.Verdict = fast.Illegal
			case porcupine.Unknown:
				res.Verdict = fast.Undecided
			}
			return res
		})
}

// ask decides n operations, and finds the shortest prefix that is illegal: up to the return
// of one operation, which is the one that is named. Prefixes of a legal history are legal,
// so it is found by halving. decide judges the operations as known at t.
func ask(n int, limits fast.Limits, span func(i int) (call, ret int64), decide func(t int64, limits fast.Limits) fast.Result) fast.Result {
	deadline := time.Now().Add(limits.Timeout)
	check := func(t int64) fast.Result {
		left := time.Until(deadline)
		if left <= 0 {
			return fast.Result{Verdict: fast.Undecided}
		}
		return decide(t, fast.Limits{Timeout: left})
	}
	res := check(history.Never)
	if res.Verdict != fast.Illegal {
		return res
	}
	res.Ops = nil
	type end struct {
		at int64
		i  int
	}
	var ends []end
	for i := range n {
		if _, ret := span(i); ret != spec.Never {
			ends = append(ends, end{ret, i})
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	lo, hi := 0, len(ends)-1 // the prefix up to ends[hi] is illegal
	for lo < hi {
		mid := (lo + hi) / 2
		switch check(ends[mid].at).Verdict {
		case fast.Illegal:
			hi = mid
		case fast.Legal:
			lo = mid + 1
		default:
			return res
		}
	}
	if hi >= 0 {
		res.Ops = []int{ends[hi].i}
	}
	return res
}

// known gives the operations as known at t, with unsure for what is under way, which may
// have happened: it says what may have been done, or that nothing was (false). span tells
// when an operation began and ended.
func known[T any](ops []T, t int64, span func(*T) (call, end int64), unsure func(*T) bool) []T {
	if t == history.Never {
		return ops
	}
	var out []T
	for _, o := range ops {
		if call, end := span(&o); call <= t && (end <= t || unsure(&o)) {
			out = append(out, o)
		}
	}
	return out
}

func lockPrefix(ops []spec.LockOp, t int64) []spec.LockOp {
	return known(ops, t, func(o *spec.LockOp) (call, end int64) { return o.Call, o.End() }, func(o *spec.LockOp) bool {
		switch o.Step {
		case spec.Acquire:
			o.Step, o.Fence = spec.MayAcquire, 0
		case spec.Release:
			o.Step = spec.MayRelease
		case spec.NotHeld:
			return false
		}
		return true
	})
}

func registerPrefix(ops []spec.RegisterOp, t int64) []spec.RegisterOp {
	return known(ops, t, func(o *spec.RegisterOp) (call, end int64) { return o.Call, o.End() }, func(o *spec.RegisterOp) bool {
		switch o.Step {
		case spec.Read, spec.CASFailed:
			return false
		case spec.Write:
			o.Step = spec.MayWrite
		case spec.CAS:
			o.Step = spec.MayCAS
		case spec.Append:
			o.Step = spec.MayAppend
		}
		return true
	})
}
