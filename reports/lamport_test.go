package reports_test

import (
	"encoding/xml"
	"flag"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
	"picklock/nemesis/wire/record"
	"picklock/reports"
)

var update = flag.Bool("update", false, "write the golden files anew")

const ms = int64(1e6)

// lateGrant is a small made-up test: the reply to client 0's acquire is late, client 1 is
// granted the lock meanwhile, and both are in their sections. The name of the lock, an error
// and the node's are what the test says.
type lateGrant struct{ lock, fails, node string }

func (c lateGrant) history(t *testing.T) (*store.Result, *history.History) {
	t.Helper()
	at := func(n int64) int64 { return origin + n*ms }
	op := func(n int64, typ history.Type, op history.Op, id int64, client int) history.Event {
		return history.Event{Time: at(n), Type: typ, Op: op, ID: id, Process: int64(client), Client: client, Object: c.lock}
	}
	granted := func(n int64, id int64, client int, from int64) history.Event {
		e := op(n, history.OK, history.Acquire, id, client)
		e.Token, e.From, e.Validity, e.Attempts = "t", at(from), 600*ms, 1
		return e
	}
	released := func(n, id, grant int64, client int) history.Event {
		e := op(n, history.OK, history.Release, id, client)
		e.Grant = grant
		return e
	}
	invoked := func(n, id, grant int64, client int) history.Event {
		e := op(n, history.Invoke, history.Release, id, client)
		e.Grant = grant
		return e
	}
	f := history.Fault{N: 1, Kind: "delay-reply", Target: "client 0", Client: 0, Start: at(101), Landed: true, Proof: "it was delayed"}
	ended := f
	ended.End = at(1200)
	h, err := history.Assemble([]history.Event{
		{Time: origin, Type: history.Begin, Client: -1},
		op(100, history.Invoke, history.Acquire, 1, 0), {Time: at(101), Type: history.FaultStart, Client: -1, Fault: &f},
		op(800, history.Invoke, history.Acquire, 2, 1), granted(802, 2, 1, 800),
		granted(1103, 1, 0, 100),
		invoked(1150, 3, 1, 0), released(1152, 3, 1, 0),
		invoked(1180, 4, 2, 1), released(1184, 4, 2, 1),
		{Time: at(1200), Type: history.FaultEnd, Client: -1, Fault: &ended},
		{Time: at(2000), Type: history.End, Client: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &store.Result{
		Verdict: models.Violated, Test: store.Test{Name: "late", Lock: "uuid-lua", TTL: store.Duration(600 * ms), Clients: 2, Workers: 1},
		Properties: map[models.Property]*models.Judgement{models.MutualExclusion: {Verdict: models.Violated, Count: 1, Checked: 2,
			Violations: []models.Violation{{StartS: 1.103, EndS: 1.15, Kind: "double-grant", Object: c.lock, Operations: []int64{1, 2}, Story: []string{"both hold it"}}}}},
	}
	return r, h
}

func (c lateGrant) messages() []record.Message {
	at := func(n int64) int64 { return origin + n*ms }
	m := func(from, to int64, client int, side record.Side, name, step, reply string) record.Message {
		return record.Message{At: at(from), Out: at(to), Client: client, Node: c.node, Conn: int64(client + 1), Side: side, Name: name, Step: step, Key: c.lock, Reply: reply}
	}
	late := m(101, 1102, 0, record.Reply, "SET", "acquire", "+OK")
	late.Fate, late.Fault = record.Delayed, 1
	lost := m(1184, 0, 1, record.Reply, "EVALSHA", "release", "-"+c.fails)
	lost.Out, lost.Fate, lost.Fault = 0, record.Dropped, 2
	other := m(801, 801, 0, record.Request, "GET", "", "")
	other.Key = "another:lock"
	return []record.Message{
		m(100, 100, 0, record.Request, "SET", "acquire", ""), late,
		m(800, 801, 1, record.Request, "SET", "acquire", ""), m(801, 802, 1, record.Reply, "SET", "acquire", "+OK"),
		other,
		m(1150, 1151, 0, record.Request, "EVALSHA", "release", ""), m(1151, 1152, 0, record.Reply, "EVALSHA", "release", ":0"),
		m(1181, 1182, 1, record.Request, "EVALSHA", "release", ""), lost,
	}
}

// written writes the report of a test with these messages, and gives it.
func writtenWith(t *testing.T, r *store.Result, h *history.History, ms []record.Message, o record.Options) string {
	t.Helper()
	dir := t.TempDir()
	o.Now = func() int64 { return h.End }
	w, err := record.Create(filepath.Join(dir, store.WireFile), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		w.Add([]record.Message{m})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return report(t, dir, r, h)
}

func report(t *testing.T, dir string, r *store.Result, h *history.History) string {
	t.Helper()
	if err := reports.Write(dir, r, h); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, reports.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var lamportSVG = regexp.MustCompile(`(?s)<svg class="lamport".*?</svg>`)

// TestLamport compares a diagram with the golden one, which was looked at.
func TestLamport(t *testing.T) {
	c := lateGrant{"lock:sku-0", "ERR no", "lock"}
	r, h := c.history(t)
	s := writtenWith(t, r, h, c.messages(), record.Options{})
	got := lamportSVG.FindString(s)
	wellFormed(t, "diagram", got)
	got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
	const golden = "testdata/lamport.svg"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		at := slices.IndexFunc(strings.Split(got, "\n"), func(line string) bool { return !strings.Contains(string(want), line+"\n") })
		t.Errorf("the diagram is not the golden one (%s; -update writes it anew); the first line that is new: %d", golden, at+1)
	}
	for _, want := range []string{
		"acquire: OK – delayed 1.00 s by F1 delay-reply", "release: error ERR no – dropped by a fault", "client 0 holds", "client 1 holds",
		"violation: from 1.103 s", "violation: until 1.150 s",
	} {
		if !strings.Contains(got, ">"+want+"<") && !strings.Contains(got, "\n"+want+"<") && !strings.Contains(got, "</title>"+want+"<") {
			t.Errorf("the diagram does not say %q", want)
		}
	}
	if strings.Contains(got, "another:lock") {
		t.Error("the diagram has a message about another lock")
	}
	if n := len(lamportSVG.FindAllString(s, -1)); n != 1 {
		t.Errorf("%d diagrams, want the one of the only violation", n)
	}
}

// TestLamportEscapes: what clients and servers say is text, whatever it says.
func TestLamportEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\x00\u202e'"
	c := lateGrant{"lock:" + evil, evil, evil}
	r, h := c.history(t)
	messages := c.messages()
	for i := range messages {
		messages[i].Name, messages[i].Step = "SET"+evil, "acquire"+evil
	}
	s := writtenWith(t, r, h, messages, record.Options{})
	svg := lamportSVG.FindString(s)
	if svg == "" {
		t.Fatal("there is no diagram")
	}
	wellFormed(t, "diagram", svg)
	for _, bad := range []string{"<script", "<img", "\x00", "\u202e"} {
		if strings.Contains(svg, bad) {
			t.Errorf("%q is in the diagram", bad)
		}
	}
	if !strings.Contains(svg, html.EscapeString(`"><script>`)) {
		t.Error("the hostile text is not in the diagram at all: this test looks at nothing")
	}
	if note := s[strings.Index(s, "</svg>"):]; strings.Contains(note[:strings.Index(note, "</details>")+1], "<img") {
		t.Error("the note below the diagram is not escaped")
	}
}

// TestLamportIsBounded: of very many messages the diagram has forty, and says how many it
// leaves out; no label lies on another or leaves its place.
func TestLamportIsBounded(t *testing.T) {
	c := lateGrant{"lock:sku-0", "ERR " + strings.Repeat("very long ", 10), "a node with a very long name"}
	r, h := c.history(t)
	messages := c.messages()
	for i := range 3000 {
		m := messages[0]
		m.At, m.Client = origin+100*ms+int64(i)*350_000, i%9
		m.Out, m.Conn, m.Fate, m.Fault = m.At+20_000, int64(100+i%9), record.Fate(i%3), 1
		messages = append(messages, m)
	}
	s := writtenWith(t, r, h, messages, record.Options{})
	svg := lamportSVG.FindString(s)
	drawn := strings.Count(svg, `class="message-start"`) + strings.Count(svg, `class="lost-mark"`)
	left := regexp.MustCompile(`(\d+) more messages about lock:sku-0 between these are left out`).FindStringSubmatch(s)
	if left == nil {
		t.Fatal("the report does not say how many messages it leaves out")
	}
	if n, _ := strconv.Atoi(left[1]); drawn > 40 || drawn < 10 || n < 2000 {
		t.Errorf("%d messages are drawn and %d left out, want 40 at most, and some 3000 in all", drawn, n)
	}
	legible(t, svg)
}

// legible checks that no text lies on another, or outside the picture.
func legible(t *testing.T, svg string) {
	t.Helper()
	type text struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Anchor string  `xml:"text-anchor,attr"`
		Words  string  `xml:",chardata"`
	}
	var doc struct {
		Box   string `xml:"viewBox,attr"`
		Texts []text `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(svg), &doc); err != nil {
		t.Fatal(err)
	}
	box := strings.Fields(doc.Box)
	width, _ := strconv.ParseFloat(box[2], 64)
	height, _ := strconv.ParseFloat(box[3], 64)
	type area struct{ x1, x2, y1, y2 float64 }
	var areas []area
	for _, x := range doc.Texts {
		w := float64(len([]rune(x.Words))) * 6.4
		a := area{x.X, x.X + w, x.Y - 10, x.Y + 3}
		switch x.Anchor {
		case "middle":
			a.x1, a.x2 = x.X-w/2, x.X+w/2
		case "end":
			a.x1, a.x2 = x.X-w, x.X
		}
		if a.x1 < -1 || a.x2 > width+1 || a.y1 < 0 || a.y2 > height {
			t.Errorf("%q leaves the picture: %+v of %v × %v", x.Words, a, width, height)
		}
		for i, b := range areas {
			if a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2 {
				t.Errorf("%q lies on %q", x.Words, doc.Texts[i].Words)
			}
		}
		areas = append(areas, a)
	}
	if len(areas) < 20 {
		t.Errorf("only %d texts: this looks at too little", len(areas))
	}
}

// TestLamportWithoutMessages: where there was no wire there is no diagram; where its record
// cannot be read, the report is written all the same, and says so.
func TestLamportWithoutMessages(t *testing.T) {
	c := lateGrant{"lock:sku-0", "ERR no", "lock"}
	r, h := c.history(t)
	if s := report(t, t.TempDir(), r, h); strings.Contains(s, `class="lamport"`) || strings.Contains(s, "on the wire") {
		t.Error("a test without a wire has a diagram")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.WireFile), []byte("{\"picklock-wire\":1}\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := report(t, dir, r, h)
	if !strings.Contains(s, "The messages on the wire are missing from this report.") || !strings.Contains(s, "line 2: not a message of the wire") {
		t.Error("the report does not say that the record of the wire is damaged, and where")
	}
	full := writtenWith(t, r, h, c.messages(), record.Options{Limit: 900})
	if !regexp.MustCompile(`The record of the wire was full at 1\.\d+ s: \d+ messages of this test are missing`).MatchString(full) {
		t.Error("the report does not say that the record of the wire was full")
	}
	torn := filepath.Join(dir, store.WireFile)
	line := func(m record.Message) string { return string(m.AppendJSON(nil)) + "\n" }
	text := "{\"picklock-wire\":1}\n"
	for _, m := range c.messages() {
		text += line(m)
	}
	if err := os.WriteFile(torn, []byte(text+`{"t":12`), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := report(t, dir, r, h); !strings.Contains(s, "The record of the wire breaks off") || !strings.Contains(s, `class="lamport"`) {
		t.Error("of a record with a torn tail the report shows nothing, or does not say so")
	}
}
