package foreign_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/harness/foreign"
	"picklock/models/fast"
)

// anySteps draws events that fit together, of whatever truth.
func anySteps(t *rapid.T, fs []string) []step {
	var steps []step
	under := map[int]step{}
	process := []int{0, 1, 2}
	next := 3
	for range rapid.IntRange(1, 24).Draw(t, "events") {
		i := rapid.IntRange(0, 2).Draw(t, "who")
		s, busy := under[process[i]]
		if !busy {
			s = step{process: process[i], typ: "invoke", f: rapid.SampledFrom(fs).Draw(t, "f")}
			s.a, s.b = rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(0, 2).Draw(t, "b")
			under[process[i]] = s
		} else {
			delete(under, process[i])
			s.typ = rapid.SampledFrom([]string{"ok", "ok", "ok", "fail", "info"}).Draw(t, "typ")
			if s.typ == "fail" {
				s.err = rapid.SampledFrom([]string{"", "not-held", "cas-failed"}).Draw(t, "err")
			}
			if s.typ == "info" {
				process[i], next = next, next+1
			}
			if s.f == "read" {
				s.a = rapid.IntRange(0, 2).Draw(t, "found")
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// upTo gives the first n events. What failed only later is known to have failed, but says
// no more than that.
func upTo(steps []step, n int) []step {
	out := steps[:n:n]
	under := map[int]bool{}
	for i, s := range steps {
		switch {
		case i < n:
			under[s.process] = s.typ == "invoke"
		case under[s.process]:
			under[s.process] = false
			if s.typ == "fail" {
				s.err = ""
				out = append(out, s)
			}
		}
	}
	return out
}

// The line that is named is the first up to which the file is illegal, with the knowledge
// of what failed.
func TestJudgeNamesTheFirstLine(t *testing.T) {
	for _, c := range []struct {
		model foreign.Model
		fs    []string
	}{
		{foreign.Model{Name: foreign.CASRegister}, []string{"read", "write", "cas"}},
		{foreign.Model{Name: foreign.Mutex}, []string{"acquire", "release"}},
		{foreign.Model{Name: foreign.OwnerMutex}, []string{"acquire", "release"}},
		{foreign.Model{Name: foreign.ReentrantMutex, Holds: 2}, []string{"acquire", "release"}},
		{foreign.Model{Name: foreign.Semaphore, Permits: 2}, []string{"acquire", "acquire", "release"}},
	} {
		illegal := 0
		rapid.Check(t, func(t *rapid.T) {
			steps := anySteps(t, c.fs)
			judge := func(steps []step) *foreign.Judgement {
				text := write(steps, step.edn)
				h, err := foreign.Read(strings.NewReader(text), "a file", foreign.EDN)
				if err != nil {
					t.Fatal(err)
				}
				h.Rules.FailedCAS = foreign.IfItSays
				j, err := foreign.Judge(h, c.model, fast.Limits{Timeout: time.Minute})
				if err != nil || j.Verdict == fast.Undecided {
					t.Fatalf("got %+v, %v of\n%s", j, err, text)
				}
				return j
			}
			j := judge(steps)
			if j.Verdict == fast.Legal {
				return
			}
			illegal++
			line := j.Keys[0].Line
			if judge(upTo(steps, line)).Verdict != fast.Illegal || judge(upTo(steps, line-1)).Verdict != fast.Legal {
				t.Fatalf("%s: line %d is named, but up to it the verdict is %s, and before it %s:\n%s", c.model.Name, line,
					judge(upTo(steps, line)).Verdict, judge(upTo(steps, line-1)).Verdict, write(steps, step.edn))
			}
		})
		if illegal == 0 {
			t.Errorf("%s: no history was illegal: this test tested nothing", c.model.Name)
		}
	}
}

// Without the rule a release that failed says nothing, as in Knossos.
func TestRulesOfReleases(t *testing.T) {
	h := read(t, foreign.EDN, ednOf("0i:acquire 0o:acquire 0i:release 0f:release!:not-held"))
	for rule, want := range map[bool]fast.Verdict{true: fast.Illegal, false: fast.Legal} {
		h.Rules.NotHeld = rule
		if j, err := foreign.Judge(h, foreign.Model{Name: foreign.OwnerMutex}, fast.Limits{}); err != nil || j.Verdict != want {
			t.Errorf("with the rule %v: got %+v, %v, want %s", rule, j, err, want)
		}
	}
}
