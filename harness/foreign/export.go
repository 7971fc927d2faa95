package foreign

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"picklock/harness/history"
)

// WriteEDN writes one of picklock's own histories in the form that Jepsen's tools read: a
// map a line with :index, :time (ns since the load began), :process, :type, :f and :value.
//
//   - :f is :acquire, :release, :extend or :deduct. The value is a map with :lock or :sku,
//     :client (client and worker: the owner), :grant, and of completions what is known of
//     :fence, :token, :count, :basis, :left and :sold.
//   - :error is the code that says why an operation failed, or a vector of the code and the
//     error in words, or the words.
//   - The process :nemesis has the faults, each with two :start and, if it was recovered,
//     two :stop, as Jepsen's plots count them; and :lost, :client-death and :node-role.
//
// The order of the lines is that of the times. At one moment invocations come before
// completions, for in picklock such operations are concurrent. Where the operation before
// it in its process had not ended earlier, an operation has a new process.
func WriteEDN(w io.Writer, h *history.History) error {
	e := &exporter{h: h, processes: processes(h)}
	var order []moment
	add := func(t int64, phase uint8, write func(t int64, i int), i int) {
		order = append(order, moment{t, phase, int32(i), write})
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		add(o.Invoke, 0, e.invocation, i)
		if o.Return != history.Never {
			add(o.Return, 1, e.completion, i)
		}
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		add(f.Start, 0, e.faultStart, i)
		add(max(f.Start, f.Seen), 1, e.faultStart, i)
		if f.End != 0 {
			add(f.End, 0, e.faultEnd, i)
			add(f.End, 1, e.faultEnd, i)
		}
	}
	for i := range h.Losses {
		add(h.Losses[i].Time, 1, e.loss, i)
	}
	for i := range h.Deaths {
		add(h.Deaths[i].Time, 1, e.death, i)
	}
	for i := range h.Roles {
		add(h.Roles[i].Time, 1, e.role, i)
	}
	slices.SortStableFunc(order, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.phase, b.phase))
	})
	out := bufio.NewWriterSize(w, 1<<16)
	for n, m := range order {
		e.line = append(e.line[:0], "{:index "...)
		e.line = strconv.AppendInt(e.line, int64(n), 10)
		e.line = append(e.line, ", :time "...)
		e.line = strconv.AppendInt(e.line, m.time-h.Start, 10)
		m.write(m.time, int(m.at))
		e.line = append(e.line, "}\n"...)
		if _, err := out.Write(e.line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// moment is one line to be written.
type moment struct {
	time  int64
	phase uint8
	at    int32
	write func(t int64, i int)
}

type exporter struct {
	h         *history.History
	processes []int64 // of each operation
	line      []byte
}

// processes gives each operation its process, a new one where the process may not be free.
func processes(h *history.History) []int64 {
	order := make([]int, len(h.Operations))
	fresh := int64(0)
	for i := range order {
		order[i] = i
		fresh = max(fresh, h.Operations[i].Process+1)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h.Operations[a].Invoke, h.Operations[b].Invoke) })
	out := make([]int64, len(order))
	busy := make(map[int64]int64) // until when a process is
	for _, i := range order {
		o := &h.Operations[i]
		out[i] = o.Process
		if until, ok := busy[o.Process]; o.Process < 0 || ok && until >= o.Invoke {
			out[i] = fresh
			fresh++
		}
		busy[out[i]] = o.Return
		if o.Outcome == history.OutcomeInfo {
			busy[out[i]] = history.Never // Jepsen's processes end there
		}
	}
	return out
}

func (e *exporter) invocation(_ int64, i int) {
	o := &e.h.Operations[i]
	e.head(i, "invoke")
	e.value(o, false)
}

func (e *exporter) completion(_ int64, i int) {
	o := &e.h.Operations[i]
	e.head(i, o.Outcome.String())
	e.value(o, true)
	if o.Outcome == history.OutcomeOK || o.Code == "" && o.Error == "" {
		return
	}
	e.line = append(e.line, ", :error "...)
	switch {
	case o.Code == "":
		e.text(o.Error)
	case o.Error == "":
		e.word(o.Code)
	default:
		e.line = append(e.line, '[')
		e.word(o.Code)
		e.line = append(e.line, ' ')
		e.text(o.Error)
		e.line = append(e.line, ']')
	}
}

