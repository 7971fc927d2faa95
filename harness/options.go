// Package harness takes one test from its plan to its verdict: it starts the topology
// and the clients, lets the nemesis loose, keeps the record, and has it judged.
//
// In go Options, out comes a store.Result and a folder in the store. It decides nothing
// about locks (locks), faults (nemesis) or truth (models): it brings them together, and
// cleans up after them whatever happens.
package harness

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/google/uuid"

	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/models"
)

// ErrUsage marks an error as the caller's: what was asked for cannot be done, and the
// text says what could.
var ErrUsage = errors.New("wrong usage")

func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func (e *usageError) Unwrap() error { return ErrUsage }

// Options say what to test. The zero value of a field of Test means its default, where
// that is named at Defaults or Plan.
type Options struct {
	store.Test
	Root string // of the store
	// Access says how the servers at Test.Addrs are reached. It is not stored: it has a
	// password.
	Access topology.Access
}

// Defaults are the options of a test that says nothing else.
func Defaults() Options {
	return Options{
		Root: "store",
		Test: store.Test{
			Lock: "setex-del", Deduct: "read-write", Topology: "single", Nemesis: []string{"pause-client"},
			TimeLimit: store.Duration(15 * time.Second), Clients: 5, Workers: 2,
			Stock: 1_000_000, SKUs: 1,
			Think: store.Duration(50 * time.Millisecond), Pause: store.Duration(5 * time.Millisecond),
			AcquireTimeout: store.Duration(10 * time.Second), Grace: store.Duration(time.Second),
			MinSales: 20, MinContention: 1, CheckTimeout: store.Duration(30 * time.Second), Checker: string(models.Fast),
			Persistence: string(topology.PersistEverysec), StockOn: "own", Runtime: "auto", Reach: "auto", Customer: "user",
		},
	}
}

// Plan checks the options and fills in what was left open: the TTL, the timeouts, the
// run's id and name, and the schedule of faults that the seed draws. An error that wraps
// ErrUsage says in one line what is wrong and what would be right.
func Plan(o Options) (Options, error) {
	t := &o.Test
	lock, err := findLock(t.Lock)
	if err != nil {
		return o, err
	}
	sale, err := findDeduction(t.Deduct)
	if err != nil {
		return o, err
	}
	t.Lock, t.Deduct = lock.Name, sale.Name
	if err := checkValues(t); err != nil {
		return o, err
	}
	if err := checkTopology(t, lock.Meta); err != nil {
		return o, err
	}
	t.Run = uuid.NewString()[:13]
	if err := checkAddrs(&o); err != nil {
		return o, err
	}
	if t.TTL == 0 {
		t.TTL = store.Duration(defaultTTL(lock.Meta, time.Duration(t.TimeLimit)))
	}
	if t.RedisTimeout == 0 {
		t.RedisTimeout = t.TTL / 20
	}
	if t.Explicit {
		err = checkSchedule(t, lock, sale)
	} else if len(t.Schedule) == 0 {
		err = drawSchedule(t, lock, sale)
	}
	if err != nil {
		return o, err
	}
	t.Name = store.TestName(t.Lock, t.Deduct, t.Topology, t.Nemesis)
	t.Started = store.Now()
	return o, nil
}

func findLock(name string) (locks.Spec, error) {
	s, ok, err := locks.Lookup(name)
	if err != nil {
		return s, usage("%s", err)
	}
	if !ok {
		plain, _, _ := strings.Cut(name, ":")
		return s, unknown("lock", plain, lockNames())
	}
	return s, nil
}

func findDeduction(name string) (deduct.Spec, error) {
	s, ok, err := deduct.Lookup(name)
	if err != nil {
		return s, usage("%s", err)
	}
	if !ok {
		plain, _, _ := strings.Cut(name, ":")
		return s, unknown("deduction", plain, deductNames())
	}
	return s, nil
}

// defaultTTL is the TTL of the lock's source, but at most a tenth of the time limit, so
// that faults which must outlast it fit in several times, and the quiet tail too.
func defaultTTL(m locks.Meta, limit time.Duration) time.Duration {
	bound := (limit / 10).Round(time.Millisecond)
	if m.TTL > 0 && m.TTL < bound {
		return m.TTL
	}
	return bound
}

func checkValues(t *store.Test) error {
	for _, c := range []struct {
		flag string
		n    int64
		min  int64
	}{
		{"clients", int64(t.Clients), 1}, {"workers", int64(t.Workers), 1}, {"stock", t.Stock, 0}, {"skus", int64(t.SKUs), 1},
		{"min-sales", int64(t.MinSales), 0}, {"min-contention", int64(t.MinContention), 0},
	} {
		if c.n < c.min {
			return usage("--%s must be at least %d, not %d", c.flag, c.min, c.n)
		}
	}
	for _, c := range []struct {
		flag string
		d    store.Duration
		min  time.Duration
	}{
		{"ttl", t.TTL, 0}, {"time-limit", t.TimeLimit, time.Second}, {"think", t.Think, 0}, {"think-after", t.Pause, 0},
		{"acquire-timeout", t.AcquireTimeout, time.Millisecond}, {"redis-timeout", t.RedisTimeout, 0}, {"grace", t.Grace, 0},
		{"check-timeout", t.CheckTimeout, time.Millisecond},
	} {
		if time.Duration(c.d) < c.min {
			return usage("--%s must be at least %s, not %s", c.flag, c.min, c.d)
		}
	}
	if t.Rate < 0 {
		return usage("--rate must not be negative (0: no bound), not %g", t.Rate)
	}
	for _, c := range []struct {
		flag, value string
		may         []string
	}{
		{"persistence", t.Persistence, persistences()},
		{"stock-on", t.StockOn, stockPlaces()},
		{"runtime", t.Runtime, runtimes()},
		{"reach", t.Reach, reaches()}, {"checker", cmp.Or(t.Checker, string(models.Fast)), Checkers()},
	} {
		if !contains(c.may, c.value) {
			return usage("--%s must be one of %s, not %q", c.flag, list(c.may), c.value)
		}
	}
	return nil
}

// Checkers are the names of the checkers of linearizability.
func Checkers() (names []string) {
	for _, c := range models.Checkers {
		names = append(names, string(c))
	}
	return names
}

// Unknown is the error of a name that there is not: it wraps ErrUsage and names the
// nearest that there is, or all.
func Unknown(what, name string, names []string) error { return unknown(what, name, names) }

// unknown names what there is instead of a name that there is not.
func unknown(what, name string, names []string) error {
	nearest, best := "", len(name)
	for _, n := range names {
		if d := levenshtein.ComputeDistance(name, n); d < best {
			nearest, best = n, d
		}
	}
	if nearest != "" && best <= max(2, len(name)/2) {
		return usage("there is no %s %q; did you mean %q?", what, name, nearest)
	}
	return usage("there is no %s %q; there are: %s", what, name, list(names))
}
