package reports

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"picklock/harness/history"
	"picklock/harness/store"
)

// maxNotes bounds the different error texts that go into the page, maxNote their length
// in bytes: servers and clients choose them, and the page must stay small.
const (
	maxNotes = 1000
	maxNote  = 240
)

// opKinds are the kinds of operations in the order of their code; anything else comes
// after them.
var opKinds = [...]history.Op{history.Acquire, history.Extend, history.Release, history.Deduct}

// alphabet writes small numbers as one character each that needs no escape in JSON.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// outcomes are an operation's ends in the order of their code: outcome, failure code, sale.
const (
	codeInfo = iota
	codeOK
	codeSold
	codeFail
	codeNotAcquired
	codeNotHeld
	codeNoEffect
	codeNotDone
	codesPerKind
)

// timeline is what the page's timeline draws, in columns, so that 100,000 operations
// stay below 1 MB. Times are µs since the load began. assets/data.js reads it.
type timeline struct {
	End        int64           `json:"end"`
	Lanes      [][2]int        `json:"lanes"` // client, worker
	Objects    []string        `json:"objects"`
	Guards     [][2]int        `json:"guards"` // objects: a SKU, and a lock under which it was deducted
	Notes      []string        `json:"notes"`
	Ops        opColumns       `json:"ops"`
	Holds      holdColumns     `json:"holds"`
	Ledger     ledgerColumns   `json:"ledger"`
	Faults     []fault         `json:"faults"`
	Nodes      []nodeLane      `json:"nodes,omitempty"`
	Violations []mark          `json:"violations"`
	Details    map[int]details `json:"details"` // by operation: of the violations' operations only
	Gaps       [][2]int64      `json:"gaps,omitempty"`
	Left       int             `json:"left_out,omitempty"` // operations in the gaps
}

type opColumns struct {
	T    packed `json:"t"`           // invocation, less that of the operation before
	D    packed `json:"d"`           // duration; ^duration where no return is known
	K    string `json:"k"`           // kind*codesPerKind+code, a character of the alphabet each
	Lane packed `json:"l"`           // index of the lane
	ID   packed `json:"i"`           // id, less that of the operation before in the lane
	Obj  packed `json:"o,omitempty"` // index of the object; absent: always 0
	Note packed `json:"n"`           // pairs: operation, less that of the pair before; index of the note
}

type holdColumns struct {
	Acquire packed `json:"a"`           // operation, less that of the hold before
	To      packed `json:"t"`           // length
	Lease   packed `json:"v"`           // vouched-for part; -1: all of it
	Remains packed `json:"r"`           // pairs: hold; how long the lease goes on without its client
	Ending  string `json:"e"`           // an ending each
	Depth   packed `json:"d,omitempty"` // absent: always 0
}

type ledgerColumns struct {
	Op    packed `json:"o"` // operation, less that of the entry before
	Found packed `json:"f"` // less what the entry before left
	Left  packed `json:"l"` // less what was found
	Basis packed `json:"b"` // pairs: entry, and by how much its basis differs from what it found
}

// mark is one violation; its story stands in the page, in the element violation-<its index>.
type mark struct {
	Property string  `json:"p"`
	N        int     `json:"n"`
	From     int64   `json:"f"`
	To       int64   `json:"t"`
	Ops      []int   `json:"o"`
	IDs      []int64 `json:"-"`
}

type details struct {
	Token    string `json:"token,omitempty"`
	Fence    int64  `json:"fence,omitempty"`
	Attempts int64  `json:"attempts,omitempty"`
	Count    *int64 `json:"count,omitempty"`
	Basis    *int64 `json:"basis,omitempty"`
	Left     *int64 `json:"left,omitempty"`
}

