package topology

import (
	"context"
	"fmt"
	"time"
)

// hearTimeout bounds the wait for a packet that neither arrives nor is seen dropped.
const hearTimeout = time.Second

// hearing says what Hears is about.
func hearing(at, from Node) string { return "see whether " + at.Name() + " hears " + from.Name() }

// audible gives the rule that would cut two nodes which both have a server: the dead
// neither send nor hear.
func audible(ctx context.Context, run string, from, to Node) (rule, error) {
	for _, n := range []Node{to, from} {
		state, _, err := n.State(ctx)
		if err == nil && state == Dead {
			err = ErrDead
		}
		if err != nil {
			return rule{}, fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return cut(run, from, to)
}

// heardProof says what became of the packets that one node sent another: so many arrived,
// so many were dropped by our rule.
func heardProof(r rule, from, to Node, arrived, dropped int64) string {
	between := fmt.Sprintf("from %s (%s) arrived at %s (%s)", from.Name(), r.from, to.Name(), r.to)
	switch {
	case arrived > 0:
		return "a packet " + between
	case dropped > 0:
		return fmt.Sprintf("nothing %s: our rule dropped %d packets meanwhile", between, dropped)
	}
	return fmt.Sprintf("nothing %s within %v, and no rule of ours dropped it", between, hearTimeout)
}
