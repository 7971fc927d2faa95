package fast

import (
	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// anonymous has porcupine decide a Mutex without owners, in pieces. Where nothing is under
// way and nothing before may still happen, it is held exactly if one acquire more than
// releases was done; an acquire without an end is put in front of the next piece then.
func (c *lockChecker) anonymous() Result {
	order := sortedByCall(c.ops)
	var res Result
	var piece []spec.LockOp
	var at []int
	held, latest := 0, int64(0)
	decide := func() bool {
		res.Asked += len(piece)
		switch spec.Decide(c.lock.Model(), spec.Operations(piece), c.lim.left(), spec.Memory) {
		case porcupine.Illegal:
			res.Verdict, res.Ops = Illegal, at
			return false
		case porcupine.Unknown:
			res.Verdict = Undecided
			return false
		}
		return true
	}
	for k := range c.ops {
		i := k
		if order != nil {
			i = int(order[k])
		}
		op := c.ops[i]
		if k > 0 && latest < op.Call && (held == 0 || held == 1) && len(piece) >= 16 {
			if !decide() {
				return res
			}
			piece, at = piece[:0], nil
			if held == 1 {
				piece = append(piece, spec.LockOp{Call: latest, Return: latest, Step: spec.Acquire})
			}
		}
		piece, at = append(piece, op), append(at, i)
		latest = max(latest, op.End())
		switch op.Step {
		case spec.Acquire:
			held++
		case spec.Release:
			held--
		}
	}
	decide()
	return res
}
