package foreign_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/harness/foreign"
	"picklock/models/fast"
)

// seed adds the known histories of a format, and what a reader could stumble over.
func seed(f *testing.F, extensions ...string) {
	for _, ext := range extensions {
		files, err := filepath.Glob("testdata/*-*" + ext)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds for %s: %v", ext, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range []string{
		"", "[", "{", "#", "#_", "\\", `"`, ";", "{:process 1 :type :invoke :f :read :value #{1 {2 3} [4]} }", "#a{#_ #_ 1 2 :process 0}",
		"{:process 1N :type :invoke :f :write :value 99999999999999999999999999999999}", "{:value {1e999 2}}", `{:process 1 :type :invoke :f :read :value \u00e9}`,
		"INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]\n", `{"process":1,"type":"invoke","f":"read","value":{"a":[1e5,null,"\u0000"]}}`,
	} {
		f.Add([]byte(text))
	}
}

// fuzzed reads and, where that succeeds, judges by every model. Whatever is in the file, an
// error names it and a line of it, reading it in small pieces makes no difference, and one
// who was not given much time does not take much.
func fuzzed(t *testing.T, text []byte, format foreign.Format) {
	h, err := foreign.Read(bytes.NewReader(text), "a file", format)
	again, err2 := foreign.Read(oneByte{bytes.NewReader(text)}, "a file", format)
	if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
		t.Fatalf("read at once: %v, byte by byte: %v", err, err2)
	}
	if err != nil {
		wellSaid(t, err, text)
		return
	}
	if a, b := show(h), show(again); a != b {
		t.Fatalf("read at once:\n%sbyte by byte:\n%s", a, b)
	}
	for _, o := range h.Ops {
		if o.Line < 1 || o.EndLine != 0 && o.EndLine < o.Line || o.Return <= o.Call {
			t.Fatalf("out of order: %+v", o)
		}
		if v, err := foreign.ParseValue(o.Invoked.String()); err != nil || v != o.Invoked {
			t.Fatalf("the value %q is read again as %q, %v", o.Invoked, v, err)
		}
	}
	for _, name := range foreign.ModelNames() {
		start := time.Now()
		j, err := foreign.Judge(h, foreign.Model{Name: name, Permits: 2, Holds: 2}, fast.Limits{Timeout: 20 * time.Millisecond})
		if err != nil {
			wellSaid(t, err, text)
			continue
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("%s took %s, with 20 ms allowed", name, took)
		}
		if j.Vacuous != (j.Operations == 0) || j.Operations > len(h.Ops) {
			t.Fatalf("%s: %+v of %d operations", name, j, len(h.Ops))
		}
	}
}

func wellSaid(t *testing.T, err error, text []byte) {
	var e *foreign.Error
	if !errors.As(err, &e) || e.File != "a file" || e.Line < 1 || e.Line > bytes.Count(text, []byte("\n"))+1 || strings.Contains(e.Reason, "\n") {
		t.Fatalf("an error that does not name the line: %q", err)
	}
}

// oneByte gives a byte a time.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

func FuzzEDN(f *testing.F) {
	seed(f, ".edn", ".txt")
	f.Fuzz(func(t *testing.T, text []byte) { fuzzed(t, text, foreign.EDN) })
}

func FuzzPorcupine(f *testing.F) {
	seed(f, ".log", ".txt")
	f.Fuzz(func(t *testing.T, text []byte) { fuzzed(t, text, foreign.Porcupine) })
}

func FuzzJSONL(f *testing.F) {
	seed(f, ".jsonl")
	f.Fuzz(func(t *testing.T, text []byte) { fuzzed(t, text, foreign.JSONL) })
}
