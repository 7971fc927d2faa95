package locks

// sends is the step that is one plain command.
func sends(command string) []Command { return []Command{{Name: command}} }

// steps is a lock's map of its steps: acquire and release, and what it has besides.
func steps(acquire, release []Command, more map[Step][]Command) map[Step][]Command {
	all := map[Step][]Command{StepAcquire: acquire, StepRelease: release}
	for step, commands := range more {
		all[step] = commands
	}
	return all
}

// expireStep is the second command of the locks that set their TTL with one.
func expireStep() map[Step][]Command { return map[Step][]Command{StepExpire: sends("PEXPIRE")} }

// compareStep is the read before the DEL of the locks that compare in the client.
func compareStep() map[Step][]Command { return map[Step][]Command{StepCompare: sends("GET")} }

// retryOption is the decision of what becomes of a command without an answer. more are the
// values that a lock has beside none and blind, with their summary.
func retryOption(summary string, more ...string) Option {
	return Option{
		Name:    "retry",
		Values:  append([]string{"none", "blind"}, more...),
		Summary: "a command without an answer: none fails with it; blind sends it again, up to three times, as client libraries do" + summary,
	}
}
