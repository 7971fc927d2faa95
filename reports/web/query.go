package web

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"picklock/harness/store"
)

// Bounds of what a list may be asked for.
const (
	maxQuery = 2048 // bytes of the whole query
	maxPage  = 1_000_000
	perPage  = 50
	mostPer  = 200
	maxAgo   = 100 * 365 // days
)

// query is what a list of tests is asked for: the parameters of its address. The zero
// value, with Page 1 and Per 50, asks for all tests, newest first.
type query struct {
	Text                  string // words that must all be found, in any letters' case
	Lock, Topology, Fault string // patterns as in path.Match; Fault matches one fault, or all as store.Entry.Fault tells them
	Words                 []store.Word
	Unmet                 bool   // only what is not as expected
	Since, Until          string // a date, a date and a time, or a time ago; in UTC
	Sort                  string // one of the columns, "-" before it turns the order around; empty: started
	Page, Per             int
}

// columns are what a list can be sorted by.
var columns = []string{"started", "lock", "topology", "fault", "verdict", "took"}

// badQuery is an error of the address; its text is for the reader.
type badQuery struct{ text string }

func (e *badQuery) Error() string { return e.text }

func bad(format string, args ...any) error { return &badQuery{fmt.Sprintf(format, args...)} }

// parseQuery reads the parameters. Whatever is not known, given twice or out of bounds is
// an error that says so; empty ones, as forms send them, are as if they were not there.
func parseQuery(raw string) (query, error) {
	q := query{Page: 1, Per: perPage}
	values, err := parameters(raw)
	if err != nil {
		return q, err
	}
	for key, all := range values {
		all = slices.DeleteFunc(all, func(v string) bool { return v == "" })
		if key == "verdict" {
			if q.Words, err = words(all); err != nil {
				return q, err
			}
			continue
		}
		if len(all) > 1 {
			return q, bad("%q stands %d times in the address; once is enough", key, len(all))
		}
		if len(all) == 1 {
			if err := q.set(key, all[0]); err != nil {
				return q, err
			}
		} else if err := (&query{}).set(key, ""); err != nil {
			return q, err
		}
	}
	return q, nil
}

// parameters splits a query, which must be short and clean.
func parameters(raw string) (url.Values, error) {
	if len(raw) > maxQuery {
		return nil, bad("the query has %d characters; at most %d are read", len(raw), maxQuery)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, bad("the query cannot be read: %v", err)
	}
	for key, all := range values {
		for _, v := range append(all, key) {
			if !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return nil, bad("the query holds characters that are no text")
			}
		}
	}
	return values, nil
}

func words(all []string) (ws []store.Word, err error) {
	for _, v := range all {
		if !slices.Contains(store.Words, store.Word(v)) {
			return nil, bad("there is no verdict %q; there are valid, violated, unknown, vacuous, unfinished, damaged", v)
		}
		ws = append(ws, store.Word(v))
	}
	slices.Sort(ws)
	return slices.Compact(ws), nil
}

// set reads one parameter; an empty value only says that there is one of that name.
func (q *query) set(key, v string) (err error) {
	switch key {
	case "q":
		q.Text = v
	case "lock":
		q.Lock, err = pattern(v)
	case "topology":
		q.Topology, err = pattern(v)
	case "fault":
		q.Fault, err = pattern(v)
	case "unmet":
		if v != "" && v != "1" {
			return bad("unmet is 1 or not there, not %q", v)
		}
		q.Unmet = v == "1"
	case "since":
		q.Since = v
		_, err = moment(v, time.Time{}, false)
	case "until":
		q.Until = v
		_, err = moment(v, time.Time{}, true)
	case "sort":
		if by := strings.TrimPrefix(v, "-"); v != "" && !slices.Contains(columns, by) {
			return bad("there is no order %q; there are %s, also with - before them", v, strings.Join(columns, ", "))
		}
		q.Sort = v
		if v == columns[0] {
			q.Sort = "" // as without
		}
	case "page":
		q.Page, err = count(key, v, maxPage)
	case "per":
		q.Per, err = count(key, v, mostPer)
	default:
		return bad("a list cannot be asked for %q; it can be for q, lock, topology, fault, verdict, unmet, since, until, sort, page, per", key)
	}
	return err
}

func pattern(v string) (string, error) {
	if _, err := path.Match(v, ""); err != nil {
		return "", bad("%q is no pattern: it is written like uuid-*, with [ only before a list of characters and its ]", v)
	}
	return v, nil
}

func count(key, v string, most int) (int, error) {
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most || strconv.Itoa(n) != v {
		return 0, bad("%s is a number from 1 to %d, not %q", key, most, v)
	}
	return n, nil
}

// moment reads a moment in UTC: 2026-01-31, 2026-01-31T18:00, or 24h or 7d before now. A
// day is its beginning, or, if something ends with it, its end. An empty text is none.
func moment(v string, now time.Time, ends bool) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly} {
		at, err := time.Parse(form, v)
		if err != nil {
			continue
		}
		if form == time.DateOnly && ends {
			at = at.AddDate(0, 0, 1).Add(-1)
		}
		return at, nil
	}
	n, err := strconv.Atoi(v[:len(v)-1])
	if unit := v[len(v)-1]; err == nil && n >= 0 && n <= maxAgo && (unit == 'h' || unit == 'd') {
		ago := time.Duration(n) * time.Hour
		if unit == 'd' {
			ago *= 24
		}
		return now.Add(-ago), nil
	}
	return time.Time{}, bad("a moment is written like 24h, 7d, 2026-01-31 or 2026-01-31T18:00 (UTC), not %q", v)
}

// encode gives the shortest query that parseQuery reads as q.
func (q query) encode() string {
	v := url.Values{}
	put := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	put("q", q.Text)
	put("lock", q.Lock)
	put("topology", q.Topology)
	put("fault", q.Fault)
	for _, w := range q.Words {
		v.Add("verdict", string(w))
	}
	if q.Unmet {
		put("unmet", "1")
	}
	put("since", q.Since)
	put("until", q.Until)
	put("sort", q.Sort)
	if q.Page > 1 {
		put("page", strconv.Itoa(q.Page))
	}
	if q.Per != perPage {
		put("per", strconv.Itoa(q.Per))
	}
	return v.Encode()
}

// address is the list that q asks for.
func (q query) address() string {
	if s := q.encode(); s != "" {
		return "/?" + s
	}
	return "/"
}

// filtered says whether q leaves anything out.
func (q query) filtered() bool {
	q.Sort, q.Page, q.Per = "", 1, perPage
	return q.encode() != ""
}
