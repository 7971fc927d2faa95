package store_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
	"picklock/models"
)

// recorded makes a judged test with a history; broken: it breaks off, and a journal has more.
func recorded(t failer, root string, broken bool) store.Dir {
	t.Helper()
	d := put(t, root, made{lock: "uuid-lua", verdict: models.Violated, bulk: 10_000})
	if err := historytest.Write(d.Path(store.HistoryFile), historytest.Config{Operations: 200}); err != nil {
		t.Fatal(err)
	}
	j, err := history.CreateJournal(d.Path(store.Journals, "0-0.journal"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Append(&history.Event{Type: history.ClientUp, Time: 1}), j.Close()); err != nil {
		t.Fatal(err)
	}
	if broken {
		whole := read(t, d.Path(store.HistoryFile))
		write(t, d.Path(store.HistoryFile), whole[:strings.LastIndex(whole[:len(whole)-1], "\n")+1])
	}
	write(t, d.Path("charts", "latency.svg"), "<svg/>")
	write(t, d.Path(".writing-1"), "half a report")
	if err := os.Symlink("/etc/passwd", d.Path("link")); err != nil {
		t.Fatal(err)
	}
	return d
}

// content is what is in the files of a folder, with their times.
func content(t failer, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range everything(t, dir) {
		info, err := os.Lstat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue
		}
		if !info.Mode().IsRegular() {
			t.Fatalf("%s is a %s", p, info.Mode())
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(name)] = info.ModTime().UTC().Format(time.RFC3339Nano) + " " + read(t, p)
	}
	return all
}

func TestExportAndUnpack(t *testing.T) {
	for _, broken := range []bool{false, true} {
		for _, ending := range store.Endings {
			root, out := t.TempDir(), t.TempDir()
			d := recorded(t, root, broken)
			file := filepath.Join(out, "test"+ending)
			if err := store.Export(d, file); err != nil {
				t.Fatal(err)
			}
			into := t.TempDir()
			got, err := store.Unpack(file, into, store.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if p := pathOf(t, into, got); p != pathOf(t, root, d) {
				t.Errorf("%s unpacks to %s, want %s", ending, p, pathOf(t, root, d))
			}
			if err := errors.Join(os.Remove(d.Path("link")), os.Remove(d.Path(".writing-1"))); err != nil {
				t.Fatal(err)
			}
			want := content(t, string(d))
			delete(want, "summary.json")
			if !broken {
				delete(want, "journal/0-0.journal")
			}
			if have := content(t, string(got)); !reflect.DeepEqual(have, want) {
				t.Errorf("%s, broken %v: unpacked are %v, want %v", ending, broken, names(have), names(want))
			}
			// The same again, and from what was unpacked: the same bytes.
			for from, name := range map[store.Dir]string{d: "again", got: "copy"} {
				other := filepath.Join(out, name+ending)
				if err := store.Export(from, other); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal([]byte(read(t, other)), []byte(read(t, file))) {
					t.Errorf("%s: another archive of the %s", ending, name)
				}
			}
			if err := store.Export(d, file); !errors.Is(err, store.ErrArchive) {
				t.Errorf("written over an archive: %v", err)
			}
		}
	}
}

func names(all map[string]string) (names []string) {
	for n := range all {
		names = append(names, n)
	}
	return names
}

func TestExportRefuses(t *testing.T) {
	root := t.TempDir()
	running := put(t, root, made{lock: "setnx"})
	mark, err := running.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer mark.Release()
	odd := put(t, root, made{lock: "setnx", after: time.Hour, verdict: models.Valid})
	write(t, odd.Path(store.NodeLogs, "a\nb"), "x")
	nameless := put(t, root, made{lock: "setnx", after: 2 * time.Hour, verdict: models.Valid})
	write(t, nameless.Path(store.TestFile), `{"name": "../x", "lock": "setnx", "started": "2026-01-31T06:00:00Z"}`)
	fine := put(t, root, made{lock: "setnx", after: 3 * time.Hour, verdict: models.Valid})
	for _, c := range []struct {
		name, file string
		d          store.Dir
		says       string
	}{
		{"a running test", "a.tar.zst", running, "running"},
		{"a name that no archive takes", "a.tar.zst", odd, `a\nb`},
		{"a test that no store takes", "a.tar.zst", nameless, `"../x"`},
		{"another kind of archive", "a.zip", fine, ".tar.zst, .tar.gz"},
	} {
		file := filepath.Join(t.TempDir(), c.file)
		err := store.Export(c.d, file)
		if !errors.Is(err, store.ErrArchive) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrArchive that says %s", c.name, err, c.says)
		}
		if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is an archive (%v)", c.name, err)
		}
	}
}

