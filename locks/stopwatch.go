package locks

import "time"

// Monotonic is a Clock that has, beside the wall clock, one that no step moves. A lock
// that measures a span by a clock without it uses the operating system's own.
type Monotonic interface {
	// Monotonic is the time since some moment that stays the same.
	Monotonic() time.Duration
}

// stopwatch begins to measure true time; the function that it returns tells how much has
// passed.
func stopwatch(c Clock) (elapsed func() time.Duration) {
	if m, ok := c.(Monotonic); ok {
		start := m.Monotonic()
		return func() time.Duration { return m.Monotonic() - start }
	}
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// wallStopwatch measures by the wall clock, whose steps it takes for time that passed.
func wallStopwatch(c Clock) (elapsed func() time.Duration) {
	start := c.Now().Round(0) // without Go's monotonic reading
	return func() time.Duration { return c.Now().Round(0).Sub(start) }
}

// drift is how much two servers' clocks may differ over a TTL, and two milliseconds for
// the resolution of small TTLs: the bound of Redlock's first implementation.
func drift(ttl time.Duration) time.Duration {
	return ttl/100 + 2*time.Millisecond
}
