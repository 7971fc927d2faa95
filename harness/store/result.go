// Package store keeps results on disk: one folder per test with what was to be done
// (test.json), what was recorded (history.jsonl), what it proves (results.json), the
// reports, and one log per node and client.
//
// It depends on results, never on topologies: a folder can be read anywhere, without
// the servers that it came from.
package store

import (
	"encoding/json"
	"fmt"
	"time"

	"picklock/models"
)

// Duration is a time.Duration that JSON shows as Go writes it: "1.5s".
type Duration time.Duration

// String gives Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes Go's notation.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads Go's notation.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration must be a string like \"1.5s\": %w", err)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
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
	Persistence    string   `json:"persistence"`
	StockOn        string   `json:"stock_on"` // "own" or "lock"
	Runtime        string   `json:"runtime"`  // what was used: "docker" or "process"
	Reach          string   `json:"reach"`
	Image          string   `json:"image,omitempty"`
	CheckTimeout   Duration `json:"check_timeout"` // porcupine, per partition

	Schedule []Planned         `json:"schedule"`        // the faults that the seed drew
	About    map[string]string `json:"about,omitempty"` // versions, image digest, host
}

// Planned is one fault of the schedule, as drawn from the seed before the load began.
type Planned struct {
	Kind string   `json:"kind"`
	At   Duration `json:"at"`   // after the load began
	For  Duration `json:"for"`  // how long it lasts; 0: momentary
	Pick uint64   `json:"pick"` // draws the target among the candidates
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
