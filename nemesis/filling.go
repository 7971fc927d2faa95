package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

const (
	fillPrefix = "picklock:fill:"
	// fillSize is the size of a value that fills. The fewer keys there are, the sooner
	// comes the turn of the lock's.
	fillSize = 64 << 10
	// fillRoom is what the limit leaves above what is used: some twenty values.
	fillRoom = 20 * fillSize
	// fillTTL makes the keys volatile, so that under a volatile policy they can be evicted,
	// too; it is far longer than that of any lock.
	fillTTL = 24 * time.Hour
	// fillMost bounds how much is written: with twenty keys at a time a lock's is evicted
	// long before.
	fillMost = 100_000
	// fillBatch is how many keys are deleted with one command.
	fillBatch = 500
)

// filling is a node that is being filled.
type filling struct {
	node  topology.Node
	to    *redis.Client // to be closed when enough was written
	name  string        // of its keys
	value string
	keys  int               // written so far, perhaps evicted since
	old   map[string]string // the settings that were changed, as they were
}

func newFilling(n topology.Node, pick uint64) *filling {
	return &filling{
		node: n, to: dial(n), name: fillPrefix + strconv.FormatUint(pick, 36) + ":", value: strings.Repeat("x", fillSize), old: map[string]string{},
	}
}

// limit gives the node a limit a little above what it uses, and has it announce what it
// evicts. With many samples its choice is exact among so few keys.
func (f *filling) limit(ctx context.Context, policy string) error {
	seen, err := usageOf(ctx, f.node)
	if err != nil {
		return err
	}
	for _, setting := range [][2]string{
		{"maxmemory-policy", policy}, {"maxmemory-samples", "64"}, {"notify-keyspace-events", "Ee"},
		{"maxmemory", strconv.FormatInt(seen.used+fillRoom, 10)},
	} {
		was, err := f.to.ConfigGet(ctx, setting[0]).Result()
		if err == nil {
			f.old[setting[0]] = was[setting[0]]
			err = f.to.ConfigSet(ctx, setting[0], setting[1]).Err()
		}
		if err != nil {
			return fmt.Errorf("set %s of %s: %w", setting[0], f.node.Name(), err)
		}
	}
	return nil
}

// more writes one value more.
func (f *filling) more(ctx context.Context) error {
	if f.keys == fillMost {
		return fmt.Errorf("%d keys were written to %s, and that was not enough", f.keys, f.node.Name())
	}
	f.keys++
	return f.to.Set(ctx, f.key(f.keys-1), f.value, fillTTL).Err()
}

func (f *filling) key(i int) string { return f.name + strconv.Itoa(i) }

// untilRefused writes until the node refuses to, and lowers the limit far below what it
// uses then: where a large value had no room a small one might have, and buffers that are
// given back make room again.
func (f *filling) untilRefused(ctx context.Context) error {
	for {
		err := f.more(ctx)
		if err != nil && !isOOM(err) {
			return err
		}
		if err != nil {
			break
		}
	}
	seen, err := usageOf(ctx, f.node)
	if err != nil {
		return err
	}
	return f.to.ConfigSet(ctx, "maxmemory", strconv.FormatInt(seen.used-fillRoom/2, 10)).Err()
}

// undo deletes the keys and sets all back that was changed.
func (f *filling) undo(ctx context.Context) error {
	c := dial(f.node)
	defer func() { _ = c.Close() }() // the answers are there
	var errs []error
	for from := 0; from < f.keys; from += fillBatch {
		errs = append(errs, deleteAnyhow(ctx, c, f.batch(from)))
	}
	for name, was := range f.old {
		if err := c.ConfigSet(ctx, name, was).Err(); err != nil {
			errs = append(errs, fmt.Errorf("set %s of %s back to %q: %w", name, f.node.Name(), was, err))
		}
	}
	return errors.Join(errs...)
}

// deleteAnyhow deletes keys also at a node that was made a replica since they were written.
func deleteAnyhow(ctx context.Context, c *redis.Client, keys []string) error {
	err := c.Del(ctx, keys...).Err()
	if !redis.HasErrorPrefix(err, "READONLY") {
		return err
	}
	return errors.Join(
		c.ConfigSet(ctx, "replica-read-only", "no").Err(),
		c.Del(ctx, keys...).Err(),
		c.ConfigSet(ctx, "replica-read-only", "yes").Err())
}

func (f *filling) batch(from int) []string {
	var keys []string
	for i := from; i < min(from+fillBatch, f.keys); i++ {
		keys = append(keys, f.key(i))
	}
	return keys
}

// gone observes that none of the keys is left, and that the settings are as they were.
func (f *filling) gone(ctx context.Context) error {
	c := dial(f.node)
	defer func() { _ = c.Close() }() // it is only read from
	for from := 0; from < f.keys; from += fillBatch {
		if left, err := c.Exists(ctx, f.batch(from)...).Result(); err != nil || left > 0 {
			return errors.Join(err, fmt.Errorf("%d keys of the fault's own are left at %s", left, f.node.Name()))
		}
	}
	for name, was := range f.old {
		if is, err := c.ConfigGet(ctx, name).Result(); err != nil || is[name] != was {
			return errors.Join(err, fmt.Errorf("%s of %s is %q, and was %q", name, f.node.Name(), is[name], was))
		}
	}
	return nil
}