// encode writes what the timeline draws, as deflated JSON in base64. At most limit
// operations go in.
func encode(r *store.Result, h *history.History, d *derived, fs []fault, limit int) ([]byte, error) {
	us := func(t int64) int64 { return (t - h.Start) / 1000 }
	t := &timeline{
		End: us(h.End), Faults: fs, Nodes: nodeLanes(h), Objects: []string{}, Guards: [][2]int{}, Notes: []string{}, Violations: []mark{}, Details: map[int]details{},
	}
	for _, l := range d.Lanes {
		t.Lanes = append(t.Lanes, [2]int{l.Client, l.Worker})
	}
	keep, gaps := within(r, h, d, limit)
	for _, g := range gaps {
		t.Gaps = append(t.Gaps, [2]int64{us(g[0]), us(g[1])})
	}
	at := t.operations(h, d, keep, min(limit, len(h.Operations)), us) // index of an operation to its index in the page; -1: left out
	t.holds(d, at)
	t.ledger(h, d, at)
	for _, p := range violated(r) {
		for i, v := range r.Properties[p].Violations {
			m := mark{Property: string(p), N: i + 1, From: int64(v.StartS * 1e6), To: int64(v.EndS * 1e6), Ops: []int{}}
			for _, id := range v.Operations {
				if k, ok := d.Index.Get(id); ok && at[k] >= 0 {
					m.Ops = append(m.Ops, int(at[k]))
					o := &h.Operations[k]
					t.Details[int(at[k])] = details{clip(o.Token), o.Fence, o.Attempts, o.Count, o.Basis, o.Left}
				}
			}
			t.Violations = append(t.Violations, m)
		}
	}
	b, err := json.Marshal(t)
	if err == nil {
		b, err = deflated(b)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the timeline: %w", err)
	}
	return b, nil
}

// operations takes those that are kept, for which it makes room.
func (t *timeline) operations(h *history.History, d *derived, keep func(int) bool, room int, us func(int64) int64) []int32 {
	at := make([]int32, len(h.Operations))
	for _, column := range []*packed{&t.Ops.T, &t.Ops.D, &t.Ops.Lane, &t.Ops.ID, &t.Ops.Obj} {
		*column = make(packed, 0, room)
	}
	kinds := make([]byte, 0, room)
	index := d.Index.View()
	objects, notes, guards := map[string]int{}, map[string]int{}, map[[2]int]bool{}
	lastID := make([]int64, len(d.Lanes))
	var last int64
	n, lastNote := 0, 0
	for i := range h.Operations {
		if !keep(i) {
			at[i] = -1
			t.Left++
			continue
		}
		o := &h.Operations[i]
		at[i] = int32(n)
		from, l := us(o.Invoke), d.LaneOf[i]
		length := us(d.Ends[i]) - from
		if o.Return == history.Never {
			length = ^length
		}
		t.Ops.T = append(t.Ops.T, from-last)
		t.Ops.D = append(t.Ops.D, length)
		t.Ops.Lane = append(t.Ops.Lane, int64(l))
		t.Ops.ID = append(t.Ops.ID, o.ID-lastID[l])
		last, lastID[l] = from, o.ID
		kinds = append(kinds, alphabet[code(o)])
		object := intern(objects, &t.Objects, o.Object)
		t.Ops.Obj = append(t.Ops.Obj, int64(object))
		if o.Op == history.Deduct {
			if a, ok := index.Find(o.Grant); ok {
				pair := [2]int{object, intern(objects, &t.Objects, h.Operations[a].Object)}
				if !guards[pair] {
					guards[pair] = true
					t.Guards = append(t.Guards, pair)
				}
			}
		}
		if s := note(o); s != "" {
			if _, known := notes[s]; !known && len(notes) >= maxNotes {
				s = "(one of too many different errors to show)"
			}
			t.Ops.Note = append(t.Ops.Note, int64(n-lastNote), int64(intern(notes, &t.Notes, s)))
			lastNote = n
		}
		n++
	}
	t.Ops.K = string(kinds)
	if len(objects) < 2 {
		t.Ops.Obj = nil
	}
	return at
}

