package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// part is one of the places on which a lock lives: a node of Redlock, a resource of a
// multilock; and what is known of the token there.
type part struct {
	base
	ours bool // it carries the token, or may carry it
	late bool // a request to take it was not answered: it may be executed yet
}

// take asks for the part.
func (p *part) take(ctx context.Context, token string) (bool, error) {
	ok, err := p.send(ctx, token, p.ttl)
	if err != nil {
		if !NotExecuted(err) {
			p.ours, p.late = true, true
		}
		return false, err
	}
	p.ours = p.ours || ok // a refusal may be the token's own, from an attempt before
	return ok, nil
}

// parts are all places of one lock, of which quorum make a grant.
type parts struct {
	list    []*part
	quorum  int
	release *redis.Script
}

// forget prepares for a new token.
func (p *parts) forget() {
	for _, one := range p.list {
		one.ours, one.late = false, false
	}
}

// enough is how many parts are a lock: with so many, nobody else can reach the quorum.
// It is never more than what the quorum makes the client believe in.
func (p *parts) enough() int {
	return max(1, min(p.quorum, len(p.list)-p.quorum+1))
}

// taken reports whether the token may be on enough parts to be a lock.
func (p *parts) taken() bool { return p.count() >= p.enough() }

func (p *parts) count() (n int) {
	for _, one := range p.list {
		if one.ours {
			n++
		}
	}
	return n
}

// each does something with all parts, in turn or at the same time.
func (p *parts) each(parallel bool, do func(i int, one *part)) {
	if !parallel {
		for i, one := range p.list {
			do(i, one)
		}
		return
	}
	var wg sync.WaitGroup
	for i, one := range p.list {
		wg.Go(func() { do(i, one) })
	}
	wg.Wait()
}

// giveBack gives back the token on one part, if it is there. It returns what became of it.
func (p *parts) giveBack(ctx context.Context, one *part, token string) freed {
	was := one.ours
	n, err := p.release.Run(ctx, one.node, []string{one.Name}, token).Int64()
	f := freed{err: err, was: was}
	switch {
	case err == nil:
		one.ours = one.late
		f.did = n == 1
	case ScriptNotExecuted(err):
		f.untouched = true
	default:
		// It may have been deleted, or not.
	}
	return f
}

// freed is the outcome of giving back one part.
type freed struct {
	was       bool  // the part may have carried the token before
	did       bool  // it carried it, and it is gone
	untouched bool  // err proves that it was left as it was
	err       error // nil: the server answered
}

// released is the truth about the whole of a release, from the outcomes of all parts:
// nil when the token was on enough parts to be a lock and no longer is; ErrNotHeld when it
// was on fewer (the leftovers of a lost lock are removed, which keeps nobody out);
// ErrNoEffect when nothing was changed. Else it is unknown, with what the servers said.
func (p *parts) released(outcomes []freed) error {
	did, maybe, unknown := 0, 0, 0
	var errs []error
	for i, f := range outcomes {
		if f.err != nil {
			errs = append(errs, fmt.Errorf("%s on node %d: %w", p.list[i].Name, i+1, f.err))
		}
		switch {
		case f.did:
			did++
		case f.err != nil && f.was:
			maybe++
			if !f.untouched {
				unknown++
			}
		}
	}
	switch {
	case did >= p.enough() && !p.taken():
		return nil
	case did+maybe < p.enough():
		return ErrNotHeld
	}
	err := fmt.Errorf("freed on %d of %d, unknown on %d, left on %d", did, len(p.list), unknown, maybe-unknown)
	if why := errors.Join(errs...); why != nil { // nil: a late SET may still come
		err = fmt.Errorf("%w: %w", err, why)
	}
	return unchanged(did+unknown == 0, err)
}