func TestImport(t *testing.T) {
	d := recorded(t, t.TempDir(), true)
	file := filepath.Join(t.TempDir(), "a.tar.zst")
	if err := store.Export(d, file); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "new")
	got, err := store.Import(root, file, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := store.List(root, store.Options{})
	if err != nil || len(all) != 1 || all[0].Dir != got || all[0].Word() != store.WordViolated || !all[0].Latest {
		t.Errorf("after the import there are %+v (%v), want %s as the latest", all, err, got)
	}
	if _, err := os.Stat(got.Path("summary.json")); err != nil {
		t.Errorf("no summary: %v", err)
	}
	before := everything(t, root)
	if _, err := store.Import(root, file, store.Limits{}); !errors.Is(err, store.ErrArchive) || !strings.Contains(err.Error(), "already") {
		t.Errorf("imported again: %v", err)
	}
	if after := everything(t, root); !reflect.DeepEqual(before, after) {
		t.Errorf("a refused import left %v, want %v", after, before)
	}
	// An older one does not become the latest.
	older := put(t, t.TempDir(), made{lock: "setnx", after: -time.Hour})
	quiet(t, older)
	file = filepath.Join(t.TempDir(), "b.tar.gz")
	if err := store.Export(older, file); err != nil {
		t.Fatal(err)
	}
	dir, err := store.Import(root, file, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if to, err := filepath.EvalSymlinks(filepath.Join(root, "latest")); err != nil || filepath.Base(to) != filepath.Base(string(got)) {
		t.Errorf("the latest is %s (%v), want %s", to, err, got)
	}
	if e, ok := store.Look(dir); !ok || e.State != store.BrokenOff {
		t.Errorf("an imported test without a verdict is %s (%s), want broken off", e.State, e.Why)
	}
}

// entry is one of a made-up archive.
type entry struct {
	name string
	typ  byte
	link string
	text string
}

const in = "setnx+read-write_single_none/20260131T060000.000Z/"

func tarOf(t failer, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.typ == 0 {
			e.typ = tar.TypeReg
		}
		h := &tar.Header{Name: e.name, Typeflag: e.typ, Linkname: e.link, Mode: 0o644, Size: int64(len(e.text)), Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t failer, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t failer, text []byte, o ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, o...)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(text, nil)
}

// TestUnpackRefuses: what would write elsewhere, what is damaged, and what unpacks to too
// much is refused in words, and nothing is written outside the folder, nor a link in it.
func TestUnpackRefuses(t *testing.T) {
	fine := entry{name: in + "test.json", text: "{}"}
	whole := tarOf(t, []entry{fine, {name: in + "history.jsonl", text: strings.Repeat("line\n", 1000)}})
	large := tarOf(t, []entry{{name: in + "zeros", text: strings.Repeat("\x00", 30<<20)}})
	var many []entry
	for i := range 300 {
		many = append(many, entry{name: in + "f" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26), text: "x"})
	}
	of := func(entries ...entry) []byte { return zipped(t, tarOf(t, entries)) }
	damaged := zstandard(t, whole)
	damaged[len(damaged)-2] ^= 1
	badZip := zipped(t, whole)
	badZip[len(badZip)-6] ^= 1
	for _, c := range []struct {
		name string
		file []byte
		says string
	}{
		{"nothing", nil, "neither by zstd nor by gzip"},
		{"prose", []byte("no archive at all"), "neither by zstd nor by gzip"},
		{"a tar that is not compressed", whole, "neither by zstd nor by gzip"},
		{"an empty archive", of(), "empty"},
		{"only a folder", of(entry{name: in, typ: tar.TypeDir}), "empty"},
		{"a way up", of(entry{name: in + "../../../x", text: "x"}), `"setnx`},
		{"a way up at once", of(entry{name: "../a/b", text: "x"}), `"../a/b"`},
		{"an absolute path", of(entry{name: "/tmp/a/b", text: "x"}), `"/tmp/a/b"`},
		{"a file outside the test's folder", of(entry{name: "a/b", text: "x"}), `"a/b"`},
		{"a dot", of(entry{name: in + "./x", text: "x"}), "not the name"},
		{"a backslash", of(entry{name: in + `a\b`, text: "x"}), "not the name"},
		{"a hidden file", of(entry{name: in + ".running", text: "x"}), "not the name"},
		{"a hidden folder", of(entry{name: ".removing/x/y", text: "x"}), "not the name"},
		{"a newline in a name", of(entry{name: in + "a\nb", text: "x"}), "not the name"},
		{"a name that is too long", of(entry{name: in + strings.Repeat("x", 256), text: "x"}), "not the name"},
		{"a path that is too deep", of(entry{name: in + strings.Repeat("x/", 20) + "x", text: "x"}), "not the name"},
		{"a link", of(fine, entry{name: in + "x", typ: tar.TypeSymlink, link: "/etc/passwd"}), "links"},
		{"a hard link", of(fine, entry{name: in + "x", typ: tar.TypeLink, link: in + "test.json"}), "links"},
		{"a device", of(fine, entry{name: in + "x", typ: tar.TypeChar}), "links and devices"},
		{"a pipe", of(fine, entry{name: in + "x", typ: tar.TypeFifo}), "links and devices"},
		{"a file twice", of(fine, fine), "twice"},
		{"a file as a folder", of(fine, entry{name: fine.name + "/x", text: "x"}), "as a file and a folder"},
		{"a folder as a file", of(entry{name: in + "a/x", text: "x"}, entry{name: in + "a", text: "x"}), "as a file and a folder"},
		{"two tests", of(fine, entry{name: "other/20260131T060000.000Z/test.json", text: "{}"}), "more than one test"},
		{"something behind it", zipped(t, append(bytes.Clone(whole), bytes.Repeat([]byte("more"), 600)...)), "follows its end"},
		{"too many zeros behind it", zipped(t, append(bytes.Clone(whole), make([]byte, 2<<20)...)), "follows its end"},
		{"cut off", zstandard(t, whole)[:40], "cut off"},
		{"cut off in zip", zipped(t, whole)[:60], "cut off"},
		{"cut off before it was compressed", zipped(t, whole[:1500]), "cut off"},
		{"a wrong checksum", damaged, "checksum"},
		{"a wrong checksum in zip", badZip, "checksum"},
		{"more bytes than are allowed", zstandard(t, large), "more than is allowed"},
		{"more bytes than are allowed in zip", zipped(t, large), "more than is allowed"},
		{"more files than are allowed", of(many...), "more than is allowed"},
		{"a compressor that wants much memory", zstandard(t, large, zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false)), "more than is allowed"},
	} {
		parent := t.TempDir()
		file, into := filepath.Join(parent, "a"), filepath.Join(parent, "into")
		write(t, file, string(c.file))
		if err := os.Mkdir(into, 0o755); err != nil {
			t.Fatal(err)
		}
		d, err := store.Unpack(file, into, store.Limits{Bytes: 20 << 20, Files: 200})
		if !errors.Is(err, store.ErrArchive) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %q, %v; want ErrArchive that names the file and says %s", c.name, d, err, c.says)
		}
		confined(t, parent)
	}
}

