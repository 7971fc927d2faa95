package reports

import (
	"cmp"
	"fmt"
	"slices"

	"picklock/harness/history"
)

// maxRoleLanes is how many nodes a still picture has room for.
const maxRoleLanes = 4

// roleLane is the lane of a node in a still picture: what it was seen to be.
type roleLane struct {
	node  string
	spans []roleSpan
	y     float64
}

type roleSpan struct {
	from, to int64
	role     string
}

// chooseRoles takes the nodes whose role changed while the picture goes on, and those that
// were primary where another one became it: who was asked for the lock, and when. Where no
// role changed there are no lanes.
func (p *picture) chooseRoles() {
	all := map[string]*roleLane{}
	for _, r := range slices.SortedStableFunc(slices.Values(p.h.Roles), func(a, b history.Role) int { return cmp.Compare(a.Time, b.Time) }) {
		l := all[r.Node]
		if l == nil {
			l = &roleLane{node: r.Node}
			all[r.Node] = l
		} else if last := &l.spans[len(l.spans)-1]; last.role == r.Role {
			continue
		} else {
			last.to = r.Time
		}
		l.spans = append(l.spans, roleSpan{r.Time, p.h.End, r.Role})
	}
	promoted := false
	changed := func(l *roleLane) bool {
		return slices.ContainsFunc(l.spans[1:], func(s roleSpan) bool { return p.seen(s.from, s.from) })
	}
	primary := func(l *roleLane) bool {
		return slices.ContainsFunc(l.spans, func(s roleSpan) bool { return s.role == history.Primary && p.seen(s.from, s.to) })
	}
	for _, l := range all {
		promoted = promoted || slices.ContainsFunc(l.spans[1:], func(s roleSpan) bool { return s.role == history.Primary && p.seen(s.from, s.from) })
	}
	for _, l := range all {
		if changed(l) || promoted && primary(l) {
			p.roles = append(p.roles, *l)
		}
	}
	slices.SortFunc(p.roles, func(a, b roleLane) int {
		if x, y := primary(&a), primary(&b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.node, b.node)
	})
	p.roles = p.roles[:min(len(p.roles), maxRoleLanes)]
}

// roleLanes draws them: a bar while the node is primary, and words for all else.
func (p *picture) roleLanes() {
	for _, l := range p.roles {
		p.add(fmt.Sprintf(`<line class="rule" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"`, picWidth, l.y, l.y), "")
		p.text("lane-name", 2, l.y+laneLow/2+4, "start", fit("node "+l.node, picLeft-8))
		for _, s := range l.spans {
			if !p.seen(s.from, s.to) {
				continue
			}
			x1, x2 := p.x(s.from), max(p.x(s.to), p.x(s.from)+2)
			tip := fmt.Sprintf("node %s was seen as %s from %.3f s to %.3f s", l.node, clip(s.role), p.h.Seconds(s.from), p.h.Seconds(s.to))
			if s.role == history.Primary {
				p.add(fmt.Sprintf(`<rect class="role" x="%.1f" y="%.1f" width="%.1f" height="14"`, x1, l.y+laneLow/2-7, x2-x1), tip)
			} else {
				p.add(fmt.Sprintf(`<line class="role-line" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, x1, x1, l.y+laneLow/2-7, l.y+laneLow/2+7), tip)
			}
			if words := fit(s.role, x2-x1-24); words != "" {
				p.text("role-text", (x1+x2)/2, l.y+laneLow/2+4, "middle", words)
			}
		}
	}
}

// fit gives as much of a text as there is room for; nothing, where that would say nothing.
func fit(s string, width float64) string {
	r, most := []rune(clip(s)), int(width/charWidth)
	switch {
	case len(r) <= most:
		return string(r)
	case most < 4:
		return ""
	}
	return string(r[:most-1]) + "…"
}
