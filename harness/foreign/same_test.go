package foreign_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/harness/foreign"
	"picklock/models/fast"
)

// step is one event, before it is written in some format.
type step struct {
	process int
	typ, f  string
	a, b    int    // values; of a cas both
	owner   string // of locks: the client that is named
	err     string
}

func (s step) edn() string {
	value, err := "nil", ""
	switch {
	case s.owner != "":
		value = fmt.Sprintf(`{:client "%s", :fence %d}`, s.owner, s.a)
	case s.f == "cas":
		value = fmt.Sprintf("[%d %d]", s.a, s.b)
	case s.f == "write" || s.f == "read" && s.typ == "ok":
		value = fmt.Sprint(s.a)
	}
	if s.err != "" {
		err = fmt.Sprintf(`, :error "%s"`, s.err)
	}
	return fmt.Sprintf("{:process %d, :type :%s, :f :%s, :value %s%s}\n", s.process, s.typ, s.f, value, err)
}

func (s step) jsonl() string {
	value, err := "null", ""
	switch {
	case s.owner != "":
		value = fmt.Sprintf(`{"fence": %d, "client": "%s"}`, s.a, s.owner)
	case s.f == "cas":
		value = fmt.Sprintf("[%d,%d]", s.a, s.b)
	case s.f == "write" || s.f == "read" && s.typ == "ok":
		value = fmt.Sprint(s.a)
	}
	if s.err != "" {
		err = fmt.Sprintf(`,"error":"%s"`, s.err)
	}
	return fmt.Sprintf(`{"process":%d,"type":"%s","f":"%s","value":%s%s}`+"\n", s.process, s.typ, s.f, value, err)
}

func (s step) log() string {
	value := "nil"
	switch {
	case s.typ == "info":
		value = ":timed-out"
	case s.f == "cas":
		value = fmt.Sprintf("[%d %d]", s.a, s.b)
	case s.f == "write" || s.typ == "ok":
		value = fmt.Sprint(s.a)
	}
	return fmt.Sprintf("INFO  jepsen.util - %d\t:%s\t:%s\t%s\n", s.process, s.typ, s.f, value)
}

func write(steps []step, form func(step) string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(form(s))
	}
	return b.String()
}

// registerRun draws a run of clients on a real register: each operation takes effect, or
// not, somewhere between its invocation and its end.
func registerRun(t *rapid.T) []step {
	var steps []step
	value := 0
	under := map[int]step{} // under way
	done := map[int]bool{}  // has taken effect
	next := 4               // process of the next client that starts anew
	processes := []int{0, 1, 2, 3}
	effect := func(p int) {
		s := under[p]
		switch {
		case done[p]:
			return
		case s.f == "read":
			s.a = value
			s.typ = "ok"
		case s.f == "write":
			value = s.a
			s.typ = "ok"
		case value == s.a:
			value = s.b
			s.typ = "ok"
		default:
			s.typ = "fail"
		}
		under[p], done[p] = s, true
	}
	steps = append(steps, step{9999, "invoke", "write", 0, 0, "", ""}, step{9999, "ok", "write", 0, 0, "", ""})
	for range rapid.IntRange(1, 30).Draw(t, "events") {
		i := rapid.IntRange(0, 3).Draw(t, "who")
		p := processes[i]
		s, busy := under[p]
		if !busy {
			s = step{process: p, typ: "invoke", f: rapid.SampledFrom([]string{"read", "write", "cas"}).Draw(t, "f")}
			s.a, s.b = rapid.IntRange(0, 3).Draw(t, "a"), rapid.IntRange(0, 3).Draw(t, "b")
			under[p] = s
			steps = append(steps, s)
			continue
		}
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			effect(p)
			continue
		case 1: // nobody learns what became of it; it may still happen
			steps = append(steps, step{process: p, typ: "info", f: s.f, a: s.a, b: s.b, err: "timeout"})
			processes[i] = next
			next++
			continue
		}
		effect(p)
		steps = append(steps, under[p])
		delete(under, p)
		delete(done, p)
		for q := range next { // those that nobody waits for may take effect now
			if _, busy := under[q]; busy && rapid.Bool().Draw(t, "late") {
				effect(q)
			}
		}
	}
	return steps
}