func (e *exporter) head(i int, typ string) {
	e.line = append(e.line, ", :process "...)
	e.line = strconv.AppendInt(e.line, e.processes[i], 10)
	e.line = append(append(e.line, ", :type :"...), typ...)
	e.line = append(e.line, ", :f "...)
	e.word(string(e.h.Operations[i].Op))
}

// value writes the map that is the value of an operation.
func (e *exporter) value(o *history.Operation, done bool) {
	e.line = append(e.line, ", :value {"...)
	if o.Op == history.Deduct {
		e.line = append(e.line, ":sku "...)
	} else {
		e.line = append(e.line, ":lock "...)
	}
	e.text(o.Object)
	e.line = append(e.line, ", :client "...)
	e.text(strconv.Itoa(o.Client) + "/" + strconv.Itoa(o.Worker))
	grant := o.Grant
	if o.Op == history.Acquire && grant == 0 && done {
		grant = o.ID
	}
	e.number(":grant", grant)
	if done {
		e.number(":fence", o.Fence)
		if o.Token != "" {
			e.line = append(e.line, ", :token "...)
			e.text(o.Token)
		}
		e.optional(":count", o.Count)
		e.optional(":basis", o.Basis)
		e.optional(":left", o.Left)
		if o.Sold {
			e.line = append(e.line, ", :sold true"...)
		}
	}
	e.line = append(e.line, '}')
}

func (e *exporter) faultStart(_ int64, i int) { e.fault("start", &e.h.Faults[i]) }
func (e *exporter) faultEnd(_ int64, i int)   { e.fault("stop", &e.h.Faults[i]) }

func (e *exporter) fault(f string, x *history.Fault) {
	e.nemesis(f)
	e.line = append(e.line, "{:fault "...)
	e.line = strconv.AppendInt(e.line, int64(x.N), 10)
	e.line = append(e.line, ", :kind "...)
	e.word(x.Kind)
	e.line = append(e.line, ", :target "...)
	e.text(x.Target)
	e.line = append(e.line, ", :landed "...)
	e.line = strconv.AppendBool(e.line, x.Landed)
	e.line = append(e.line, '}')
}

func (e *exporter) loss(_ int64, i int) {
	e.nemesis("lost")
	e.line = append(e.line, "{:grant "...)
	e.line = strconv.AppendInt(e.line, e.h.Losses[i].Grant, 10)
	e.line = append(e.line, '}')
}

func (e *exporter) death(_ int64, i int) {
	e.nemesis("client-death")
	e.line = append(e.line, "{:client "...)
	e.line = strconv.AppendInt(e.line, int64(e.h.Deaths[i].Client), 10)
	e.line = append(e.line, '}')
}

func (e *exporter) role(_ int64, i int) {
	e.nemesis("node-role")
	e.line = append(e.line, "{:node "...)
	e.text(e.h.Roles[i].Node)
	e.line = append(e.line, ", :role "...)
	e.text(e.h.Roles[i].Role)
	e.line = append(e.line, '}')
}

func (e *exporter) nemesis(f string) {
	e.line = append(e.line, ", :process :nemesis, :type :info, :f :"...)
	e.line = append(append(e.line, f...), ", :value "...)
}

func (e *exporter) number(key string, n int64) {
	if n != 0 {
		e.optional(key, &n)
	}
}

func (e *exporter) optional(key string, n *int64) {
	if n == nil {
		return
	}
	e.line = append(append(append(e.line, ", "...), key...), ' ')
	e.line = strconv.AppendInt(e.line, *n, 10)
}

// word writes a keyword, or a string where it cannot be one.
func (e *exporter) word(s string) {
	if s != "" && all([]byte(s), letter) {
		e.line = append(append(e.line, ':'), s...)
		return
	}
	e.text(s)
}

func (e *exporter) text(s string) { e.line = appendText(e.line, strings.ToValidUTF8(s, "\uFFFD")) }
