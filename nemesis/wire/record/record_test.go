package record_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"picklock/nemesis/wire/record"
)

// create starts a record in a folder of the test's own.
func create(t *testing.T, o record.Options) (*record.Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wire.jsonl")
	o.Now = func() int64 { return 99 }
	w, err := record.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, path
}

func read(t *testing.T, path string, from, to int64) (record.Log, error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return record.Read(strings.NewReader(string(b)), from, to)
}

// some are messages with every side and fate, not in the order of their times.
func some() []record.Message {
	return []record.Message{
		{At: 30, Out: 31, Client: 2, Node: "lock", Conn: 7, Side: record.Request, Name: "SET", Key: "lock:sku-0"},
		{At: 10, Client: 1, Node: "lock-1", Conn: 3, Side: record.Reply, Name: "EVALSHA", Script: "ab12", Key: "k", Reply: "-ERR no", Fate: record.Dropped, Fault: 2},
		{At: 20, Out: 50, Client: 0, Node: "lock", Conn: 1, Side: record.Push, Name: "MESSAGE", Key: "<b>\"\\\x00\u2028é", Reply: "", Fate: record.Delayed, Fault: 1},
		{At: 40, Client: 3, Node: "stock", Conn: 9, Fate: record.Refused},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	w, path := create(t, record.Options{Step: func(m *record.Message) string {
		return map[string]string{"EVALSHA": "release"}[m.Name]
	}})
	w.Add(some()[:2])
	w.Add(some()[2:])
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	want := some()
	want[1].Step, want[1].Script = "release", "" // the step says more
	want[0], want[1], want[2] = want[1], want[2], want[0]
	got, err := read(t, path, 0, math.MaxInt64)
	if err != nil || !got.Whole || got.Left != 0 || got.Cut != 0 || !reflect.DeepEqual(got.Messages, want) {
		t.Errorf("read %+v (%v), want all four, by time: %+v", got, err, want)
	}
	// The delayed one is on its way from 20 to 50.
	if got, err := read(t, path, 32, 39); err != nil || len(got.Messages) != 1 || got.Messages[0].At != 20 {
		t.Errorf("between 32 and 39 there was %+v (%v), want what was on its way alone", got.Messages, err)
	}
	w.Add(some())
	if err := w.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if _, err := record.Create(path, record.Options{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a record over another: %v, want that it exists", err)
	}
}

func TestTornTail(t *testing.T) {
	w, path := create(t, record.Options{})
	w.Add(some())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range b { // wherever the harness was killed
		log, err := record.Read(strings.NewReader(string(b[:cut])), 0, math.MaxInt64)
		if whole := strings.Count(string(b[:cut]), "\n") - 1; err != nil || log.Whole || len(log.Messages) != max(0, whole) {
			t.Fatalf("cut after %d bytes: %d messages, whole %v, %v; want the %d that are there to their end", cut, len(log.Messages), log.Whole, err, whole)
		}
	}
}

func TestDamageIsNamedByItsLine(t *testing.T) {
	const head, good = `{"picklock-wire":1}` + "\n", `{"t":1,"out":2,"c":0,"conn":1,"side":"request","node":"lock","cmd":"GET","key":"k"}` + "\n"
	for damage, want := range map[string]string{
		"{}\n": "line 1: a record of the wire begins with",
		head + good + `{"t":1,"out":2,"c":0,"conn":1,"side":"answer","node":"lock"}` + "\n":              "line 3: not a message of the wire: its side is none of request, reply, push",
		head + `{"t":1,"out":2,"conn":1,"side":"reply"}` + "\n":                                          "line 2: not a message of the wire: it has no client",
		head + `{"t":1,"c":0,"conn":1,"side":"reply","node":"lock","fate":"eaten"}` + "\n":               "its fate is none of held, delayed, dropped",
		head + `{"t":1,"c":0,"conn":1,"side":"reply","key":"a","key":"b"}` + "\n":                        `it lacks } before`,
		head + `{"t":1,"c":0,"conn":1,"side":"reply","node":""}` + "\n":                                  "writes the same otherwise",
		head + `{"t":01,"c":0,"conn":1,"side":"reply"}` + "\n":                                           "writes the same otherwise",
		head + `{"t":-1,"c":0,"conn":1,"side":"reply"}` + "\n":                                           "a time or a number of it cannot be",
		head + `{"t":5,"out":4,"c":0,"conn":1,"side":"reply"}` + "\n":                                    "a time or a number of it cannot be",
		head + `{"t":99999999999999999999,"c":0,"conn":1,"side":"reply"}` + "\n":                         `no whole number of 64 bits follows "t"`,
		head + `{"t":1,"c":0,"conn":1,"side":"reply","key":"a\n"}` + "\n":                                `a backslash in "key"`,
		head + `{"t":1,"c":0,"conn":1,"side":"reply","key":"` + "\xff" + `"}` + "\n":                     `the text of "key" is no UTF-8`,
		head + `{"t":1,"c":0,"conn":1,"side":"reply","key":"\u0041"}` + "\n":                             `a backslash in "key"`,
		head + `{"t":1,"c":0,"conn":1,"side":"reply","key":"` + strings.Repeat("x", 1<<17) + `"}` + "\n": "line 2 is longer than any message",
		head + good + "\n": "line 3",
		head + `{"end":5,"left":0,"cut":0}` + "\n" + good:  "line 3 follows its end",
		head + `{"end":5,"left":-1,"cut":0}` + "\n" + good: "line 2: not a message of the wire, nor the end",
	} {
		_, err := record.Read(strings.NewReader(damage), 0, math.MaxInt64)
		if !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120q: %v, want ErrDamaged with %q", damage, err, want)
		}
	}
}

// TestBounds: a record that is full says what it lacks, and stays within its bound.
func TestBounds(t *testing.T) {
	const limit, n = 4000, 200
	w, path := create(t, record.Options{Limit: limit})
	for i := range n {
		w.Add([]record.Message{{At: int64(i + 1), Out: int64(i + 2), Node: "lock", Name: "GET"}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > limit {
		t.Errorf("the file has %d bytes (%v), want %d at most", info.Size(), err, limit)
	}
	log, err := read(t, path, 0, math.MaxInt64)
	if err != nil || !log.Whole || len(log.Messages) < 20 || log.Left != int64(n-len(log.Messages)) || log.Cut != int64(len(log.Messages)+2) {
		t.Errorf("%d messages, %d left out from %d on, whole %v (%v); want all %d accounted for", len(log.Messages), log.Left, log.Cut, log.Whole, err, n)
	}
}

// TestNobodyWaits: what comes faster than it can be written is left out, and counted.
func TestNobodyWaits(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	stuck := make(chan struct{})
	w, path := create(t, record.Options{Buffer: 8, Step: func(*record.Message) string {
		once.Do(func() { close(stuck) })
		<-release // a disk that does not answer
		return ""
	}})
	one := []record.Message{{At: 1, Out: 2, Node: "lock", Name: "GET"}}
	w.Add(one)
	<-stuck
	for range 20 {
		w.Add(one) // returns, or the test does not end
	}
	close(release)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err := read(t, path, 0, math.MaxInt64); err != nil || len(log.Messages) != 9 || log.Left != 12 || log.Cut != 2 {
		t.Errorf("%d messages, %d left out from %d on (%v); want the first and the 8 that could wait, and 12 counted", len(log.Messages), log.Left, log.Cut, err)
	}
}

// TestCreateOverwritesNothing: not a file, and not what a link leads to.
func TestCreateOverwritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wire.jsonl")
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Create(path, record.Options{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("in place of a link: %v, want that it exists", err)
	}
	if _, err := record.Create(filepath.Join(t.TempDir(), "none", "wire.jsonl"), record.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("é", record.MaxText)
	got := record.Clip(long)
	if len(got) > record.MaxText || !strings.HasSuffix(got, "…") || record.Clip("short") != "short" {
		t.Errorf("Clip gives %q (%d bytes)", got, len(got))
	}
}

// FuzzParseMessage: what is taken for a message is exactly what picklock writes for it.
func FuzzParseMessage(f *testing.F) {
	for _, m := range some() {
		f.Add(m.AppendJSON(nil))
	}
	f.Add([]byte(`{"t":1,"c":0,"conn":1,"side":"reply","key":"\u001f\"\\é"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := record.ParseMessage(line)
		if err != nil {
			return
		}
		if again := m.AppendJSON(nil); string(again) != string(line) {
			t.Errorf("%q was taken for a message that is written %q", line, again)
		}
	})
}

// FuzzMessage: every message that can be is read as it was written, but for bytes that are
// no UTF-8.
func FuzzMessage(f *testing.F) {
	f.Add(int64(5), int64(3), 1, int64(1), "lock", "SET", "k", "+OK", byte(1), byte(2), 3)
	f.Fuzz(func(t *testing.T, at, took int64, client int, conn int64, node, name, key, reply string, side, fate byte, fault int) {
		m := record.Message{
			At: at & math.MaxInt32, Client: client & math.MaxInt32, Conn: conn, Node: node, Name: name, Key: key, Reply: reply,
			Side: record.Side(side % 3), Fate: record.Fate(fate % 7), Fault: fault & math.MaxInt32,
		}
		m.Out = m.At + took&math.MaxInt32
		got, err := record.ParseMessage(m.AppendJSON(nil))
		for _, s := range []*string{&m.Node, &m.Name, &m.Key, &m.Reply} {
			if !utf8.ValidString(*s) {
				*s = string([]rune(*s))
			}
		}
		if err != nil || got != m {
			t.Errorf("%+v was read as %+v (%v)", m, got, err)
		}
	})
}

// FuzzRead: no file makes the reader fail in another way than it says.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"picklock-wire\":1}\n{\"t\":1,\"c\":0,\"conn\":1,\"side\":\"reply\"}\n{\"end\":5,\"left\":0,\"cut\":0}\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := record.Read(strings.NewReader(string(file)), 0, math.MaxInt64); err != nil && !errors.Is(err, record.ErrDamaged) {
			t.Errorf("%q: %v, want ErrDamaged", file, err)
		}
	})
}
