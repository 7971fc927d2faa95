package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// misdelete is one late release that freed somebody else's lock, found in the record
// alone. What is involved in it is exactly this: the grant of the one who was late, the
// release that deleted a key which was not its own any more, and the grant whose key that
// was; with the robbed one's own release, if it was asked for while the lease still ran,
// since that and not the lease is then the end of what it owned.
type misdelete struct {
	grant, release history.Operation  // of the one who was late
	robbed         history.Operation  // the grant whose key went
	gave           *history.Operation // the robbed one's own release; nil: the lease ended before it
	next           *history.Operation // the grant that the deletion made possible while the robbed one was inside; nil: there was none
}

// attempt is when what decided an operation was sent.
func attempt(o history.Operation) int64 { return max(o.Invoke, o.From) }

// misdeletes finds all of them by comparing every release with every grant. Somebody is
// robbed if it asked for its grant after the late one had its own (whose key was gone by
// then: the server grants nobody a key that is there), had it before the release was sent,
// and had its lease, less the drift, and had not begun to release it, until the reply came.
func misdeletes(h *history.History, ttl time.Duration) []misdelete {
	drift := int64(2*time.Millisecond + ttl/100)
	var grants, releases []history.Operation
	for _, o := range h.Operations {
		switch {
		case o.Outcome == history.OutcomeOK && o.Op == history.Acquire:
			grants = append(grants, o)
		case o.Op == history.Release:
			releases = append(releases, o)
		}
	}
	owned := func(g history.Operation) (until int64, gave *history.Operation) {
		until = attempt(g) + g.Validity - drift
		for i, r := range releases {
			if r.Grant == g.ID && r.Invoke < until {
				until, gave = r.Invoke, &releases[i]
			}
		}
		return until, gave
	}
	var all []misdelete
	for _, r := range releases {
		i := slices.IndexFunc(grants, func(g history.Operation) bool { return g.ID == r.Grant })
		if r.Outcome != history.OutcomeOK || i < 0 {
			continue
		}
		m := misdelete{grant: grants[i], release: r}
		until := int64(0)
		for _, g := range grants {
			end, gave := owned(g)
			if g.Object == r.Object && attempt(g) > m.grant.Return && g.Return < attempt(r) && r.Return < end && g.Return > m.robbed.Return {
				m.robbed, m.gave, until = g, gave, end
			}
		}
		if m.robbed.ID == 0 {
			continue
		}
		for j, g := range grants {
			if g.Object == r.Object && attempt(g) >= m.robbed.Return && g.Return > attempt(r) && g.Return < until && (m.next == nil || g.Return < m.next.Return) {
				m.next = &grants[j]
			}
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b misdelete) int { return int(attempt(a.release) - attempt(b.release)) })
	return all
}

// involved are the IDs of its operations.
func (m misdelete) involved() []int64 {
	ids := []int64{m.grant.ID, m.release.ID, m.robbed.ID}
	if m.gave != nil {
		ids = append(ids, m.gave.ID)
	}
	slices.Sort(ids)
	return ids
}

// sentences are what a story has to say of it: each begins one line, and no line but those
// on faults begins otherwise.
func (m misdelete) sentences(h *history.History) []string {
	who := func(o history.Operation) string { return fmt.Sprintf("client %d worker %d", o.Client, o.Worker) }
	at := func(t int64) string { return fmt.Sprintf("%.3f s", h.Seconds(t)) }
	when := "at " + at(m.release.Return)
	if since := at(attempt(m.release)); since != at(m.release.Return) {
		when = "between " + since + " and " + at(m.release.Return)
	}
	acquired := func(o history.Operation) string {
		return fmt.Sprintf("%s acquired %s at %s with a lease", who(o), o.Object, at(o.Return))
	}
	all := []string{
		acquired(m.grant), acquired(m.robbed),
		fmt.Sprintf("%s released %s %s, and", who(m.release), m.release.Object, when),
		"the lock that it released was that of " + who(m.robbed),
	}
	if m.next != nil {
		all = append(all, fmt.Sprintf("%s was let in at %s, while %s was still inside", who(*m.next), at(m.next.Return), who(m.robbed)))
	}
	return all
}

