// Package fast decides the questions of package spec in near-linear time, and exactly: a
// history is Legal here if and only if porcupine finds it linearizable by the same
// specification. Each checker's comment has the proof, the time and the memory, and what it
// takes for granted. Where that does not hold, porcupine decides the smallest window of the
// history that still contains it; nothing is guessed.
package fast

import "time"

// Verdict on a history.
type Verdict uint8

// The verdicts. Undecided: porcupine had to be asked, and did not finish in time.
const (
	Legal Verdict = iota
	Illegal
	Undecided
)

// String gives the verdict in a word.
func (v Verdict) String() string { return [...]string{"legal", "illegal", "undecided"}[v] }

// Result is what a checker found.
type Result struct {
	Verdict Verdict
	// Ops are the positions, in the history that was checked, of operations that contradict
	// each other. Others may be needed for the contradiction too. Only of Illegal.
	Ops []int
	// Asked is how many operations were left to porcupine, in windows; 0: none.
	Asked int
}

// Limits bound what porcupine may take. The zero value gives it ten seconds in all.
type Limits struct {
	Timeout time.Duration
}

const defaultTimeout = 10 * time.Second
