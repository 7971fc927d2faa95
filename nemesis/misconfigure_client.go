package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"picklock/locks"
)

// misconfigureClient starts a client anew with another lock than the others have: a quorum
// that somebody lowered, a release that was rolled out to one server only.
func misconfigureClient() Kind {
	return Kind{
		Name:    "misconfigure-client",
		Summary: "a client is stopped and started again with another lock (param lock), for a while",
		Targets: []string{One, RandomSubset, Minority, Majority, Everyone},
		Params:  []Param{{Name: "lock", Summary: "the lock that it uses instead, with its options: redlock:quorum=2", Check: isLock}},
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return span(2*ttl, 4*ttl, draw)
		},
		New: func(w World, p Planned) Fault { return &misconfiguration{world: w, plan: p} },
	}
}

func isLock(value string) error {
	_, ok, err := locks.Lookup(value)
	if err == nil && !ok {
		err = fmt.Errorf("there is no lock %q", value)
	}
	return err
}

type misconfiguration struct {
	world   World
	plan    Planned
	clients []int // that were started anew, perhaps
	proof   string
	healed  string
}

func (f *misconfiguration) Inject(ctx context.Context) (Target, error) {
	clients, err := f.world.chooseClients(ctx, f.plan, ending)
	if err != nil {
		return Target{Client: -1}, err
	}
	target := clientsTarget(clients)
	if f.world.Sabotage {
		return target, nil
	}
	f.clients = clients
	f.proof, err = f.configure(ctx, f.plan.With["lock"])
	return target, err
}

func (f *misconfiguration) configure(ctx context.Context, lock string) (string, error) {
	var proofs []string
	var errs []error
	for _, c := range f.clients {
		proof, err := f.world.Clients.Reconfigure(ctx, c, lock)
		proofs, errs = append(proofs, proof), append(errs, err)
	}
	return strings.Join(proofs, "; "), errors.Join(errs...)
}

func (f *misconfiguration) Landed(context.Context) (string, error) { return proven(f.proof) }

func (f *misconfiguration) Recover(ctx context.Context) (err error) {
	f.healed, err = f.configure(ctx, "")
	return err
}

func (f *misconfiguration) Recovered(context.Context) (string, error) { return f.healed, nil }
