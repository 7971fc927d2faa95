package models_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"picklock/harness/history"
	"picklock/models"
)

// The golden files under testdata/verdicts show histories and the verdicts on them. A line is an
// operation, a fault, a death or a level; times are seconds since the load began:
//
//	1.000..1.002 c0w1 #1 acquire lock:a ok validity=1s from=1.001
//	1.050..1.051 c0w1 #2 deduct sku-0 of=#1 ok basis=871 left=870 sold
//	1.060..      c0w1 #3 release lock:a of=#1          (no completion)
//	1.060..1.200 c0w1 #3 release lock:a of=#1 info error=timeout
//	1.060..1.200 c0w1 #3 release lock:a of=#1 fail code=not-held
//	2.000 death c0
//	2.000 lost #1
//	2.350..4.861 fault pause-client client 3           (unproven: not landed; 2.350.. : never healed)
//	2.350..4.861 fault kill-node node lock             (stays: the tail does not wait for its end; seen=2.4 undone=4.8)
//	2.400 role lock-2 replica of lock-1
//	ledger sku-0 #2 basis=871 found=871 left=870 fence=4
//	stock sku-0 1000 final=990
//	torn                                               (the record breaks off)
//
// Words after #n of an acquire or extend: token, fence, from, validity, attempts, belief,
// count. The command is judge; its arguments are the Params, and show=(...) picks what is
// printed. Unless told otherwise the lock promises everything but fencing. Rewrite the files with: go test ./models -run TestGolden -rewrite
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/verdicts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "judge" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			h, err := parse(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			p, show := params(t, d)
			return print(models.Judge(h, p), show)
		})
	})
}

// params reads the arguments of a command. Vacuity is off unless a bound is given.
func params(t *testing.T, d *datadriven.TestData) (models.Params, []string) {
	p := models.Params{TTL: time.Second, MinSales: -1, MinContention: -1, Promises: slices.DeleteFunc(slices.Clone(models.LockProperties), func(id models.Property) bool { return id == models.Fencing })}
	var show []string
	for _, a := range d.CmdArgs {
		one := func() string {
			if len(a.Vals) != 1 {
				d.Fatalf(t, "%s needs one value", a.Key)
			}
			return a.Vals[0]
		}
		number := func() int {
			n, err := strconv.Atoi(one())
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return n
		}
		duration := func() time.Duration {
			v, err := time.ParseDuration(one())
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return v
		}
		switch a.Key {
		case "promises":
			p.Promises = nil
			for _, v := range a.Vals {
				p.Promises = append(p.Promises, models.Property(v))
			}
		case "show":
			show = a.Vals
		case "ttl":
			p.TTL = duration()
		case "drift":
			p.Drift = duration()
		case "grace":
			p.Grace = duration()
		case "no-ttl":
			p.NoTTL = true
		case "reentrant":
			p.Reentrant = true
		case "min-sales":
			p.MinSales = number()
		case "min-contention":
			p.MinContention = number()
		case "max":
			p.MaxViolations = number()
		case "wants":
			p.FaultsWanted = a.Vals
		default:
			d.Fatalf(t, "unknown argument %q", a.Key)
		}
	}
	return p, show
}

