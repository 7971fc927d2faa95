package reports_test

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picklock/harness/history"
	"picklock/models"
)

// link is a time in a story as the page links it.
var link = regexp.MustCompile(`<a href="#t=([0-9.]+)(?:&amp;op=(\d+))?" data-t="[0-9.]+">`)

// TestStoriesLink: the times of a story lead to the operations that they are about, told
// by worker and moment; the time of a fault leads to the moment alone.
func TestStoriesLink(t *testing.T) {
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	j := r.Properties[models.Ownership]
	v := &j.Violations[0]
	early, release, late := v.Operations[0], v.Operations[1], v.Operations[2]
	v.Story = append(v.Story,
		"client 0 was stopped from 4.021 s to 6.421 s (fault pause-client).",
		"client 3 worker 1 did nothing at 4.004 s.")
	s := page(t, r, h)
	_, s, _ = strings.Cut(s, `id="violation-10"`)
	s, _, _ = strings.Cut(s, "</ol>")
	var got []string
	for _, m := range link.FindAllStringSubmatch(s, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	want := []string{
		fmt.Sprintf("4.004 %d", early), fmt.Sprintf("5.004 %d", early), // the return of the acquire, the end of its lease
		fmt.Sprintf("6.449 %d", late), fmt.Sprintf("7.449 %d", late), fmt.Sprintf("6.472 %d", release),
		"4.021 ", "6.421 ", "4.004 ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the story links to (time, operation) %q, want %q\n%q", got, want, v.Story)
	}
	if s := page(t, r, nil); strings.Contains(s, `href="#t=`) || !strings.Contains(s, "4.004 s; its lease ended at 5.004 s.") {
		t.Error("without a history there is no timeline to link to, but the story is to be told")
	}
}

// TestOperationsAsTable: what the timeline shows of a violation stands in a table too.
func TestOperationsAsTable(t *testing.T) {
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	v := &r.Properties[models.Ownership].Violations[0]
	lost := h.Operations[len(h.Operations)-1].ID // without a completion
	v.Operations = append(v.Operations, 999_999_999, lost)
	table := func() string {
		_, s, _ := strings.Cut(page(t, r, h), `id="violation-10"`)
		s, _, _ = strings.Cut(s, "</article>")
		return html.UnescapeString(s)
	}
	var rows []string
	for _, m := range regexp.MustCompile(`<tr><td class="n">.*</tr>`).FindAllString(table(), -1) {
		rows = append(rows, strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m, " ")), " "))
	}
	ids := v.Operations
	want := []string{
		fmt.Sprintf("%d client 0 worker 0 acquire lock:sku-0 3.486 s 4.004 s ok", ids[0]),
		fmt.Sprintf("%d client 3 worker 0 acquire lock:sku-0 6.448 s 6.449 s ok", ids[2]),
		fmt.Sprintf("%d client 0 worker 0 release lock:sku-0 6.472 s 6.472 s ok", ids[1]),
	}
	if len(rows) != 4 || !strings.HasPrefix(rows[3], fmt.Sprint(lost)) || !strings.HasSuffix(rows[3], "never unknown") {
		t.Fatalf("the table has %q, want the three operations that exist and one without a return", rows)
	}
	for i := range want {
		// The waits are made up: only their ends are fixed.
		got := regexp.MustCompile(`(lock:sku-0) [0-9.]+ s`).ReplaceAllString(rows[i], "$1")
		if want := regexp.MustCompile(`(lock:sku-0) [0-9.]+ s`).ReplaceAllString(want[i], "$1"); got != want {
			t.Errorf("row %d: %q, want %q", i+1, got, want)
		}
	}
	v.Operations = nil
	for i := range 25 {
		v.Operations = append(v.Operations, h.Operations[i].ID)
	}
	if s := table(); strings.Count(s, `<tr><td class="n">`) != 20 || !strings.Contains(s, "5 more: see results.json.") {
		t.Errorf("of 25 operations %d are in the table, want 20 and a word about the rest", strings.Count(s, `<tr><td class="n">`))
	}
}

// TestLocksKnowTheirSKUs: filtering by a lock shows the sales under it.
func TestLocksKnowTheirSKUs(t *testing.T) {
	p := usual()
	h := p.record(t)
	for i := range h.Operations { // every second client sells something else under a lock of its own
		if o := &h.Operations[i]; o.Client%2 == 1 {
			o.Object = strings.Replace(o.Object, "sku-0", "sku-1", 1)
		}
	}
	unguarded := slices.IndexFunc(h.Operations, func(o history.Operation) bool { return o.Op == history.Deduct })
	h.Operations[unguarded].Object, h.Operations[unguarded].Grant = "sku-2", 0
	d := decodeTimeline(t, page(t, result(t, p, h), h))
	var got []string
	for _, g := range d.Guards {
		got = append(got, d.Objects[g[0]]+" under "+d.Objects[g[1]])
	}
	slices.Sort(got)
	if want := []string{"sku-0 under lock:sku-0", "sku-1 under lock:sku-1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
