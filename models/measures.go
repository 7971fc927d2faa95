package models

import (
	"sync"

	"picklock/harness/history"
)

// Measures are measured and plotted, not judged. Fields that end in TTL are fractions of
// the TTL; they are 0 for a lock without one.
type Measures struct {
	Operations  int     `json:"operations"`
	Sales       int     `json:"sales"`
	Grants      int     `json:"grants"`
	Unknown     int     `json:"unknown_operations"` // ended info
	Settled     int     `json:"settled_by_ledger"`  // unknown deductions that the ledger settled
	Contended   int     `json:"contended"`          // pairs of operations of different workers on one object that overlapped
	DurationS   float64 `json:"duration_s"`
	SalesPerS   float64 `json:"sales_per_s"`
	MaxTries    int64   `json:"max_tries"`    // largest number of tries in one deduction
	MaxAttempts int64   `json:"max_attempts"` // largest number of attempts in one acquire: the depth of a lock that retries by recursion

	AcquireP50MS   float64 `json:"acquire_p50_ms"`
	AcquireP95MS   float64 `json:"acquire_p95_ms"`
	AcquireP99MS   float64 `json:"acquire_p99_ms"`
	AcquireMaxMS   float64 `json:"acquire_max_ms"`
	AttemptsPer    float64 `json:"attempts_per_grant"`
	FailedAcquires int     `json:"failed_acquires"` // that certainly did not get the lock
	Jain           float64 `json:"jain_fairness"`   // of grants per worker, 1/n..1
	StarvedS       float64 `json:"longest_starvation_s"`

	SoldButFailed int `json:"sold_but_failed"`  // the sale was made, the caller saw an error
	LostReleases  int `json:"lost_releases"`    // releases that certainly had no effect on a lock still held
	FalseNotHeld  int `json:"false_not_held"`   // releases told "not held" although nobody else can have had the lock: an own try before had freed it
	Overstays     int `json:"overstayed_holds"` // holds that outlived their lease
	// OverlapSpanS is the time from the first to the last moment in which two believed to
	// hold one lock: how long the window was in which it failed.
	OverlapSpanS float64 `json:"overlap_span_s"`

	RegrantP50MS         float64 `json:"regrant_p50_ms"`          // from the return of a release to the next grant to another worker
	NextGrantP50TTL      float64 `json:"next_grant_p50_ttl"`      // from the return of a release, whatever it did, to the next grant, waited for or not
	ReleaseToGrantP50MS  float64 `json:"release_to_grant_p50_ms"` // of that time, the part in which somebody waited: see handover
	ReleaseToGrantMaxMS  float64 `json:"release_to_grant_max_ms"`
	ReleaseToGrantP50TTL float64 `json:"release_to_grant_p50_ttl"`
	ReleaseToGrantMaxTTL float64 `json:"release_to_grant_max_ttl"`
	LongestIdleMS        float64 `json:"longest_idle_ms"` // somebody waited, nobody held the lock or was granted it
	LongestIdleTTL       float64 `json:"longest_idle_ttl"`
	IdleS                float64 `json:"idle_s"` // all such times together, lock by lock

	Availability float64    `json:"availability"`       // share of the load's windows of 100 ms with a hold or a grant in them
	Promotions   int        `json:"promotions"`         // times that a node became primary after it had been something else
	Recovery     []Recovery `json:"recovery,omitempty"` // a row for each fault

	// Sampled by the harness while the test runs; 0: not sampled. Judge leaves them alone.
	CommandsPerGrant    float64 `json:"commands_per_grant,omitempty"`      // that the lock nodes executed
	ClientCPUPerGrantMS float64 `json:"client_cpu_per_grant_ms,omitempty"` // of all client processes
	MaxConnections      int     `json:"max_connections,omitempty"`         // to one node, at once
}

// measure counts and times what is plotted but not judged.
func measure(r *record) Measures {
	m := Measures{Operations: len(r.Operations)}
	// Each of these sets fields of its own.
	var others sync.WaitGroup
	others.Go(func() { m.Contended = contended(r) })
	others.Go(func() { r.measureHandovers(&m) })
	others.Go(func() { r.measureRecovery(&m) })
	others.Go(func() { m.OverlapSpanS = float64(r.overlapSpan()) / 1e9 })
	waited := make([]int64, 0, len(r.groups))
	attempts := int64(0)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Outcome == history.OutcomeInfo {
			m.Unknown++
		}
		switch o.Op {
		case history.Acquire:
			m.MaxAttempts = max(m.MaxAttempts, o.Attempts)
			switch o.Outcome {
			case history.OutcomeFail:
				m.FailedAcquires++
			case history.OutcomeOK:
				m.Grants++
				attempts += o.Attempts
				waited = append(waited, o.Return-o.Invoke)
			}
		case history.Deduct:
			r.measureDeduct(&m, o)
		}
	}
	m.DurationS = float64(max(0, r.End-r.Start)) / 1e9
	if m.DurationS > 0 {
		m.SalesPerS = float64(m.Sales) / m.DurationS
	}
	q := quantiles(waited, 0.50, 0.95, 0.99, 1)
	m.AcquireP50MS, m.AcquireP95MS, m.AcquireP99MS, m.AcquireMaxMS = q[0], q[1], q[2], q[3]
	if m.Grants > 0 {
		m.AttemptsPer = float64(attempts) / float64(m.Grants)
	}
	m.Jain, m.StarvedS = fairness(r)
	r.measureReleases(&m)
	for _, holds := range r.locks {
		for _, h := range holds {
			if overstayed(h) {
				m.Overstays++
			}
		}
	}
	others.Wait()
	return m
}

func (r *record) measureDeduct(m *Measures, o *history.Operation) {
	m.MaxTries = max(m.MaxTries, o.Attempts)
	switch o.Outcome {
	case history.OutcomeOK:
		if o.Sold {
			m.Sales++
		}
	case history.OutcomeInfo:
		if r.entry(o.ID) != nil || r.Complete && len(r.Ledger) > 0 {
			m.Settled++
		}
		fallthrough
	case history.OutcomeFail:
		if l := r.level(o); l != nil && *l >= 0 && r.entry(o.ID) != nil {
			m.SoldButFailed++
		}
	}
}