// parse reads a history in the language above.
func parse(text string) (*history.History, error) {
	events := []history.Event{{Type: history.Begin, Client: -1}}
	last, torn, seq, faults := int64(0), false, int64(0), 0
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		fail := func(err error) error { return fmt.Errorf("line %d, %q: %w", n+1, line, err) }
		switch words[0] {
		case "torn":
			torn = true
			continue
		case "ledger":
			e := history.Event{Type: history.LedgerEntry, Client: -1, Object: words[1], Ledger: &history.Ledger{Seq: seq}}
			seq++
			id, err := ident(words[2])
			if err != nil {
				return nil, fail(err)
			}
			e.Ledger.Op = id
			for _, w := range words[3:] {
				key, val, _ := strings.Cut(w, "=")
				v, err := strconv.ParseInt(val, 10, 64)
				if err != nil {
					return nil, fail(err)
				}
				switch key {
				case "basis":
					e.Ledger.Basis = &v
				case "found":
					e.Ledger.Found = v
				case "left":
					e.Ledger.Left = v
				case "fence":
					e.Ledger.Fence = v
				default:
					return nil, fail(fmt.Errorf("unknown word %q", w))
				}
			}
			events = append(events, e)
			continue
		case "stock":
			for _, w := range words[2:] {
				val, final := strings.CutPrefix(w, "final=")
				v, err := strconv.ParseInt(val, 10, 64)
				if err != nil {
					return nil, fail(err)
				}
				events = append(events, history.Event{Type: history.StockLevel, Client: -1, Object: words[1], Stock: &history.Stock{Final: final, Level: v}})
			}
			continue
		}
		begin, end, ranged := strings.Cut(words[0], "..")
		from, err := seconds(begin)
		if err != nil {
			return nil, fail(err)
		}
		to := history.Never
		if end != "" {
			if to, err = seconds(end); err != nil {
				return nil, fail(err)
			}
		}
		last = max(last, from)
		if to != history.Never {
			last = max(last, to)
		}
		switch {
		case words[1] == "death":
			var c int
			if _, err := fmt.Sscanf(words[2], "c%d", &c); err != nil {
				return nil, fail(err)
			}
			events = append(events, history.Event{Time: from, Type: history.ClientDeath, Client: c})
		case words[1] == "lost":
			id, err := ident(words[2])
			if err != nil {
				return nil, fail(err)
			}
			events = append(events, history.Event{Time: from, Type: history.Lost, Grant: id})
		case words[1] == "role":
			var server uint8
			if _, number, ok := strings.Cut(words[2], "lock-"); ok {
				n, err := strconv.ParseUint(number, 10, 8)
				if err != nil {
					return nil, fail(err)
				}
				server = uint8(n)
			}
			events = append(events, history.Event{Time: from, Type: history.NodeRole, Client: -1, Node: words[2], Server: server, Note: strings.Join(words[3:], " ")})
		case words[1] == "fault":
			faults++
			f := history.Fault{N: faults, Kind: words[2], Target: words[3] + " " + words[4], Client: -1, Start: from, Landed: !slices.Contains(words, "unproven"), Stays: slices.Contains(words, "stays")}
			if words[3] == "client" {
				f.Client, err = strconv.Atoi(words[4])
				if err != nil {
					return nil, fail(err)
				}
			} else {
				f.Node = words[4]
			}
			for _, w := range words {
				if at, ok := strings.CutPrefix(w, "seen="); ok {
					if f.Seen, err = seconds(at); err != nil {
						return nil, fail(err)
					}
				}
				if at, ok := strings.CutPrefix(w, "undone="); ok {
					if f.Undone, err = seconds(at); err != nil {
						return nil, fail(err)
					}
				}
			}
			started := f
			events = append(events, history.Event{Time: from, Type: history.FaultStart, Client: -1, Fault: &started})
			if to != history.Never {
				f.End = to
				events = append(events, history.Event{Time: to, Type: history.FaultEnd, Client: -1, Fault: &f})
			}
		case ranged:
			invoke, completion, err := operation(words, from, to)
			if err != nil {
				return nil, fail(err)
			}
			events = append(events, invoke)
			if to != history.Never {
				events = append(events, completion)
			}
		default:
			return nil, fail(fmt.Errorf("what is this?"))
		}
	}
	if !torn {
		events = append(events, history.Event{Time: last, Type: history.End, Client: -1})
	}
	return history.Assemble(events)
}