// A run of a real register is legal in every format, under the rules of each, and all
// formats say the same of it. A read of what nobody wrote is not.
func TestFormatsAgreeOnRegisters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := registerRun(t)
		lie := append(steps[:len(steps):len(steps)], step{process: 8888, typ: "invoke", f: "read"}, step{process: 8888, typ: "ok", f: "read", a: 77})
		for _, c := range []struct {
			steps []step
			want  fast.Verdict
		}{{steps, fast.Legal}, {lie, fast.Illegal}} {
			var shown string
			for format, form := range map[foreign.Format]func(step) string{foreign.EDN: step.edn, foreign.JSONL: step.jsonl, foreign.Porcupine: step.log} {
				text := write(c.steps, form)
				h, err := foreign.Read(strings.NewReader(text), "a file", format)
				if err != nil {
					t.Fatal(err)
				}
				j, err := foreign.Judge(h, foreign.Model{Name: foreign.CASRegister}, fast.Limits{Timeout: time.Minute})
				if err != nil || j.Verdict != c.want {
					t.Fatalf("%s: got %+v, %v, want %s of\n%s", format, j, err, c.want, text)
				}
				if c.want == fast.Illegal && j.Keys[0].Line != len(c.steps) {
					t.Fatalf("%s: line %d is named, but line %d is the lie in\n%s", format, j.Keys[0].Line, len(c.steps), text)
				}
				for i := range h.Ops { // the log says less
					h.Ops[i].Error, h.Ops[i].Completed = "", completed(h.Ops[i])
				}
				if s := show(h); shown == "" {
					shown = s
				} else if s != shown {
					t.Fatalf("%s reads\n%sothers\n%s", format, s, shown)
				}
			}
		}
	})
}

func completed(o foreign.Op) foreign.Value {
	if o.F == "read" {
		return o.Completed
	}
	return ""
}

// A run of a real fenced lock, whose clients go under new processes after a timeout, is
// legal. Two clients in it at once, or a fence that does not rise, are not.
func TestLockRunsAreLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []step
		holder, fence := -1, 0
		process := []int{0, 1, 2}
		next := 3
		clients := []string{"a", "b", "c"}
		for range rapid.IntRange(1, 25).Draw(t, "operations") {
			i := rapid.IntRange(0, 2).Draw(t, "who")
			s := step{process: process[i], typ: "invoke", f: "acquire", owner: clients[i]}
			if holder == i {
				s.f = "release"
			}
			steps = append(steps, s)
			unknown := rapid.IntRange(0, 3).Draw(t, "unknown") == 0
			happens := !unknown || rapid.Bool().Draw(t, "happens")
			s.typ = "ok"
			switch {
			case s.f == "release" && happens:
				holder = -1
			case s.f == "acquire" && happens && holder < 0:
				holder, fence = i, fence+1
				s.a = fence
			case s.f == "acquire":
				s.typ, s.err = "fail", "busy"
			}
			if unknown {
				s.typ, s.a, s.err = "info", 0, "timeout"
				process[i], next = next, next+1
			}
			steps = append(steps, s)
		}
		late := next
		again := append(steps[:len(steps):len(steps)],
			step{late, "invoke", "acquire", 0, 0, "d", ""}, step{late, "ok", "acquire", fence + 9, 0, "d", ""},
			step{late, "invoke", "acquire", 0, 0, "d", ""}, step{late, "ok", "acquire", fence + 10, 0, "d", ""})
		stale := append(steps[:len(steps):len(steps)], step{late, "invoke", "acquire", 0, 0, "d", ""}, step{late, "ok", "acquire", fence, 0, "d", ""})
		told := false
		for _, s := range steps {
			told = told || s.a == fence && fence > 0
		}
		for _, c := range []struct {
			steps []step
			want  fast.Verdict
			ask   bool
		}{{steps, fast.Legal, true}, {again, fast.Illegal, true}, {stale, fast.Illegal, told}} {
			if !c.ask {
				continue
			}
			for format, form := range map[foreign.Format]func(step) string{foreign.EDN: step.edn, foreign.JSONL: step.jsonl} {
				text := write(c.steps, form)
				h, err := foreign.Read(strings.NewReader(text), "a file", format)
				if err != nil {
					t.Fatal(err)
				}
				j, err := foreign.Judge(h, foreign.Model{Name: foreign.FencedMutex}, fast.Limits{Timeout: time.Minute})
				if err != nil || j.Verdict != c.want {
					t.Fatalf("%s: got %+v, %v, want %s of\n%s", format, j, err, c.want, text)
				}
			}
		}
	})
}
