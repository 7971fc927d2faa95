package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
)

// seal gives the bytes of a history file with these events.
func seal(events []history.Event) []byte {
	lines := make([][]byte, len(events))
	for i := range events {
		lines[i] = events[i].AppendJSON(nil)
	}
	return history.SealLines(lines)
}

// same compares what Load and the reader of one line after the other make of a file: they
// must agree to the word.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, b []byte, journals string, chunk int64) {
	t.Helper()
	want, wantErr := history.LoadOneByOne(bytes.Clone(b), journals)
	kept := bytes.Clone(b)
	got, err := history.LoadBytes(b, journals, chunk)
	if !bytes.Equal(b, kept) {
		t.Fatalf("%s: reading changed the bytes", what)
	}
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || errors.Is(err, history.ErrDamaged) != errors.Is(wantErr, history.ErrDamaged) {
		t.Fatalf("%s, chunks of %d: got error %v, one by one %v", what, chunk, err, wantErr)
	}
	if err != nil {
		return
	}
	x := got.Index()
	for i, o := range got.Operations {
		if at, ok := x.Get(o.ID); !ok || at != i {
			t.Fatalf("%s, chunks of %d: operation %d stands at %d, its index says %d, %v", what, chunk, o.ID, i, at, ok)
		}
	}
	got.ForgetIndex()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s, chunks of %d: got  %+v\none by one %+v", what, chunk, got, want)
	}
}

// anyHistory draws events as they are recorded, and then, for some, what should not be.
func anyHistory(r *rand.Rand, strange bool) []history.Event {
	events := historytest.Events(historytest.Config{
		Operations: 1 + r.IntN(60), Clients: 1 + r.IntN(5), SKUs: 1 + r.IntN(3), Unknown: r.Float64() / 4, Seed: r.Uint64(),
	})
	for range r.IntN(4) {
		events = slices.Insert(events, r.IntN(len(events)+1), rareEvent(r, events))
	}
	late := r.IntN(4) // lines that come later than their time
	for range late {
		from := r.IntN(len(events))
		to := min(len(events)-1, from+r.IntN(10))
		e := events[from]
		events = slices.Insert(slices.Delete(events, from, from+1), to, e)
	}
	if strange {
		for range 1 + r.IntN(3) {
			spoil(r, events)
		}
		if r.IntN(3) == 0 {
			events = append(events, events[r.IntN(len(events))])
		}
	}
	return events
}

func rareEvent(r *rand.Rand, events []history.Event) history.Event {
	at := events[r.IntN(len(events))].Time
	f := history.Fault{N: 1 + r.IntN(2), Kind: "pause-client", Target: "client 1", Client: 1, Start: at, Landed: true, Proof: "T <stopped>"}
	return []history.Event{
		{Time: at, Type: history.FaultStart, Client: -1, Fault: &f},
		{Time: at, Type: history.FaultEnd, Client: -1, Fault: &f},
		{Time: at, Type: history.ClientDeath, Client: r.IntN(3), Process: -1, Worker: -1, Note: "killed"},
		{Time: at, Type: history.Lost, Client: r.IntN(3), Grant: events[r.IntN(len(events))].ID, Object: "lock:sku-0"},
		{Time: at, Type: history.NodeRole, Node: "lock-1", Note: history.Primary},
		{Time: at, Type: history.ClientTold, Note: "order 1: ü"},
		{Time: at, Type: history.ClientUp, Process: 1, Client: 1},
	}[r.IntN(7)]
}

// spoil changes an event so that it may contradict others.
func spoil(r *rand.Rand, events []history.Event) {
	e := &events[r.IntN(len(events))]
	other := events[r.IntN(len(events))]
	switch r.IntN(9) {
	case 0:
		e.ID = other.ID
	case 1:
		e.Time = other.Time
	case 2:
		e.Type = other.Type
	case 3:
		e.Process = other.Process
	case 4:
		e.Op = other.Op
	case 5:
		e.Client++
	case 6:
		e.Time = []int64{history.Never, 0, -5}[r.IntN(3)]
	case 7:
		e.Error, e.Code, e.Belief = "a \"quoted\" ü", "what", "no such"
	case 8:
		e.Ledger = &history.Ledger{Seq: int64(r.IntN(9)), Op: other.ID}
	}
}