// operation reads one operation: "1.0..1.1 c0w1 #1 acquire lock:a ok ...".
func operation(words []string, from, to int64) (invoke, done history.Event, err error) {
	if len(words) < 5 {
		return invoke, done, fmt.Errorf("an operation needs a worker, an id, a kind and an object")
	}
	var c, w int
	if _, err := fmt.Sscanf(words[1], "c%dw%d", &c, &w); err != nil {
		return invoke, done, err
	}
	id, err := ident(words[2])
	if err != nil {
		return invoke, done, err
	}
	e := history.Event{Op: history.Op(words[3]), ID: id, Process: int64(100*c + w), Client: c, Worker: w, Object: words[4]}
	done = e
	done.Time, done.Type = to, ""
	for _, word := range words[5:] {
		key, val, _ := strings.Cut(word, "=")
		number := func() int64 {
			v, bad := strconv.ParseInt(val, 10, 64)
			if bad != nil {
				err = bad
			}
			return v
		}
		pointer := func() *int64 { v := number(); return &v }
		switch key {
		case "ok", "fail", "info":
			done.Type = history.Type(key)
		case "sold":
			done.Sold = true
		case "of":
			e.Grant, err = ident(val)
			done.Grant = e.Grant
		case "token":
			done.Token = val
		case "on":
			done.Server = uint8(number())
		case "belief":
			done.Belief = val
		case "code":
			done.Code = val
		case "error":
			done.Error = val
		case "from":
			done.From, err = seconds(val)
		case "validity":
			var v time.Duration
			v, err = time.ParseDuration(val)
			done.Validity = int64(v)
		case "fence":
			done.Fence = number()
		case "attempts":
			done.Attempts = number()
		case "count":
			done.Count = pointer()
		case "basis":
			done.Basis = pointer()
		case "left":
			done.Left = pointer()
		default:
			err = fmt.Errorf("unknown word %q", word)
		}
		if err != nil {
			return invoke, done, err
		}
	}
	if done.Type == "" && to != history.Never {
		return invoke, done, fmt.Errorf("a completion needs ok, fail or info")
	}
	invoke = e
	invoke.Time, invoke.Type = from, history.Invoke
	return invoke, done, nil
}

func ident(s string) (int64, error) {
	return strconv.ParseInt(strings.TrimPrefix(s, "#"), 10, 64)
}

// seconds reads a time; it is exact to the nanosecond, so that ties are ties.
func seconds(s string) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	return int64(math.Round(f * 1e9)), err
}

// print shows a report. show picks properties, "measures" or "verdict"; empty: all
// properties and the verdict.
func print(r *models.Report, show []string) string {
	var b strings.Builder
	wanted := func(s string) bool { return slices.Contains(show, s) || len(show) == 0 && s != "measures" }
	if wanted("verdict") {
		fmt.Fprintf(&b, "verdict: %s\n", r.Verdict)
		for _, w := range r.VacuousWhy {
			fmt.Fprintf(&b, "vacuous: %s\n", w)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.Properties)) {
		if !wanted(string(id)) {
			continue
		}
		j := r.Properties[id]
		fmt.Fprintf(&b, "%s: %s", id, j.Verdict)
		if j.Count > 0 {
			fmt.Fprintf(&b, ", %d found", j.Count)
		}
		b.WriteString("\n")
		for _, v := range j.Violations {
			fmt.Fprintf(&b, "  %s of %s, %.3f to %.3f s, operations %v\n", v.Kind, v.Object, v.StartS, v.EndS, v.Operations)
			for _, s := range v.Story {
				fmt.Fprintf(&b, "    %s\n", s)
			}
		}
		if j.Note != "" {
			fmt.Fprintf(&b, "  note: %s\n", j.Note)
		}
		for _, p := range j.Pictures {
			fmt.Fprintf(&b, "  picture of %s\n", p.Object)
		}
	}
	if wanted("measures") {
		b.WriteString(measured(r.Measures))
	}
	return b.String()
}

// measured shows the measures that are not 0, a line each.
func measured(m models.Measures) string {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for line := range strings.Lines(string(text) + "\n") {
		bare := strings.TrimRight(line, ",\n")
		if !strings.HasSuffix(bare, ": 0") && bare != "{" && bare != "}" {
			b.WriteString(bare + "\n")
		}
	}
	return b.String()
}