func (t *timeline) holds(d *derived, at []int32) {
	var endings strings.Builder
	last, deep := int32(0), false
	for i := range d.Holds {
		x := &d.Holds[i]
		if at[x.Acquire] < 0 {
			continue
		}
		n := len(t.Holds.To)
		t.Holds.Acquire = append(t.Holds.Acquire, int64(at[x.Acquire]-last))
		last = at[x.Acquire]
		t.Holds.To = append(t.Holds.To, (x.To-x.From)/1000)
		vouched := int64(-1)
		if x.vouched() < x.To {
			vouched = (x.vouched() - x.From) / 1000
		}
		t.Holds.Lease = append(t.Holds.Lease, vouched)
		if x.Remains > x.To {
			t.Holds.Remains = append(t.Holds.Remains, int64(n), (x.Remains-x.To)/1000)
		}
		endings.WriteByte(alphabet[x.Ending])
		t.Holds.Depth = append(t.Holds.Depth, int64(x.Depth))
		deep = deep || x.Depth > 0
	}
	t.Holds.Ending = endings.String()
	if !deep {
		t.Holds.Depth = nil
	}
}

func (t *timeline) ledger(h *history.History, d *derived, at []int32) {
	var left int64
	last := int32(0)
	index := d.Index.View()
	for k := range h.Ledger {
		e := &h.Ledger[k]
		i, ok := index.Find(e.Op)
		if !ok || at[i] < 0 {
			continue
		}
		if e.Basis != nil && *e.Basis != e.Found {
			t.Ledger.Basis = append(t.Ledger.Basis, int64(len(t.Ledger.Op)), *e.Basis-e.Found)
		}
		t.Ledger.Op = append(t.Ledger.Op, int64(at[i]-last))
		t.Ledger.Found = append(t.Ledger.Found, e.Found-left)
		t.Ledger.Left = append(t.Ledger.Left, e.Left-e.Found)
		last, left = at[i], e.Left
	}
}

// code packs kind and outcome of an operation into one number below len(alphabet).
func code(o *history.Operation) int {
	kind := len(opKinds)
	for k, op := range opKinds {
		if o.Op == op {
			kind = k
		}
	}
	c := codeInfo
	switch o.Outcome {
	case history.OutcomeOK:
		c = codeOK
		if o.Sold {
			c = codeSold
		}
	case history.OutcomeFail:
		c = codeFail
		switch o.Code {
		case history.CodeNotAcquired:
			c = codeNotAcquired
		case history.CodeNotHeld:
			c = codeNotHeld
		case history.CodeNoEffect:
			c = codeNoEffect
		case history.CodeNotDone:
			c = codeNotDone
		}
	}
	return kind*codesPerKind + c
}

// note says what is special about an operation: the client's belief, the error.
func note(o *history.Operation) string {
	var parts []string
	switch o.Belief {
	case "":
	case history.BelievesHeld:
		parts = append(parts, "enters all the same")
	case history.BelievesNot:
		parts = append(parts, "goes away all the same")
	case history.ReleasesAnyway:
		parts = append(parts, "stays out, but releases all the same")
	case history.ThrowsToCaller:
		parts = append(parts, "the error reached the caller")
	default:
		parts = append(parts, o.Belief)
	}
	// What the code says already ("not-acquired") needs no error text: it is most of them.
	if o.Error != "" && o.Code != history.CodeNotAcquired {
		parts = append(parts, o.Error)
	}
	return clip(strings.Join(parts, "; "))
}

func clip(s string) string {
	if len(s) <= maxNote {
		return s
	}
	n := maxNote
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// intern gives the index of s in list, to which it is added when it is new.
func intern(index map[string]int, list *[]string, s string) int {
	i, ok := index[s]
	if !ok {
		i = len(*list)
		index[s] = i
		*list = append(*list, s)
	}
	return i
}
