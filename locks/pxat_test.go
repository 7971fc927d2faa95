package locks_test

import (
	"testing"
	"time"
)

// shifted is real time, off by so much.
type shifted struct {
	clock
	by time.Duration
}

func (s *shifted) Now() time.Time { return time.Now().Add(s.by) }

// Row 25: the expiry is the client's word. By a clock that is behind by more than the TTL
// two clients get the lock; by one that is ahead it stays as much longer.
func TestPxatTakesTheClientsTime(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	const ttl = time.Minute
	for name, guilty := range map[string]bool{"pxat": true, "uuid-lua": false} {
		behind, ahead := c.config(), c.config()
		behind.Clock, behind.TTL = &shifted{by: -2 * ttl}, ttl
		ahead.Clock, ahead.TTL = &shifted{by: time.Hour}, ttl
		g, err := open(t, name, behind).Acquire(patient(t))
		if err != nil || g.Validity != ttl {
			t.Fatalf("%s: %+v, %v", name, g, err)
		}
		if gone := c.plain[0].Exists(t.Context(), behind.Name).Val() == 0; gone != guilty {
			t.Errorf("%s by a clock that is behind: born expired: %v, want %v", name, gone, guilty)
		}
		acquire(t, open(t, name, ahead))
		if long := c.plain[0].PTTL(t.Context(), ahead.Name).Val() > ttl; long != guilty {
			t.Errorf("%s by a clock that is ahead: it stays for longer than the TTL: %v, want %v", name, long, guilty)
		}
	}
}
