package fast

import "time"

// limits are Limits under way.
type limits struct{ end time.Time }

func (l Limits) started() limits {
	t := l.Timeout
	if t <= 0 {
		t = defaultTimeout
	}
	return limits{time.Now().Add(t)}
}

// left is what porcupine may still take: a nanosecond at least, since zero is no limit to it.
func (l limits) left() time.Duration { return max(time.Until(l.end), 1) }
