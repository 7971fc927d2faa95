package foreign_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"picklock/harness/foreign"
	"picklock/models/fast"
)

// verdictOf reads and judges a file.
func verdictOf(t *testing.T, path string, format foreign.Format, m foreign.Model) *foreign.Judgement {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	h, err := foreign.Read(f, path, format)
	if err != nil {
		t.Fatal(err)
	}
	j, err := foreign.Judge(h, m, fast.Limits{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The files of testdata are named after their verdict, their model and what is in them.
func TestKnownHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*-*.*")
	if err != nil || len(files) < 25 {
		t.Fatalf("found %d histories, %v", len(files), err)
	}
	formats := map[string]foreign.Format{".edn": foreign.EDN, ".jsonl": foreign.JSONL, ".log": foreign.Porcupine, ".txt": foreign.Porcupine}
	seen := map[string]bool{}
	for _, path := range files {
		name := filepath.Base(path)
		verdict, rest, _ := strings.Cut(name, "-")
		var m foreign.Model
		for _, model := range foreign.ModelNames() {
			if strings.HasPrefix(rest, model+"-") {
				m.Name = model
			}
		}
		if what := strings.TrimPrefix(rest, m.Name+"-"); m.Name == foreign.Semaphore || m.Name == foreign.Permits {
			m.Permits, _ = strconv.Atoi(what[:1])
		}
		seen[m.Name] = true
		j := verdictOf(t, path, formats[filepath.Ext(name)], m)
		want := map[string]fast.Verdict{"good": fast.Legal, "bad": fast.Illegal}[verdict]
		if j.Verdict != want || j.Vacuous {
			t.Errorf("%s: got %s (vacuous %v), want %s", name, j.Verdict, j.Vacuous, want)
		}
		if bad := slices.IndexFunc(j.Keys, func(k foreign.KeyJudgement) bool { return k.Verdict == fast.Illegal }); bad >= 0 {
			if k := j.Keys[bad]; k.Line == 0 || len(k.Ops) == 0 || !strings.Contains(k.Reason, fmt.Sprintf("line %d", k.Line)) {
				t.Errorf("%s: the line is not named: %+v", name, k)
			}
		}
	}
	for _, name := range foreign.ModelNames() {
		if !seen[name] {
			t.Errorf("there is no history for the model %s", name)
		}
	}
}

// The line that is named is the one that made it illegal.
func TestJudgeNamesTheLine(t *testing.T) {
	for path, want := range map[string]int{
		"testdata/bad-mutex-twice.edn":                5,
		"testdata/bad-mutex-crashed-release-once.edn": 9,
	} {
		if j := verdictOf(t, path, foreign.EDN, foreign.Model{Name: foreign.Mutex}); j.Keys[0].Line != want {
			t.Errorf("%s: got line %d, want %d", path, j.Keys[0].Line, want)
		}
	}
	if j := verdictOf(t, "testdata/bad-register-late-write.edn", foreign.EDN, foreign.Model{Name: foreign.Register}); j.Keys[0].Line != 11 {
		t.Errorf("got line %d, want 11", j.Keys[0].Line)
	}
}

// Porcupine's own test data gets the verdicts that its tests publish. The files are read
// where the module is: they are not ours to copy.
func TestPorcupinesData(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(strings.TrimSpace(string(out)), "test_data")
	good := []int{2, 5, 7, 18, 25, 31, 38, 45, 48, 49, 51, 53, 56, 67, 75, 76, 80, 87, 92, 98, 100, 101, 102}
	for n := range 103 {
		if n == 95 {
			continue // the cluster did not start: the file is empty
		}
		path := filepath.Join(data, "jepsen", fmt.Sprintf("etcd_%03d.log", n))
		want := fast.Illegal
		if slices.Contains(good, n) {
			want = fast.Legal
		}
		if j := verdictOf(t, path, foreign.Porcupine, foreign.Model{Name: foreign.CASRegister}); j.Verdict != want {
			t.Errorf("etcd_%03d: got %s, want %s", n, j.Verdict, want)
		}
	}
	for name, want := range map[string]fast.Verdict{"c01-ok": fast.Legal, "c01-bad": fast.Illegal, "c10-ok": fast.Legal, "c10-bad": fast.Illegal} {
		if j := verdictOf(t, filepath.Join(data, "kv", name+".txt"), foreign.Porcupine, foreign.Model{Name: foreign.KV}); j.Verdict != want {
			t.Errorf("%s: got %s, want %s", name, j.Verdict, want)
		}
	}
	empty := verdictOf(t, filepath.Join(data, "jepsen", "etcd_095.log"), foreign.Porcupine, foreign.Model{Name: foreign.CASRegister})
	if !empty.Vacuous || len(empty.Notes) == 0 {
		t.Errorf("an empty history proves nothing, but got %+v", empty)
	}
}

// A history that is illegal only as long as an operation without an owner did not happen is
// not decided; one that is legal without it is legal.
func TestJudgeWithoutOwners(t *testing.T) {
	lost := `0i:acquire 0o:acquire:{:client_"a"} 7i:release 7n:release `
	for text, want := range map[string]fast.Verdict{
		lost + `1i:acquire 1o:acquire:{:client_"b"}`: fast.Undecided, // 7 may be a's
		lost: fast.Legal,
	} {
		j, err := foreign.Judge(read(t, foreign.EDN, ednOf(text)), foreign.Model{Name: foreign.OwnerMutex}, fast.Limits{})
		if err != nil || j.Verdict != want {
			t.Errorf("%s: got %+v, %v, want %s", text, j, err, want)
		}
		if want == fast.Undecided && !strings.Contains(j.Keys[0].Reason, "line 3") {
			t.Errorf("the reason names no line: %s", j.Keys[0].Reason)
		}
	}
}

// A history that is too hard is not decided, within its time, and an illegal key beside it
// is found all the same.
func TestJudgeKeepsItsTime(t *testing.T) {
	var text strings.Builder
	for i := range 40 { // 40 writes that may have happened, and a read of a value that no one wrote
		fmt.Fprintf(&text, "%di:write:[1_%d] ", i, i)
	}
	for i := range 40 {
		fmt.Fprintf(&text, "%do:write:[1_%d] ", i, i)
	}
	text.WriteString("0i:read:[1_nil] 0o:read:[1_99] 0i:read:[2_nil] 0o:read:[2_5]")
	start := time.Now()
	j, err := foreign.Judge(read(t, foreign.EDN, ednOf(text.String())), foreign.Model{Name: foreign.Register}, fast.Limits{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s, with a second allowed", took)
	}
	if j.Verdict != fast.Illegal || j.Keys[0].Verdict != fast.Undecided || !strings.Contains(j.Keys[0].Reason, "within 1s") || j.Keys[1].Verdict != fast.Illegal {
		t.Errorf("got %+v", j)
	}
}

func TestJudgeRefuses(t *testing.T) {
	h := read(t, foreign.EDN, ednOf("0i:acquire"))
	if _, err := foreign.Judge(h, foreign.Model{Name: "mutexx"}, fast.Limits{}); err == nil {
		t.Error("an unknown model was judged")
	}
	if _, err := foreign.Judge(h, foreign.Model{Name: foreign.Register}, fast.Limits{}); err == nil {
		t.Error("a lock's history was judged as a register")
	}
	j, err := foreign.Judge(read(t, foreign.EDN, ednOf("0i:acquire 0o:acquire")), foreign.Model{Name: foreign.FencedMutex}, fast.Limits{})
	if err != nil || len(j.Notes) != 1 || !strings.Contains(j.Notes[0], "fence") {
		t.Errorf("that no fence was judged is not said: %+v, %v", j, err)
	}
}
