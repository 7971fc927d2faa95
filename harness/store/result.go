// Package store keeps results on disk: one folder per test with what was to be done
// (test.json), what was recorded (history.jsonl), what it proves (results.json), the
// reports, and one log per node and client.
//
// It depends on results, never on topologies: a folder can be read anywhere, without
// the servers that it came from.
package store

import (
	"fmt"
	"time"

	"picklock/models"
)

// Duration is a time.Duration that JSON shows as Go writes it: "1.5s".
type Duration time.Duration

// String gives Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads Go's notation.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("a duration must be written like \"1.5s\", not %q", b)
	}
	*d = Duration(v)
	return nil
}

// Test is test.json: everything that is needed to repeat and to judge a test.
type Test struct {
	Name    string    `json:"name"` // e.g. "uuid-lua+read-write_single_pause-client"
	Run     string    `json:"run"`  // unique id of this run
	Started time.Time `json:"started"`

	Lock     string   `json:"lock"`
	Deduct   string   `json:"deduct"`
	Topology string   `json:"topology"`
	Nemesis  []string `json:"nemesis"` // empty: none
	Seed     uint64   `json:"seed"`

	TimeLimit      Duration `json:"time_limit"`
	Clients        int      `json:"clients"`
	Workers        int      `json:"workers"` // per client
	TTL            Duration `json:"ttl"`
	Stock          int64    `json:"stock"` // units per SKU at the start
	SKUs           int      `json:"skus"`
	Think          Duration `json:"think"`       // inside the section
	Pause          Duration `json:"think_after"` // between sales, outside the section
	Rate           float64  `json:"rate"`        // sales tried per second and worker at most; 0: no bound
	AcquireTimeout Duration `json:"acquire_timeout"`
	RedisTimeout   Duration `json:"redis_timeout"`
	Grace          Duration `json:"grace"` // liveness: allowed beyond the TTL
	MinSales       int      `json:"min_sales"`
	MinContention  int      `json:"min_contention"`
	Customer       string   `json:"customer"` // what the names of customers begin with; some locks use these as tokens
	Persistence    string   `json:"persistence"`
	StockOn        string   `json:"stock_on"`           // "own" or "lock"
	Replicas       int      `json:"replicas,omitempty"` // failover: of the primary
	Nodes          int      `json:"nodes,omitempty"`    // redlock: independent primaries
	Server         string   `json:"server,omitempty"`   // "redis:7.0"; empty: what the runtime has
	Config         []string `json:"config,omitempty"`   // of the lock nodes, as in redis.conf: "min-replicas-to-write 1"
	Addrs          []string `json:"addrs,omitempty"`    // own servers of the user instead of started ones; without passwords
	Prefix         string   `json:"prefix,omitempty"`   // of every key that the test uses
	Runtime        string   `json:"runtime"`            // what was used: "docker" or "process"
	Reach          string   `json:"reach"`
	Image          string   `json:"image,omitempty"`
	CheckTimeout   Duration `json:"check_timeout"`     // porcupine, per partition
	Checker        string   `json:"checker,omitempty"` // who decides linearizability: "fast" (also if empty), "porcupine" or "both"

	UntilVerdict bool `json:"until_verdict,omitempty"` // the load ends once all that is expected to be violated is proven to be

	Schedule []Planned `json:"schedule"`           // the faults: drawn from the seed, or as given
	Explicit bool      `json:"explicit,omitempty"` // the schedule was given

	About    map[string]string `json:"about,omitempty"`    // versions, image digest, host
	Observed *Observed         `json:"observed,omitempty"` // what the harness counted beside the history
}

// Observed is what the harness counted beside the history, for the measures.
type Observed struct {
	Commands       int64   `json:"commands"`        // that the lock nodes processed during the load
	MaxConnections int     `json:"max_connections"` // to one node at once, as sampled
	ClientCPUS     float64 `json:"client_cpu_s"`    // processor time of all client processes
	Early          bool    `json:"early,omitempty"` // the faults, and with them nearly always the load, ended before their time: all that was expected to be violated was
}

// Planned is one fault of the schedule. The fields mean what they mean in nemesis.Planned.
type Planned struct {
	Kind      string            `json:"kind" yaml:"kind"`
	At        Duration          `json:"at,omitzero" yaml:"at,omitempty"`   // after the load began
	For       Duration          `json:"for,omitzero" yaml:"for,omitempty"` // how long it lasts; 0: momentary
	Target    string            `json:"target,omitempty" yaml:"target,omitempty"`
	On        string            `json:"on,omitempty" yaml:"on,omitempty"`
	Nth       int               `json:"nth,omitempty" yaml:"nth,omitempty"`
	After     int               `json:"after,omitempty" yaml:"after,omitempty"`
	Recovered bool              `json:"recovered,omitempty" yaml:"recovered,omitempty"`
	Until     int               `json:"until,omitempty" yaml:"until,omitempty"`
	With      map[string]string `json:"with,omitempty" yaml:"with,omitempty"`
	Pick      uint64            `json:"pick,omitempty" yaml:"pick,omitempty"` // draws the target among the candidates
}

// Fault is one fault in results.json. Times are seconds since the load began.
type Fault struct {
	Kind   string  `json:"kind"`
	Target string  `json:"target"`
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	Landed bool    `json:"landed"`
	Proof  string  `json:"proof"`
	Healed string  `json:"healed,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Expected compares one property with what is known of the lock.
type Expected struct {
	Property string `json:"property"`
	Expected string `json:"expected"` // "valid", "violated" or "either"
	Met      bool   `json:"met"`
	Why      string `json:"why,omitempty"` // the known weakness
}

// Result is results.json. It is an interface for other programs: fields are added,
// never renamed.
type Result struct {
	Verdict    models.Verdict                        `json:"verdict"`
	Vacuous    bool                                  `json:"vacuous"`
	VacuousWhy []string                              `json:"vacuous_why,omitempty"`
	Test       Test                                  `json:"test"`
	Properties map[models.Property]*models.Judgement `json:"properties"`
	Faults     []Fault                               `json:"faults"`
	Measures   models.Measures                       `json:"measures"`
	Expected   []Expected                            `json:"expected,omitempty"`
	Broken     string                                `json:"broken,omitempty"` // the history breaks off: how, and up to where it was judged
	Rerun      string                                `json:"rerun"`            // the exact command that repeats the test
}
