package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// clockClient moves the clock by which a client's locks go: a step of NTP, a virtual
// machine that was suspended, a quartz that drifts. It is set right after the load: to set
// it right before would be a second step.
func clockClient() Kind {
	return Kind{
		Name:     "clock-client",
		Summary:  "the clock that a client's locks go by steps, or runs at another rate, for the rest of the test",
		Targets:  []string{One, Holder, Waiter, RandomSubset, Minority, Majority, Everyone},
		Triggers: true,
		Params: []Param{
			{Name: "offset", Default: "-2ttl", Summary: "how far it steps: -5s, +2ttl, 0", Check: isSpan},
			{Name: "rate", Default: "1", Summary: "at which it runs from then on; 2: twice as fast", Check: isRate},
		},
		Stays: true,
		New:   func(w World, p Planned) Fault { return &clientClock{world: w, plan: p} },
	}
}

// maxRate bounds the rate of a clock.
const maxRate = 1000

// isRate checks a parameter that is the rate of a clock.
func isRate(value string) error {
	rate, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(rate) || rate < 0 || rate > maxRate {
		return fmt.Errorf("%q is no rate from 0 to %d", value, maxRate)
	}
	return nil
}

type clientClock struct {
	world   World
	plan    Planned
	clients []int // whose clocks were moved, perhaps
	proof   string
	healed  string
}

func (f *clientClock) Inject(ctx context.Context) (Target, error) {
	clients, err := f.world.chooseClients(ctx, f.plan, clock)
	if err != nil {
		return Target{Client: -1}, err
	}
	target := clientsTarget(clients)
	offset, err := readSpan(f.plan.With["offset"], f.world.TTL)
	if err != nil {
		return target, err
	}
	rate, err := strconv.ParseFloat(f.plan.With["rate"], 64)
	if err != nil || f.world.Sabotage {
		return target, err
	}
	var proofs []string
	for _, c := range clients {
		f.clients = append(f.clients, c)
		proof, err := f.world.Clients.SetClock(ctx, c, offset, rate)
		if err != nil {
			return target, err
		}
		proofs = append(proofs, proof)
	}
	f.proof = strings.Join(proofs, "; ")
	return target, nil
}

func (f *clientClock) Landed(context.Context) (string, error) { return proven(f.proof) }

func (f *clientClock) Recover(ctx context.Context) error {
	var proofs []string
	var errs []error
	for _, c := range f.clients {
		proof, err := f.world.Clients.SetClock(ctx, c, 0, 1)
		proofs, errs = append(proofs, proof), append(errs, err)
	}
	f.healed = strings.Join(proofs, "; ")
	return errors.Join(errs...)
}

func (f *clientClock) Recovered(context.Context) (string, error) { return f.healed, nil }
