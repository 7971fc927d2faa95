package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"picklock/harness/topology"
)

// Who promotes the replica.
const (
	byOperator = "operator"
	bySentinel = "sentinel"
)

// stalePromotion loses a grant that was never replicated: the primary dies, and a replica
// is promoted that has not heard of the lock (S0, S1). What makes it certain is the order:
// the replicas are cut off first, then a client is granted the lock, then the primary
// dies.
func stalePromotion() Kind {
	return Kind{
		Name: "stale-promotion",
		Summary: "cut the replicas off, wait until a client is granted a lock, kill the primary and have a replica promoted " +
			"that knows nothing of it",
		Needs:   Needs{Servers: true, Cuts: true, Replicas: 1},
		Targets: []string{Primaries},
		Params: []Param{{
			Name: "by", Default: byOperator, Check: oneOf(byOperator, bySentinel),
			Summary: byOperator + ": the nemesis promotes a drawn replica by hand and tells the Sentinels, which takes some ten milliseconds; " +
				bySentinel + ": they are ordered to (SENTINEL FAILOVER) and choose, which takes about a second, and the hold must last as long",
		}},
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return ttl + span(max(ttl/4, 150*time.Millisecond), max(ttl/2, 300*time.Millisecond), draw)
		},
		New: func(w World, p Planned) Fault { return &staleFault{world: w, plan: p} },
	}
}

type staleFault struct {
	world World
	plan  Planned

	old      topology.Node
	cuts     []cut
	deaf     string        // what was seen of the cuts, before anybody was granted anything
	lost     Holding       // the hold whose grant the replicas have not heard of
	died     int64         // ns: directly before the primary was killed
	promoted topology.Node // by hand; nil: the Sentinels choose
}

func (f *staleFault) Inject(ctx context.Context) (Target, error) {
	w := f.world
	old, err := w.onePrimary(ctx, f.plan)
	if err != nil {
		return Target{Client: -1}, err
	}
	replicas := slices.DeleteFunc(w.lockNodes(), func(n topology.Node) bool { return n == old })
	err = w.await(ctx, f.plan, func() bool { return w.claims.take(link, nodeTargets(w.lockNodes())...) })
	if err != nil {
		return Target{Client: -1}, err
	}
	f.old, f.cuts = old, apart(replicas, []topology.Node{old})
	cluster, err := w.readSentinels(ctx)
	target := nodesTarget([]topology.Node{old})
	if err == nil && !w.Sabotage {
		err = block(ctx, f.cuts)
	}
	if err == nil {
		f.deaf, err = hearing(ctx, f.cuts, false)
	}
	if err != nil {
		return target, err
	}
	if f.lost, err = w.unknownHolder(ctx, f.plan, old, replicas); err != nil {
		// Nobody was granted a lock, so nothing is done: not even the cut may stay.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
		defer cancel()
		return Target{Client: -1}, errors.Join(err, unblock(undo, f.cuts))
	}
	f.died = now()
	if err := old.Kill(ctx); err != nil {
		return target, err
	}
	if f.plan.With["by"] == bySentinel {
		return target, w.orderFailover(ctx)
	}
	f.promoted = replicas[f.plan.Pick%uint64(len(replicas))]
	return target, w.promote(ctx, f.promoted, replicas, cluster)
}

// unknownHolder waits for a client that is granted a lock from now on, whose key the
// primary has and no replica. Right after a cut replicas may have the key of an earlier
// holder, until its TTL is over.
func (w World) unknownHolder(ctx context.Context, p Planned, primary topology.Node, replicas []topology.Node) (h Holding, err error) {
	w.grantedSince = now()
	err = w.await(ctx, p, func() bool {
		var ok bool
		h, ok = w.freshHolder()
		return ok && ask(ctx, primary, "EXISTS", h.Object).Val() == int64(1) &&
			!slices.ContainsFunc(replicas, func(r topology.Node) bool { return ask(ctx, r, "EXISTS", h.Object).Val() != int64(0) })
	})
	return h, err
}

// Landed demands that the hold outlived the promotion. That the new primary lacked its key
// was seen before: as soon as it is primary, the next client may be granted the lock.
func (f *staleFault) Landed(ctx context.Context) (string, error) {
	w := f.world
	by, promoted, err := w.promoted(ctx, f.old)
	if err != nil {
		return "", err
	}
	held, err := w.holds(f.lost)
	if err != nil {
		return "", err
	}
	proof := fmt.Sprintf("%s; then %s; %s had the key, EXISTS %s answered 0 at all replicas; %s %.3f s after the kill of %s began",
		f.deaf, f.lost.inWords(w), f.old.Name(), f.lost.Object, promoted, w.Seconds(by.at)-w.Seconds(f.died), f.old.Name())
	if !held {
		return proof, fmt.Errorf("the hold ended before a replica was promoted: %s", proof)
	}
	return proof, nil
}

func (f *staleFault) Recover(ctx context.Context) error {
	if f.old == nil {
		return nil
	}
	if err := errors.Join(unblock(ctx, f.cuts), f.world.startDead(ctx, f.old)); err != nil {
		return err
	}
	if f.promoted == nil {
		return nil // the Sentinels know the old primary, and make it a replica
	}
	return follow(ctx, f.old, f.promoted)
}

func (f *staleFault) Recovered(ctx context.Context) (string, error) {
	if _, err := joined(ctx, f.cuts); err != nil {
		return "", err
	}
	return f.world.whole(ctx)
}
