package foreign

import (
	"picklock/harness/history"
)

// event is one line of a foreign history, before it is paired.
type event struct {
	line    int
	process Value
	typ     string // without a colon; only the four of Jepsen are known
	f       string // without a colon
	key     Value
	value   Value
	err     Value
	client  Value
	index   Value // a number, or nothing
}

// builder pairs invocations and completions.
type builder struct {
	h      *History
	open   map[Value]int // operation under way of each process
	words  map[string]string
	events int64
	index  int64
	at     int // line of index; 0: there was none
}

func newBuilder(name string, format Format) *builder {
	return &builder{
		h:    &History{File: name, Format: format, Rules: format.rules()},
		open: map[Value]int{}, words: map[string]string{},
	}
}

// word gives the same string for the same bytes, so that a long history holds its few
// short words once.
func (b *builder) word(text []byte) string {
	if w, ok := b.words[string(text)]; ok {
		return w
	}
	w := string(text)
	if len(w) <= 40 && len(b.words) < 1<<16 {
		b.words[w] = w
	}
	return w
}

// operations are the kinds that some model knows. An info of another kind, of a process
// that has nothing under way, is a message of its client: Knossos passes over those too.
var operations = map[string]bool{
	"acquire": true, "lock": true, "release": true, "unlock": true, "extend": true, "deduct": true,
	"read": true, "get": true, "write": true, "put": true, "cas": true, "append": true,
}

// nemesis says whether an event is no client's.
func (e *event) nemesis() bool { return e.process == ":nemesis" || e.process == `"nemesis"` }

func (b *builder) add(e *event) error {
	fail := func(reason string, args ...any) error { return b.h.errorf(e.line, reason, args...) }
	if e.nemesis() {
		return nil
	}
	switch {
	case e.process == "":
		return fail("there is no :process")
	case !e.process.number() && !e.process.text():
		return fail("process %s is neither a number nor a name nor :nemesis", e.process)
	case e.typ == "":
		return fail("there is no :type")
	case e.f == "":
		return fail("there is no :f")
	}
	if err := b.ordered(e); err != nil {
		return err
	}
	at, under := b.open[e.process]
	switch e.typ {
	case "invoke":
		if under {
			o := &b.h.Ops[at]
			return fail("process %s invokes %s, but its %s of line %d has not ended", e.process, e.f, o.F, o.Line)
		}
		b.open[e.process] = len(b.h.Ops)
		b.h.Ops = append(b.h.Ops, Op{
			Process: e.process, F: e.f, Key: e.key, Invoked: e.value, Client: e.client,
			Call: b.events, Return: history.Never, Line: e.line,
		})
	case "ok", "fail", "info":
		if !under {
			if e.typ == "info" && !operations[e.f] {
				return nil
			}
			return fail("process %s completes %s, which it did not invoke", e.process, e.f)
		}
		o := &b.h.Ops[at]
		if o.F != e.f && (e.typ != "info" || operations[e.f]) {
			return fail("process %s completes %s, but invoked %s on line %d", e.process, e.f, o.F, o.Line)
		}
		if e.key != "" && o.Key != e.key {
			return fail("process %s completes %s of key %s, but invoked it of key %s on line %d", e.process, e.f, e.key, o.Key, o.Line)
		}
		delete(b.open, e.process)
		o.Completed, o.Error = e.value, e.err
		if e.client != "" {
			o.Client = e.client
		}
		o.Return, o.EndLine = b.events, e.line
		switch e.typ {
		case "ok":
			o.Outcome = history.OutcomeOK
		case "fail":
			o.Outcome = history.OutcomeFail
		}
	default:
		return fail("unknown :type %s", e.typ)
	}
	b.events++
	return nil
}

// ordered checks that indices rise, where there are any: the order of the file is all that
// is known of time.
func (b *builder) ordered(e *event) error {
	if e.index == "" {
		return nil
	}
	n, ok := e.index.integer()
	if !ok {
		return b.h.errorf(e.line, "index %s is not a number", e.index)
	}
	if b.at != 0 && n <= b.index && n >= 0 {
		return b.h.errorf(e.line, "index %d follows index %d of line %d: the lines are not in their order", n, b.index, b.at)
	}
	b.index, b.at = n, e.line
	return nil
}
