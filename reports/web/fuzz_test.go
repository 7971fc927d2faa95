package web

import (
	"net/url"
	"reflect"
	"slices"
	"testing"
	"time"

	"picklock/harness/store"
)

// FuzzQuery: whatever stands in an address is refused, or means the same when it is written
// out again, and can be found with.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"", "q=uuid+lua&lock=re*&topology=single&fault=none&verdict=valid&verdict=violated&unmet=1&since=7d&until=2026-01-31T18:00&sort=-took&page=2&per=100",
		"q=%22%3E", "lock=%5Ba-z%5D", "page=0", "since=24h", "sort=started", "verdict=&q=", "a=b", "q=a;b", "lock=\\", "fault=%5B%5E%5D*",
	} {
		f.Add(s)
	}
	s := newSnapshot([]store.Entry{
		{Path: "a/b", State: store.Judged, Facts: store.Facts{Lock: "uuid-lua", Topology: "single", Nemesis: []string{"pause-client"}, Verdict: "valid"}},
		{Path: "c/d", State: store.Damaged},
	})
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw)
		if err != nil {
			return
		}
		if q.Page < 0 || q.Per < 0 || q.Per > mostPer {
			t.Fatalf("%q gives page %d of %d each", raw, q.Page, q.Per)
		}
		again, err := parseQuery(q.encode())
		if err != nil {
			if len(q.encode()) > maxQuery { // escaped, it can be longer
				return
			}
			t.Fatalf("%q is read, and what it is written as, %q, is not: %v", raw, q.encode(), err)
		}
		slices.Sort(q.Words)
		if !reflect.DeepEqual(q, again) {
			t.Fatalf("%q means %+v, and written out %+v", raw, q, again)
		}
		if page, n := s.find(q, now); len(page) > n || n > 2 {
			t.Fatalf("%q finds %d of %d", raw, len(page), n)
		}
	})
}

// FuzzSplit: the names of a path never lead anywhere else.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"/", "/store/a/b/c", "/%2e%2e/x", "//", "/a//b", "/%2f", "/..", "/a/", "*", "/%00", "/%252e%252e/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		names, err := split(u)
		if err != nil {
			return
		}
		for _, n := range names {
			if n == "" || n == "." || n == ".." || slices.ContainsFunc([]byte(n), func(c byte) bool { return c == '/' || c == 0 }) {
				t.Fatalf("%q gives the name %q", path, n)
			}
		}
	})
}
