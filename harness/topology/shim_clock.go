package topology

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// clockWords are what picklock-clock takes for a clock that is offset ahead of the true
// time now and runs at rate from there: nanoseconds, and parts per million gained.
func clockWords(offset time.Duration, rate float64) ([]string, error) {
	if !(rate >= 0) || math.IsInf(rate, 1) {
		return nil, fmt.Errorf("%v is no rate for a clock: 1 is that of the true time, 0 stands still", rate)
	}
	return []string{
		strconv.FormatInt(int64(offset), 10),
		strconv.FormatFloat((rate-1)*1e6, 'g', -1, 64),
	}, nil
}

// clockReads is how often a clock is read: the reading with the shortest round trip counts.
const clockReads = 3

// readClock asks the server of a node for its time and compares it with ours, taken in the
// middle of the round trip. The proof says how far off that can be.
func readClock(ctx context.Context, n Node) (time.Duration, string, error) {
	fail := func(err error) (time.Duration, string, error) {
		return 0, "", fmt.Errorf("read the clock of node %s: %w", n.Name(), err)
	}
	if state, _, err := n.State(ctx); err != nil {
		return fail(err)
	} else if state == Dead {
		return fail(ErrDead)
	}
	c := dialOnce(n.Addr())
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil { // the connection is no part of the round trip
		return fail(err)
	}
	var ahead time.Duration
	best := time.Duration(math.MaxInt64)
	for range clockReads {
		asked := time.Now()
		shown, err := serverTime(ctx, c, n.Kind())
		if err != nil {
			return fail(err)
		}
		if took := time.Since(asked); took < best {
			best, ahead = took, shown.Sub(asked.Add(took/2))
		}
	}
	return ahead, fmt.Sprintf("the clock of %s is %v ahead of the true time (give or take %v)",
		n.Name(), ahead.Round(time.Millisecond), (best / 2).Round(10*time.Microsecond)), nil
}

// serverTime is what the server's clock shows. A Sentinel has no TIME and says it in INFO.
func serverTime(ctx context.Context, c *redis.Client, kind Kind) (time.Time, error) {
	if kind != SentinelNode {
		return c.Time(ctx).Result()
	}
	info, err := infoOf(ctx, c, "server")
	if err != nil {
		return time.Time{}, err
	}
	us, err := strconv.ParseInt(info["server_time_usec"], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("its INFO states no time: %w", err)
	}
	return time.UnixMicro(us), nil
}
