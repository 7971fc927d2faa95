package nemesis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// oneOf checks that a parameter has one of some values.
func oneOf(values ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(values, value) {
			return fmt.Errorf("%q is none of %s", value, strings.Join(values, ", "))
		}
		return nil
	}
}

// maxSpan bounds what readSpan accepts, far beyond any test.
const maxSpan = 10 * 365 * 24 * time.Hour

// readSpan reads a time that may be counted in TTLs of the lock: "+10s", "-60s", "300ms",
// "ttl", "+2ttl", "-0.5ttl", "0".
func readSpan(value string, ttl time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if count, ok := strings.CutSuffix(value, "ttl"); ok {
		d, err = timesTTL(count, ttl)
	}
	if err != nil || d > maxSpan || d < -maxSpan {
		return 0, fmt.Errorf("%q is no time such as +10s, -500ms, +ttl, -2ttl", value)
	}
	return d, nil
}

func timesTTL(count string, ttl time.Duration) (time.Duration, error) {
	switch count {
	case "", "+":
		return ttl, nil
	case "-":
		return -ttl, nil
	}
	n, err := strconv.ParseFloat(count, 64)
	if err != nil {
		return 0, err
	}
	d := n * float64(ttl)
	if !(math.Abs(d) <= float64(maxSpan)) { // neither is NaN
		return 0, fmt.Errorf("%q TTLs are too many", count)
	}
	return time.Duration(d), nil
}

// isSpan checks a parameter that readSpan will read.
func isSpan(value string) error {
	_, err := readSpan(value, time.Second)
	return err
}

// isPause checks a parameter that is a time above zero.
func isPause(value string) error {
	d, err := readSpan(value, time.Second)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q is not above zero", value)
	}
	return err
}

// optional accepts what check accepts, and nothing at all.
func optional(check func(string) error) func(string) error {
	return func(value string) error {
		if value == "" {
			return nil
		}
		return check(value)
	}
}