// confined: beside the archive and the folder there is nothing, and in it files only.
func confined(t *testing.T, parent string) {
	t.Helper()
	beside, err := os.ReadDir(parent)
	if err != nil || len(beside) != 2 {
		t.Errorf("beside the archive are %v (%v)", beside, err)
	}
	total := 0
	for name, text := range content(t, filepath.Join(parent, "into")) {
		if strings.HasPrefix(filepath.Base(name), ".") {
			t.Errorf("%s was unpacked", name)
		}
		total += len(text)
	}
	if total > 21<<20 {
		t.Errorf("%d bytes were unpacked", total)
	}
}

// TestUnpackMemory: a bomb is stopped before it takes much memory or much of the disk.
func TestUnpackMemory(t *testing.T) {
	bomb := make([]byte, 64<<20)
	one := zstandard(t, bomb)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: in + "x", Typeflag: tar.TypeReg, Size: 1 << 40, Mode: 0o644, Format: tar.FormatPAX}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bomb")
	// Frames follow one another: a terabyte of zeros in a few hundred KB.
	write(t, file, string(zstandard(t, b.Bytes()))+strings.Repeat(string(one), 100))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := store.Unpack(file, t.TempDir(), store.Limits{Bytes: 1 << 30})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, store.ErrArchive) || !strings.Contains(err.Error(), "more than is allowed") {
		t.Errorf("%v, want ErrArchive", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
		t.Errorf("%d bytes of memory were taken", n)
	}
}

// FuzzUnpack feeds it archives of any shape: raw ones, and what a tar holds, compressed by
// either. It must end, stay in its folder and within its bounds, and say what is wrong.
func FuzzUnpack(f *testing.F) {
	small := tarOf(f, []entry{{name: in + "test.json", text: "{}"}, {name: in + "nodes/a.log", text: "ready\n"}, {name: in, typ: tar.TypeDir}})
	f.Add(byte(0), zstandard(f, small))
	f.Add(byte(0), zipped(f, small))
	f.Add(byte(1), small)
	f.Add(byte(2), small)
	f.Add(byte(1), tarOf(f, []entry{{name: in + "x", typ: tar.TypeSymlink, link: "/etc"}, {name: in + "x/y", text: "x"}}))
	f.Add(byte(1), tarOf(f, []entry{{name: "../../x", text: "x"}, {name: strings.Repeat("d/", 150) + "x", text: "x"}}))
	f.Fuzz(func(t *testing.T, form byte, text []byte) {
		if len(text) > 1<<20 {
			return
		}
		switch form % 3 {
		case 1:
			text = zipped(t, text)
		case 2:
			text = zstandard(t, text)
		}
		parent := t.TempDir()
		file, into := filepath.Join(parent, "a"), filepath.Join(parent, "into")
		write(t, file, string(text))
		if err := os.Mkdir(into, 0o755); err != nil {
			t.Fatal(err)
		}
		d, err := store.Unpack(file, into, store.Limits{Bytes: 1 << 20, Files: 50})
		confined(t, parent)
		if err != nil {
			if !errors.Is(err, store.ErrArchive) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, want one line of ErrArchive", err)
			}
			return
		}
		if info, err := os.Lstat(string(d)); err != nil || !info.IsDir() || !strings.HasPrefix(string(d), into+string(filepath.Separator)) {
			t.Errorf("it was unpacked into %s (%v)", d, err)
		}
	})
}
