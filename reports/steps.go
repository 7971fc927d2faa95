package reports

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// steps puts the numbers of the story's steps where they happened, as far as a step
// names a time and a client: a help for the eye, so whatever does not is left out.
func (p *picture) steps() {
	taken, ofNodes := map[int][]float64{}, map[string][]float64{}
	for n, s := range p.v.Story {
		if t, l := p.placeNode(s); l != nil {
			x := free(p.x(t), ofNodes[l.node])
			ofNodes[l.node] = append(ofNodes[l.node], x)
			p.add(fmt.Sprintf(`<circle class="step" cx="%.1f" cy="%.1f" r="8.5"`, x, l.y+laneLow/2), s)
			p.text("step-text", x, l.y+laneLow/2+4, "middle", strconv.Itoa(n+1))
			continue
		}
		t, l := p.place(s)
		if l == nil {
			continue
		}
		x := free(p.x(t), taken[l.index])
		taken[l.index] = append(taken[l.index], x)
		p.add(fmt.Sprintf(`<line class="step-line" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, p.x(t), p.x(t), l.y+10, l.y+l.height/2), "")
		p.add(fmt.Sprintf(`<circle class="step" cx="%.1f" cy="%.1f" r="8.5"`, x, l.y+10), s)
		p.text("step-text", x, l.y+14, "middle", strconv.Itoa(n+1))
	}
}

// free finds the place nearest to x where a circle touches none of those that are there.
func free(x float64, taken []float64) float64 {
	const apart = 20
	for n := 0; ; n++ { // it ends: each circle blocks few of these places
		for _, at := range []float64{x + float64(n)*5, x - float64(n)*5} {
			if !slices.ContainsFunc(taken, func(t float64) bool { return math.Abs(t-at) < apart }) && at > picLeft-apart {
				return at
			}
		}
	}
}

// placeNode finds the first time in a step that begins with a node, and the node's lane.
func (p *picture) placeNode(s string) (int64, *roleLane) {
	time, node := stepTime.FindStringSubmatch(s), stepNode.FindStringSubmatch(s)
	if time == nil || node == nil {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(time[2], 64)
	t := p.ns(seconds)
	i := slices.IndexFunc(p.roles, func(l roleLane) bool { return l.node == node[1] })
	if err != nil || i < 0 || !p.seen(t, t) {
		return 0, nil
	}
	return t, &p.roles[i]
}

// place finds the first time in a step, and the lane of the client that it names.
func (p *picture) place(s string) (int64, *picLane) {
	time, who := stepTime.FindStringSubmatch(s), stepWho.FindStringSubmatch(s)
	if time == nil || who == nil {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(time[2], 64)
	t := p.ns(seconds)
	if err != nil || !p.seen(t, t) {
		return 0, nil
	}
	for i := range p.lanes {
		l := &p.lanes[i]
		at := p.d.Lanes[l.index]
		if l.involved && strconv.Itoa(at.Client) == who[1] && (who[2] == "" || strconv.Itoa(at.Worker) == who[2]) {
			return t, l
		}
	}
	return 0, nil
}

var (
	// stepTime finds moments, not durations: a number of seconds behind a word that points.
	stepTime = regexp.MustCompile(`\b(?:at|from|to|until|till|before|since|between|ended|ends) (?:about )?((\d+(?:\.\d+)?) s)\b`)
	stepNode = regexp.MustCompile(`^node (\S+) `)
	stepWho  = regexp.MustCompile(`[Cc]lient (\d+)(?:,? worker (\d+))?`)
)

// steps cuts each sentence of a story at the times that it names.
func steps(story []string) [][]part {
	out := make([][]part, len(story))
	for i, s := range story {
		for {
			at := stepTime.FindStringSubmatchIndex(s)
			if at == nil {
				break
			}
			out[i] = append(out[i], part{Text: s[:at[2]]}, part{Text: s[at[2]:at[3]], T: s[at[4]:at[5]]})
			s = s[at[3]:]
		}
		if s != "" {
			out[i] = append(out[i], part{Text: s})
		}
	}
	return out
}