// TestLoadAgrees is the differential test of the reader, on files that are whole, cut,
// changed, and with lines lost, doubled and moved.
func TestLoadAgrees(t *testing.T) {
	rounds := 100 // make soak-history reads ten million files
	r := rand.New(rand.NewPCG(7, 11))
	for n := range rounds {
		events := anyHistory(r, n%2 == 1)
		b := seal(events)
		chunk := int64(1 + r.IntN(2000))
		same(t, fmt.Sprintf("history %d", n), b, "", chunk)
		cut := r.IntN(len(b) + 1)
		same(t, fmt.Sprintf("history %d cut at %d", n, cut), b[:cut], "", chunk)
		same(t, fmt.Sprintf("history %d cut at %d with zeros", n, cut), append(bytes.Clone(b[:cut]), make([]byte, 1+r.IntN(50))...), "", chunk)
		flipped := bytes.Clone(b)
		at := r.IntN(len(b))
		flipped[at] ^= byte(1 << r.IntN(8))
		same(t, fmt.Sprintf("history %d changed at %d", n, at), flipped, "", chunk)

		lines := bytes.SplitAfter(b, []byte("\n"))
		i, k := r.IntN(len(lines)), r.IntN(len(lines))
		for what, changed := range map[string][][]byte{
			"lost":    slices.Delete(slices.Clone(lines), i, i+1),
			"doubled": slices.Insert(slices.Clone(lines), k, lines[i]),
			"moved":   slices.Insert(slices.Delete(slices.Clone(lines), i, i+1), min(k, len(lines)-1), lines[i]),
			"empty":   slices.Insert(slices.Clone(lines), k, []byte("\n")),
		} {
			same(t, fmt.Sprintf("history %d, line %d %s", n, i+1, what), bytes.Join(changed, nil), "", chunk)
		}
	}
}

// TestLoadCutAnywhere cuts one file at every byte, in chunks so small that lines span them
// and so large that they do not.
func TestLoadCutAnywhere(t *testing.T) {
	b := sampleFile(t)
	for cut := range len(b) + 1 {
		if cut%4 == 0 {
			same(t, fmt.Sprintf("cut at %d", cut), b[:cut], "", 100)
		}
		if cut%32 == 0 { // a chunk for each byte takes its time
			same(t, fmt.Sprintf("cut at %d", cut), b[:cut], "", 1)
		}
		h, err := history.LoadBytes(b[:cut], "", 1000)
		if err != nil || h.Complete == (h.Broken != "") || h.Complete && cut < len(b)-1 {
			t.Fatalf("cut after %d of %d bytes: error %v, complete %v, broken %q; want what was lost to be said", cut, len(b), err, h.Complete, h.Broken)
		}
	}
}

