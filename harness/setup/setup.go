// Package setup is the part of a test's options that files say: those of the scenarios,
// and those of a matrix. In goes YAML, out come harness.Options.
package setup

import (
	"slices"

	"picklock/harness"
	"picklock/harness/store"
)

// Setup is a part of a test's options; zero values are not said.
type Setup struct {
	Lock           string          `yaml:"lock"`
	Deduct         string          `yaml:"deduct"`
	Topology       string          `yaml:"topology"`
	Replicas       int             `yaml:"replicas"`
	Nodes          int             `yaml:"nodes"`
	Persistence    string          `yaml:"persistence"`
	Config         []string        `yaml:"config"`
	TTL            store.Duration  `yaml:"ttl"`
	TimeLimit      store.Duration  `yaml:"time-limit"`
	Clients        int             `yaml:"clients"`
	Workers        int             `yaml:"workers"`
	Think          *store.Duration `yaml:"think"`
	ThinkAfter     *store.Duration `yaml:"think-after"`
	AcquireTimeout store.Duration  `yaml:"acquire-timeout"`
	RedisTimeout   store.Duration  `yaml:"redis-timeout"`
	Grace          store.Duration  `yaml:"grace"`
	Stock          *int64          `yaml:"stock"`
	SKUs           int             `yaml:"skus"`
	Customer       string          `yaml:"customer"`
	MinSales       *int            `yaml:"min-sales"`
	MinContention  *int            `yaml:"min-contention"`
	Faults         []store.Planned `yaml:"faults"`
}

// Apply sets what the setup says, and leaves the rest of the options as it is.
func (s Setup) Apply(o *harness.Options) {
	set(&o.Lock, s.Lock)
	set(&o.Deduct, s.Deduct)
	set(&o.Topology, s.Topology)
	set(&o.Replicas, s.Replicas)
	set(&o.Test.Nodes, s.Nodes)
	set(&o.Persistence, s.Persistence)
	set(&o.TTL, s.TTL)
	set(&o.TimeLimit, s.TimeLimit)
	set(&o.Clients, s.Clients)
	set(&o.Workers, s.Workers)
	set(&o.AcquireTimeout, s.AcquireTimeout)
	set(&o.RedisTimeout, s.RedisTimeout)
	set(&o.Grace, s.Grace)
	set(&o.SKUs, s.SKUs)
	set(&o.Customer, s.Customer)
	said(&o.Think, s.Think)
	said(&o.Pause, s.ThinkAfter)
	said(&o.Stock, s.Stock)
	said(&o.MinSales, s.MinSales)
	said(&o.MinContention, s.MinContention)
	if s.Config != nil {
		o.Config = slices.Clone(s.Config)
	}
	if s.Faults != nil {
		o.Schedule = slices.Clone(s.Faults)
	}
}

// Seed gives the options their seed. Of a schedule that was given it varies which of
// several candidates is hit; all else is as written.
func Seed(o *harness.Options, seed uint64) {
	o.Seed = seed
	o.Explicit = len(o.Schedule) > 0
	o.Schedule = slices.Clone(o.Schedule)
	for i := range o.Schedule {
		if o.Schedule[i].Pick == 0 {
			o.Schedule[i].Pick = seed*0x9e3779b97f4a7c15 + uint64(i)
		}
	}
}

func set[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}

func said[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
