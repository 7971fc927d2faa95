package locks_test

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// command is what the wire sees of args: EVAL and EVALSHA of one script are the same.
func command(args []string) locks.Command {
	c := locks.Command{Name: strings.ToUpper(args[0])}
	switch c.Name {
	case "EVAL":
		sum := sha1.Sum([]byte(args[1]))
		c = locks.Command{Name: "EVALSHA", Script: hex.EncodeToString(sum[:])}
	case "EVALSHA":
		c.Script = args[1]
	}
	return c
}

// means reports whether the step's command is the one that was sent.
func means(step, sent locks.Command) bool {
	if step.Name == "EVAL" {
		step.Name = "EVALSHA"
	}
	return step.Name == sent.Name && (step.Script == "" || step.Script == sent.Script)
}

// What a lock says of its steps is what it sends, in each step's own part of a lock's
// life, and no command is of two steps: a trigger on one must not fire at another.
func TestStepsAreWhatIsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	record := redistest.Record(t, b.server.Addr)
	client := redistest.Client(t, record.Addr)
	for _, s := range withVariants(ofTheSeeds()) {
		if inMemory(s.Name) {
			if s.Steps != nil {
				t.Errorf("%s has steps on a wire that it does not use", s.Name)
			}
			continue
		}
		c := b.config()
		c.Nodes = []redis.UniversalClient{client}
		l := s.Open()(c)
		sent := func() (all []locks.Command) {
			for _, args := range record.Take() {
				all = append(all, command(args))
			}
			return all
		}
		phases := map[string][]locks.Command{}
		acquire(t, l)
		phases["acquire"] = sent()
		if e, ok := l.(locks.Extender); ok {
			if _, err := e.Extend(t.Context()); err != nil {
				t.Errorf("%s: extend: %v", s.Name, err)
			}
			phases["extend"] = sent()
		}
		_ = l.Release(t.Context()) // of some it is an error; the commands count
		phases["release"] = sent()
		checkSteps(t, s, phases)
	}
}

func checkSteps(t *testing.T, s locks.Spec, phases map[string][]locks.Command) {
	t.Helper()
	in := map[locks.Step]string{
		locks.StepAcquire: "acquire", locks.StepExpire: "acquire", locks.StepExtend: "extend",
		locks.StepCompare: "release", locks.StepRelease: "release",
	}
	if s.Steps[locks.StepAcquire] == nil || s.Steps[locks.StepRelease] == nil {
		t.Errorf("%s: steps %v lack the acquire or the release", s.Name, s.Steps)
	}
	if _, extends := phases["extend"]; extends != (s.Steps[locks.StepExtend] != nil) {
		t.Errorf("%s: it extends: %v, its steps are %v", s.Name, extends, s.Steps)
	}
	for step, commands := range s.Steps {
		for phase, sent := range phases {
			seen := slices.ContainsFunc(commands, func(c locks.Command) bool {
				return slices.ContainsFunc(sent, func(s locks.Command) bool { return means(c, s) })
			})
			if seen != (phase == in[step]) {
				t.Errorf("%s: step %s %v seen in %s: %v (sent: %v)", s.Name, step, commands, phase, seen, sent)
			}
		}
		for other, those := range s.Steps {
			for _, c := range commands {
				if other != step && slices.ContainsFunc(those, func(o locks.Command) bool { return means(c, o) || means(o, c) }) {
					t.Errorf("%s: %v is of the steps %s and %s", s.Name, c, step, other)
				}
			}
		}
	}
}