// TestLoadSalvages: what is in the journals and not in the file is taken from them.
func TestLoadSalvages(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for n := range 60 {
		events := anyHistory(r, n%5 == 4)
		dir := t.TempDir()
		journals := map[int]*history.Journal{}
		for _, e := range events {
			if e.Op == "" && e.Type != history.Lost {
				continue
			}
			j := journals[e.Client]
			if j == nil {
				var err error
				if j, err = history.CreateJournal(filepath.Join(dir, fmt.Sprintf("%d.journal", e.Client))); err != nil {
					t.Fatal(err)
				}
				journals[e.Client] = j
			}
			if err := j.Append(&e); err != nil {
				t.Fatal(err)
			}
		}
		for _, j := range journals {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
		b := seal(events)
		same(t, fmt.Sprintf("history %d cut, with journals", n), b[:r.IntN(len(b)+1)], dir, int64(1+r.IntN(2000)))
	}
}

// TestScanAgrees: a line that scan reads is the event that ParseEvent reads from it.
func TestScanAgrees(t *testing.T) {
	usual := 0
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		if rapid.Bool().Draw(t, "plain") {
			word := rapid.StringMatching(`[ !#-\[\]-~]{0,20}`)
			e.Object, e.Token, e.Belief, e.Code = word.Draw(t, "o"), word.Draw(t, "k"), word.Draw(t, "b"), word.Draw(t, "d")
			e.Error, e.Node, e.Note = word.Draw(t, "e"), word.Draw(t, "n"), word.Draw(t, "m")
			for _, n := range []*int64{&e.Time, &e.ID, &e.Grant, &e.Fence, &e.From, &e.Validity, &e.Attempts, e.Count, e.Basis, e.Left} {
				if n != nil {
					*n %= 1e18
				}
			}
		}
		line := e.AppendJSON(nil)
		if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
			line[rapid.IntRange(0, len(line)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
		scanAgrees(t, line, &usual)
	})
	if usual < 3 {
		t.Errorf("only %d lines were in the usual form: next to nothing was compared", usual)
	}
}

func scanAgrees(t interface{ Fatalf(string, ...any) }, line []byte, usual *int) {
	got, ok := history.Scan(line)
	if !ok {
		return
	}
	*usual++
	want, err := history.ParseEvent(line)
	if err != nil {
		t.Fatalf("ParseEvent refuses %q: %v", line, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("line %q: got %+v, ParseEvent reads %+v", line, got, want)
	}
}

// Numbers are where the two forms of reading differ most.
func TestScanNumbers(t *testing.T) {
	usual := 0
	for _, n := range []string{"0", "-0", "01", "00", "-01", "7", "-7", "12345678", "012345678", "123456789", "1234567x", "12345678x",
		"1234567812345678", "12345678123456781", "999999999999999999", "9999999999999999999", "9223372036854775807",
		"9223372036854775808", "", "-", "--1", "+1", "1.5", "1e3", " 1"} {
		scanAgrees(t, []byte(`{"t":`+n+`,"type":"ok"}`), &usual)
		scanAgrees(t, []byte(`{"t":1,"type":"ok","id":`+n+`}`), &usual)
	}
	if usual < 12 {
		t.Errorf("only %d lines were in the usual form", usual)
	}
}

// What clients write is read the fast way, or the reader is slow without anybody noticing.
func TestScanReadsWhatClientsWrite(t *testing.T) {
	for _, e := range historytest.Events(historytest.Config{Operations: 300, Unknown: 0.1}) {
		if _, ok := history.Scan(e.AppendJSON(nil)); !ok && e.Type != history.StockLevel {
			t.Fatalf("not in the usual form: %s", e.AppendJSON(nil))
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"t":2104000000,"type":"ok","op":"acquire","id":3000001,"p":3,"c":1,"w":1,"obj":"lock:sku-0","validity":1000000000}`))
	f.Add([]byte(`{"t":1,"type":"ledger","obj":"s","ledger":{"seq":0,"op":1,"basis":2,"found":3,"left":-4,"fence":1}}`))
	f.Add([]byte(`{"t":1,"type":"info","op":"deduct","basis":0,"left":-1,"sold":true,"code":"c","error":"e e"}`))
	f.Add([]byte(`{"t":123456789012345678,"type":"node-role","node":"lock-2","note":"replica of lock-1"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		n := 0
		scanAgrees(t, line, &n)
	})
}

// FuzzLoad changes the lines of a small file, seals them anew so that their contents
// count, then changes and cuts the bytes.
func FuzzLoad(f *testing.F) {
	small := historytest.Events(historytest.Config{Operations: 6, Clients: 2, Unknown: 0.2})
	var lines []byte
	for i := range small {
		lines = append(small[i].AppendJSON(lines), '\n')
	}
	f.Add(lines, uint16(100), uint16(0), byte(0), uint16(9999))
	f.Add(lines, uint16(1), uint16(5), byte(1), uint16(300))
	f.Add([]byte("{\"t\":1,\"type\":\"begin\"}\n\n{}\n"), uint16(3), uint16(70), byte(0x80), uint16(60))
	f.Fuzz(func(t *testing.T, lines []byte, chunk, at uint16, flip byte, cut uint16) {
		var split [][]byte
		for l := range bytes.SplitSeq(lines, []byte("\n")) {
			if len(l) > 0 {
				split = append(split, l)
			}
		}
		b := history.SealLines(split)
		if int(at) < len(b) {
			b[at] ^= flip
		}
		b = b[:min(int(cut), len(b))]
		same(t, "fuzzed", b, "", int64(chunk)+1)
	})
}

func TestSortStragglers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Int64Range(0, 30)).Draw(t, "keys")
		s := make([][2]int64, len(keys))
		for i, k := range keys {
			s[i] = [2]int64{k, int64(i)}
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, func(a, b [2]int64) int { return int(a[0] - b[0]) })
		history.SortStragglers(s)
		if !slices.Equal(s, want) {
			t.Fatalf("keys %v: got %v, want %v", keys, s, want)
		}
	})
}

