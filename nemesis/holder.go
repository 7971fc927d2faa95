package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// errUnseen: nothing of what a fault should do was observed.
var errUnseen = errors.New("no effect was observed")

// proven is what Landed answers for a fault whose injection returned what it had seen.
func proven(proof string) (string, error) {
	if proof == "" {
		return "", errUnseen
	}
	return proof, nil
}

// pauseOne stops a client and returns what was seen.
func (w World) pauseOne(ctx context.Context, client int) (string, error) {
	if w.Sabotage {
		return "", nil
	}
	return w.Clients.Pause(ctx, client)
}

// standstill is a number of clients that are to be stopped.
type standstill struct {
	world   World
	clients []int // also one whose stop failed halfway
	target  Target
	unseen  bool // one of them was not seen to stand still
	proof   string
	why     string // what they were doing, for the record of a death
}

func newStandstill(w World) *standstill {
	return &standstill{world: w, target: Target{Client: -1}}
}

// bring stops the clients that p means. For a holder (or waiter) it is certain that it is
// stopped while it holds; for the client of a trigger, that its frame has not gone on.
// After an error, what was stopped is in the standstill.
func (s *standstill) bring(ctx context.Context, p Planned, as aspect) error {
	w := s.world
	if w.Hit == nil && (p.Target == Holder || p.Target == Waiter || w.grantedSince > 0) {
		return s.catch(ctx, p, as)
	}
	clients, err := w.chooseClients(ctx, p, as)
	if err != nil {
		return err
	}
	s.target, s.why = clientsTarget(clients), "killed by the nemesis"
	var proofs []string
	for _, c := range clients {
		proof, err := s.still(ctx, c)
		if err != nil {
			return err
		}
		proofs = append(proofs, proof)
	}
	if h := w.Hit; h != nil {
		frame := inFrameWords(h.Frame)
		s.why = fmt.Sprintf("killed while %s was on the wire", frame)
		proofs = append(proofs, frame+" is held on the wire")
	}
	s.proof = strings.Join(proofs, "; ")
	return nil
}

// still stops one client.
func (s *standstill) still(ctx context.Context, client int) (string, error) {
	s.clients = append(s.clients, client)
	proof, err := s.world.pauseOne(ctx, client)
	s.unseen = s.unseen || proof == ""
	return proof, err
}

// catch stops a client that holds a lock: it picks one that holds by the record, stops
// it, and looks again at what it had recorded until it stood still. One that released in
// between is let go, and the search goes on. What it finds is certain: the client is
// stopped and its last recorded event is a grant without a release.
func (s *standstill) catch(ctx context.Context, p Planned, as aspect) error {
	verb := "holds"
	if p.Target == Waiter {
		verb = "waits for"
	}
	for {
		h, err := s.world.chooseHolding(ctx, p, as)
		if err != nil {
			return err
		}
		s.target = clientsTarget([]int{h.Client})
		seen, err := s.still(ctx, h.Client)
		if err != nil {
			return err
		}
		still, err := s.world.holdings(p)
		if err != nil {
			return err
		}
		for _, now := range still {
			if now.Client == h.Client {
				s.why = fmt.Sprintf("killed while it %s %s", past(verb), now.Object)
				s.proof = fmt.Sprintf("%s; worker %d %s %s since %.3f s%s",
					seen, now.Worker, verb, now.Object, s.world.Seconds(now.Since), noRelease(verb))
				return nil
			}
		}
		s.target = Target{Client: -1}
		if err := s.letGo(ctx); err != nil {
			return err
		}
	}
}

func past(verb string) string {
	return map[string]string{"holds": "held", "waits for": "waited for"}[verb]
}

func noRelease(verb string) string {
	return map[string]string{"holds": ", no release recorded", "waits for": ", no answer recorded"}[verb]
}

// letGo resumes a client that was stopped in vain.
func (s *standstill) letGo(ctx context.Context) error {
	_, err := s.resume(context.WithoutCancel(ctx))
	s.world.claims.drop()
	s.clients, s.unseen = nil, false
	return err
}

// landed is what Landed answers for clients that stand still.
func (s *standstill) landed() (string, error) {
	if s.unseen {
		return "", fmt.Errorf("%s: %w", s.target.Name, errUnseen)
	}
	return proven(s.proof)
}

// resume lets all of them go on, and returns what was seen.
func (s *standstill) resume(ctx context.Context) (string, error) {
	var proofs []string
	var errs []error
	for _, c := range s.clients {
		proof, err := s.world.Clients.Resume(ctx, c)
		if err != nil {
			err = fmt.Errorf("let client %d go on: %w", c, err)
		}
		proofs, errs = append(proofs, proof), append(errs, err)
	}
	return strings.Join(proofs, "; "), errors.Join(errs...)
}
