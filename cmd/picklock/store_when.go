package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

const day = 24 * time.Hour

// days is what time.ParseDuration does not know: weeks and days, in front.
var days = regexp.MustCompile(`^(?:(\d{1,4})w)?(?:(\d{1,5})d)?(.*)$`)

// age reads a span of time: 90m, 36h, 30d, 2w, 1d12h.
func age(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	var d time.Duration
	for i, unit := range []time.Duration{7 * day, day} {
		if n, err := strconv.Atoi(m[1+i]); err == nil {
			d += time.Duration(n) * unit
		}
	}
	if m[3] != "" || s == "" {
		rest, err := time.ParseDuration(m[3])
		if err != nil || rest < 0 || m[3] != s && rest >= day {
			return 0, fmt.Errorf("a span of time is written like 36h, 30d or 2w, not %q", s)
		}
		d += rest
	}
	return d, nil
}

// clockForms are the ways to write a time of day; without a zone it is the local one.
var clockForms = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"}

// moment reads a moment: as a span before now, or as a date. A day is its beginning, or,
// if it is where something ends, its end. An empty text is no moment.
func moment(s string, now time.Time, ends bool) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := age(s); err == nil {
		return now.Add(-d), nil
	}
	if at, err := time.Parse("20060102T150405.000Z", s); err == nil { // as a test's folder is named, in UTC
		return at, nil
	}
	for _, form := range clockForms {
		if at, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return at, nil
		}
	}
	at, err := time.ParseInLocation(time.DateOnly, s, now.Location())
	if err != nil {
		return at, fmt.Errorf("a moment is written like 24h, 7d, 2026-01-31 or \"2026-01-31 18:00\", not %q", s)
	}
	if ends {
		at = at.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	return at, nil
}

// amount reads an amount of data: 500MB, 10GB, 2GiB.
func amount(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("an amount of data is written like 500MB, 10GB or 2GiB, not %q", s)
	}
	return int64(n), nil
}