func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x history.Index
		want := map[int64]int{}
		id := rapid.OneOf(rapid.Int64Range(-40, 40), rapid.Int64())
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			i := id.Draw(t, "id")
			got, ok := x.Get(i)
			if w, known := want[i]; ok != known || ok && got != w {
				t.Fatalf("at %d: got %d %v, want %d %v", i, got, ok, w, known)
			}
			v := rapid.IntRange(0, 1<<31-3).Draw(t, "v")
			x.Put(i, v)
			want[i] = v
		}
		for i, w := range want {
			if got, ok := x.Get(i); !ok || got != w {
				t.Fatalf("at %d: got %d %v, want %d", i, got, ok, w)
			}
		}
		if x.Len() != len(want) {
			t.Fatalf("got %d IDs, want %d", x.Len(), len(want))
		}
	})
}

// unreadable is a file whose disk fails from a place on.
type unreadable struct {
	b    []byte
	from int64
}

func (u unreadable) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > u.from {
		return 0, errors.New("the disk fails")
	}
	return copy(b, u.b[at:]), nil
}

func TestLoadTellsOfTheDisk(t *testing.T) {
	b := seal(historytest.Events(historytest.Config{Operations: 20_000}))
	_, err := history.LoadAt(unreadable{b, 3 << 20}, int64(len(b)))
	if err == nil || errors.Is(err, history.ErrDamaged) || !strings.HasPrefix(err.Error(), "line ") || !strings.Contains(err.Error(), "the disk fails") {
		t.Errorf("got error %v, want the disk's, with the line", err)
	}
	if _, err := history.LoadAt(bytes.NewReader(b), int64(len(b))+5<<20); err == nil {
		t.Error("a file that became shorter meanwhile was read without an error")
	}
}

// Very long lines are read up to the same limit as ever, over many chunks.
func TestLoadLongLines(t *testing.T) {
	long := []history.Event{{Time: 1, Type: history.Begin, Note: strings.Repeat("x", 5<<20)}, {Time: 2, Type: history.End}}
	same(t, "a line of 5 MB", seal(long), "", 1<<20)
	same(t, "a line of 5 MB, torn", seal(long)[:4<<20], "", 1<<20)
	if testing.Short() {
		return
	}
	b := bytes.Repeat([]byte("x"), 64<<20)
	same(t, "64 MiB without a line end", b, "", 1<<20)
	same(t, "one byte less", b[1:], "", 1<<20)
	b[len(b)-1] = '\n'
	same(t, "a line of 64 MiB", b, "", 1<<20)
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "history.jsonl")
			if err := historytest.Write(path, historytest.Config{Operations: n, Unknown: 0.01, Seed: 1}); err != nil {
				b.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				if h, err := history.Load(path, ""); err != nil || len(h.Operations) < n {
					b.Fatalf("%v", err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
		})
	}
}
