package wire

import (
	"context"
	"slices"
	"sync"

	"picklock/harness/history"
)

// Active is a rule in force.
type Active struct {
	rule  Rule
	proxy *Proxy

	mu   sync.Mutex
	seen int // frames that matched, up to Skip
	hits int
	gone bool
}

// Add puts a rule into force: for the frames that are read, or held by an earlier rule,
// from now on. A frame of which parts have gone on already is none of its business.
func (p *Proxy) Add(r Rule) *Active {
	a := &Active{rule: r, proxy: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	rules := append(slices.Clone(*p.rules.Load()), a)
	p.rules.Store(&rules)
	return a
}

// Remove takes the rule out of force. Frames that it holds stay held until its Do returns.
func (a *Active) Remove() {
	a.mu.Lock()
	a.gone = true
	a.mu.Unlock()
	a.proxy.drop(a)
}

// Hits counts the frames that the rule has acted on: those that its Do was called for,
// also if it has not returned.
func (a *Active) Hits() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hits
}

// drop takes a rule off the list that connections go through.
func (p *Proxy) drop(a *Active) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rules := slices.DeleteFunc(slices.Clone(*p.rules.Load()), func(b *Active) bool { return a == b })
	p.rules.Store(&rules)
}

// claim counts a frame that matches, and says whether the rule acts on it.
func (a *Active) claim() bool {
	a.mu.Lock()
	limit := a.rule.Limit
	switch {
	case a.gone:
	case a.seen < a.rule.Skip:
		a.seen++
	case limit == 0 || a.hits < limit:
		a.hits++
		last := a.hits == limit
		a.mu.Unlock()
		if last {
			a.proxy.drop(a)
		}
		return true
	}
	a.mu.Unlock()
	return false
}

// about says whether the rule is about a direction of a connection at all.
func (m *Match) about(client int, node string, side Side) bool {
	return (m.Both || m.Side == side) && m.on(client, node)
}

// on says whether the match is about a client's connections to a node.
func (m *Match) on(client int, node string) bool {
	return (m.Clients == nil || slices.Contains(m.Clients, client)) && (m.Nodes == nil || slices.Contains(m.Nodes, node))
}

// named says whether the match is about frames of this command.
func (m *Match) named(c Command) bool {
	return m.Commands == nil || slices.ContainsFunc(m.Commands, func(want Command) bool { return want.Means(c) })
}

// Means says whether the command that is wanted means another. Those that run scripts
// mean each other.
func (want Command) Means(c Command) bool {
	if family(want.Name) != family(c.Name) {
		return false
	}
	return want.Script == "" || want.Script == c.Script
}

func family(name string) string {
	switch name {
	case "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		return "EVAL"
	case "FCALL_RO":
		return "FCALL"
	}
	return name
}

// sieve keeps the rules that are about one direction of one connection.
type sieve struct {
	proxy  *Proxy
	client int
	node   string
	side   Side

	all  *[]*Active // what mine was picked from
	mine []*Active
}

// inForce are the rules for this direction, in the order of their being added.
func (s *sieve) inForce() []*Active {
	all := s.proxy.rules.Load()
	if all != s.all {
		s.all, s.mine = all, nil
		for _, a := range *all {
			if a.rule.about(s.client, s.node, s.side) {
				s.mine = append(s.mine, a)
			}
		}
	}
	return s.mine
}

// wants says whether any rule may act on frames of this command.
func (s *sieve) wants(c Command) bool {
	for _, a := range s.inForce() {
		if a.rule.named(c) {
			return true
		}
	}
	return false
}

// judging is how a verdict came to be.
type judging struct {
	fault int   // of the rule that decided, or else of the one that kept the frame back longest
	held  int64 // ns: so long that one did
}

// judge asks the rules about a frame, after ready, which is called once and only when
// there is one to ask.
func (s *sieve) judge(ctx context.Context, f *Frame, ready func()) (v Verdict, how judging) {
	for _, a := range s.inForce() {
		if !a.rule.named(f.Command) || !a.claim() {
			continue
		}
		if ready != nil {
			ready()
			ready = nil
		}
		began := history.Now()
		v = a.rule.Do(ctx, *f)
		if v != (Verdict{}) {
			return v, judging{fault: a.rule.Fault}
		}
		if held := history.Now() - began; held > how.held {
			how = judging{a.rule.Fault, held}
		}
	}
	return v, how
}
