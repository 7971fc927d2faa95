package models

import (
	"fmt"
	"slices"
	"strings"

	"picklock/harness/history"
)

// This file has the words of the explanations: who, when, what fault was active, what
// was sold. Sentences name clients and workers, never processes, and give times in
// seconds since the load began.

// at tells a time.
func (r *record) at(t int64) string {
	if t == history.Never {
		return "the end"
	}
	return fmt.Sprintf("%.3f s", r.Seconds(t))
}

// between tells a stretch of time in which something happened.
func (r *record) between(from, to int64) string {
	if a, b := r.at(from), r.at(to); a != b {
		return "between " + a + " and " + b
	}
	return "at " + r.at(to)
}

// lasting tells a duration in ns.
func lasting(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

// who tells a worker.
func who(o *history.Operation) string {
	return fmt.Sprintf("client %d worker %d", o.Client, o.Worker)
}

// count tells a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// acquired tells how a hold began.
func (r *record) acquired(g *group) string {
	o := g.outer
	token := ""
	if o.Fence != 0 {
		token = fmt.Sprintf(" and fencing token %d", o.Fence)
	}
	switch {
	case o.Outcome == history.OutcomeOK && o.Validity > 0:
		return fmt.Sprintf("%s acquired %s at %s with a lease to %s%s", who(o), o.Object, r.at(o.Return), r.at(from(o)+o.Validity), token)
	case o.Outcome == history.OutcomeOK:
		return fmt.Sprintf("%s acquired %s at %s with a lease that has no end%s", who(o), o.Object, r.at(o.Return), token)
	case o.Outcome == history.OutcomeFail:
		return fmt.Sprintf("%s failed to acquire %s at %s but went on as if it had it", who(o), o.Object, r.at(o.Return))
	}
	return fmt.Sprintf("%s could not learn whether it acquired %s at %s and went on as if it had it", who(o), o.Object, r.at(o.Return))
}

// ended tells how a hold ended.
func (r *record) ended(h *hold) string {
	w := who(h.outer)
	switch h.how {
	case endsRelease:
		return fmt.Sprintf("%s kept it until %s, when it went to release it", w, r.at(h.to))
	case endsDeath:
		return fmt.Sprintf("%s kept it until client %d died at %s", w, h.outer.Client, r.at(h.to))
	case endsLoss:
		return fmt.Sprintf("%s kept it until it noticed its loss at %s", w, r.at(h.to))
	case endsLateNews:
		return fmt.Sprintf("%s kept it until a release told it at %s that it was lost", w, r.at(h.to))
	}
	return fmt.Sprintf("%s did not release it as long as the record goes", w)
}

// renewed tells of the renewals of a grant in a stretch of time; "": there were none.
func (r *record) renewed(g *group, s span) string {
	n, last := 0, int64(0)
	for _, x := range g.extends {
		if x.Outcome == history.OutcomeOK && x.Return >= s.from && x.Return <= s.to {
			n, last = n+1, from(x)+validity(g, x)
		}
	}
	if n == 0 || g.outer == nil {
		return ""
	}
	return fmt.Sprintf("%s renewed its lease %s, the last time to %s", who(g.outer), times(n), r.at(last))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// faults tells the faults that were active in a stretch of time and hit a node or one of
// the clients, and the nodes that became primary then.
func (r *record) faults(s span, clients ...int) []string {
	var out []string
	for i := range r.Faults {
		f := &r.Faults[i]
		if f.Start > s.to || f.End != 0 && f.End < s.from {
			continue
		}
		if f.Client >= 0 && f.Node == "" && !slices.Contains(clients, f.Client) {
			continue
		}
		out = append(out, r.fault(f))
	}
	for _, x := range r.promotions(s) {
		out = append(out, fmt.Sprintf("node %s became primary at %s", x.Node, r.at(x.Time)))
	}
	return out
}

// promotions are the changes of role in a stretch of time that made a node primary which
// had been something else.
func (r *record) promotions(s span) []history.Role {
	var out []history.Role
	seen := map[string]bool{}
	for _, x := range r.Roles {
		if x.Role == history.Primary && seen[x.Node] && x.Time >= s.from && x.Time <= s.to {
			out = append(out, x)
		}
		seen[x.Node] = true
	}
	return out
}

// fault tells one fault.
func (r *record) fault(f *history.Fault) string {
	target, was := f.Target, "was"
	several := strings.HasPrefix(target, "clients ") || strings.HasPrefix(target, "nodes ")
	if several {
		was = "were"
	} else if f.Client >= 0 && f.Node == "" {
		target = fmt.Sprintf("client %d", f.Client)
	}
	var s string
	end := "the end"
	if f.End != 0 {
		end = r.at(f.End)
	}
	switch {
	case f.Stays && !strings.HasPrefix(f.Kind, "kill-"):
		s = fmt.Sprintf("%s %s hit by %s at %s, which stayed", target, was, f.Kind, r.at(f.Start))
	case strings.HasPrefix(f.Kind, "pause-"):
		s = fmt.Sprintf("%s %s stopped from %s to %s (%s)", target, was, r.at(f.Start), end, f.Kind)
	case strings.HasPrefix(f.Kind, "kill-") && f.End != 0 && !f.Stays:
		s = fmt.Sprintf("%s %s killed at %s and back at %s (%s)", target, was, r.at(f.Start), end, f.Kind)
	case strings.HasPrefix(f.Kind, "kill-"):
		s = fmt.Sprintf("%s %s killed at %s and did not come back (%s)", target, was, r.at(f.Start), f.Kind)
	default:
		s = fmt.Sprintf("%s %s hit by %s from %s to %s", target, was, f.Kind, r.at(f.Start), end)
	}
	if !f.Landed {
		s += ", without proof that it landed"
	}
	return s
}

// level is what the deduction left, as its reply or else the ledger says; nil: unknown
// or nothing was written.
func (r *record) level(o *history.Operation) *int64 {
	if o.Left != nil {
		return o.Left
	}
	if e := r.entry(o.ID); e != nil {
		return &e.Left
	}
	return nil
}

// maxCollisions bounds the sentences about collided writes in one story.
const maxCollisions = 3

// collisions tells which deductions made under two grants sold the same unit, and which
// wrote over what others had written.
func (r *record) collisions(a, b *group) []string {
	var out []string
	type unit struct {
		sku  string
		left int64
	}
	units := map[unit]bool{}
	for _, o := range r.sold()[a.grant] {
		if l := r.level(o); l != nil && *l >= 0 {
			units[unit{o.Object, *l}] = true
		}
	}
	for _, o := range r.sold()[b.grant] {
		if l := r.level(o); l != nil && units[unit{o.Object, *l}] {
			out = append(out, fmt.Sprintf("both sold unit %d of %s", *l+1, o.Object))
		}
	}
	for _, g := range []*group{a, b} {
		for _, o := range r.sold()[g.grant] {
			for _, i := range r.entries(o.ID) {
				if e := &r.Ledger[i]; e.Basis != nil && *e.Basis != e.Found {
					out = append(out, r.overwrite(e))
				}
			}
		}
	}
	if n := len(out) - maxCollisions; n > 0 {
		out = append(out[:maxCollisions], fmt.Sprintf("and %d more of their writes collided", n))
	}
	return out
}

// overwrite tells what a write did that was computed from a level that had passed.
func (r *record) overwrite(e *history.LedgerLine) string {
	writer := fmt.Sprintf("operation %d", e.Op)
	if o := r.op(e.Op); o != nil {
		writer = who(o)
	}
	s := fmt.Sprintf("%s's write of %s, %d to %d, found %d", writer, e.Object, *e.Basis, e.Left, e.Found)
	if n := *e.Basis - e.Found; n > 0 {
		return fmt.Sprintf("%s: it overwrote %s made since it had read", s, count(int(n), "sale"))
	}
	return fmt.Sprintf("%s: somebody had put the stock up since it had read", s)
}

// sentences drops the empty ones and those told already.
func sentences(groups ...[]string) []string {
	var out []string
	for _, g := range groups {
		for _, s := range g {
			if s != "" && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}