// misdeletesAreTold holds every stored run of the guilty lock of scenario misdelete to what
// its record says: as many misdeletes were found as there were, and of each that is told
// the witness has the operations involved and no other, 12 at most, the story names these
// and nobody else, and the record of these operations alone is judged violated again, by
// each checker, but no more without the late one's or without the robbed one's.
func misdeletesAreTold(t *testing.T, dir string, seeds int) {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "store", "setex-del+read-write_single_pause-client", "2*"))
	if err != nil || len(tests) != seeds {
		t.Fatalf("%d runs of the misdelete are stored, want %d; error %v", len(tests), seeds, err)
	}
	right, told, sizes := 0, 0, map[int]int{}
	for _, test := range tests {
		r, err := store.Dir(test).ReadResult()
		if err != nil {
			t.Fatal(err)
		}
		h, err := harness.History(store.Dir(test))
		if err != nil {
			t.Fatal(err)
		}
		happened, found := misdeletes(h, time.Duration(r.Test.TTL)), r.Properties[models.Ownership]
		if len(happened) == 0 || found.Count != len(happened) || len(found.Violations) != min(10, len(happened)) {
			t.Errorf("seed %d: %d of %d foreign releases are told; the record has %d misdeletes", r.Test.Seed, len(found.Violations), found.Count, len(happened))
			continue
		}
		wrong := 0
		for i, v := range found.Violations {
			m := happened[i]
			sizes[len(m.involved())]++
			for _, why := range slices.Concat(m.isTold(h, v), m.violatesAlone(t, store.Dir(test), r.Test.Seed)) {
				wrong++
				t.Errorf("seed %d, at %.3f s: %s\n  %s", r.Test.Seed, v.StartS, why, strings.Join(v.Story, "\n  "))
			}
		}
		told += len(found.Violations)
		if wrong == 0 {
			right++
		}
	}
	t.Logf("misdelete: %d of %d seeds, %d stories; operations in each: %v", right, seeds, told, sizes)
}

// isTold compares it with the violation that should tell of it.
func (m misdelete) isTold(h *history.History, v models.Violation) (wrong []string) {
	var units []int64
	if v.Witness != nil {
		units = slices.Concat(v.Witness.Units...)
	}
	slices.Sort(units)
	if want := m.involved(); !slices.Equal(units, want) || len(units) > 12 {
		wrong = append(wrong, fmt.Sprintf("the witness has operations %v, involved are %v", units, want))
	}
	if want := []int64{m.release.ID, m.robbed.ID}; !slices.Equal(v.Operations, want) {
		wrong = append(wrong, fmt.Sprintf("the violation names operations %v, want the release and the grant that it broke, %v", v.Operations, want))
	}
	want := m.sentences(h)
	for _, line := range v.Story {
		i := slices.IndexFunc(want, func(s string) bool { return strings.HasPrefix(line, s) })
		var stopped int
		switch n, _ := fmt.Sscanf(line, "client %d was stopped", &stopped); {
		case i >= 0:
			want = slices.Delete(want, i, i+1)
		case n == 0 || stopped != m.release.Client && stopped != m.robbed.Client:
			wrong = append(wrong, fmt.Sprintf("the story says what is not part of it: %s", line))
		}
	}
	for _, line := range want {
		wrong = append(wrong, fmt.Sprintf("the story does not say: %s", line))
	}
	return wrong
}

// violatesAlone judges the record of the operations involved, and without each side.
func (m misdelete) violatesAlone(t *testing.T, from store.Dir, seed uint64) (wrong []string) {
	t.Helper()
	all, late := m.involved(), []int64{m.grant.ID, m.release.ID}
	robbed := slices.DeleteFunc(slices.Clone(all), func(id int64) bool { return slices.Contains(late, id) })
	for _, part := range []struct {
		ids      []int64
		violated bool
	}{{all, true}, {late, false}, {robbed, false}} {
		dir := only(t, from, part.ids)
		for _, checker := range []models.Checker{models.Fast, models.Porcupine, models.Both} {
			out, err := harness.Judge(dir, string(checker))
			if err != nil {
				t.Fatalf("seed %d: operations %v alone, checker %s: %v", seed, part.ids, checker, err)
			}
			if got := out.Report.Properties[models.Ownership]; (got.Verdict == models.Violated) != part.violated {
				wrong = append(wrong, fmt.Sprintf("operations %v alone are judged %s by checker %s", part.ids, got.Verdict, checker))
			}
		}
	}
	return wrong
}

// only is a stored test whose history has these operations alone.
func only(t *testing.T, from store.Dir, ids []int64) store.Dir {
	t.Helper()
	dir := store.Dir(t.TempDir())
	events, broken, err := history.ReadEvents(strings.NewReader(read(t, from.Path(store.HistoryFile))))
	if err != nil || broken != "" {
		t.Fatalf("%s: %s %v", from, broken, err)
	}
	w, err := history.Create(dir.Path(store.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == history.Begin || e.Type == history.End || e.Op != "" && slices.Contains(ids, e.ID) {
			w.Append(&e)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(dir.Path(store.TestFile), []byte(read(t, from.Path(store.TestFile))), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}
