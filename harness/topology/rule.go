package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// rule is one direction of a cut: what comes from one address to another is dropped,
// whatever it is, also on connections that stand. It says whose it is in a comment, so
// that it can be told from anybody else's.
type rule struct {
	from, to string // IPv4 addresses
	owner    string // Owner of the harness that made it
	run      string // the run's id, as far as a comment can hold it
}

// notInComment is what iptables would quote or refuse in a comment.
var notInComment = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// newRule is our own rule.
func newRule(run, from, to string) rule {
	run = notInComment.ReplaceAllString(run, "-")
	return rule{from: from, to: to, owner: Owner(), run: run[:min(len(run), 100)]}
}

// comment is "picklock/<owner>/<run>"; iptables takes 256 bytes.
func (r rule) comment() string { return "picklock/" + r.owner + "/" + r.run }

// spec is the rule in the words of iptables, without its verb.
func (r rule) spec() []string {
	return []string{"INPUT", "-s", r.from, "-d", r.to, "-m", "comment", "--comment", r.comment(), "-j", "DROP"}
}

// ruleLine is how "iptables -v -S INPUT" lists such a rule.
var ruleLine = regexp.MustCompile(`^-A INPUT -s ([0-9.]+)/32 -d ([0-9.]+)/32 -m comment --comment "?picklock/([^/" ]+)/([^/" ]*)"? -c ([0-9]+) [0-9]+ -j DROP$`)

// parseRule reads such a line, and how many packets the rule has dropped. ok is false for
// every rule that is none of ours.
func parseRule(line string) (r rule, dropped int64, ok bool) {
	m := ruleLine.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || net.ParseIP(m[1]) == nil || net.ParseIP(m[2]) == nil {
		return rule{}, 0, false
	}
	dropped, err := strconv.ParseInt(m[5], 10, 64)
	return rule{from: m[1], to: m[2], owner: m[3], run: m[4]}, dropped, err == nil
}

// firewall makes and removes rules, one by one. run runs iptables where the rules belong;
// code is its exit code.
type firewall struct {
	run func(ctx context.Context, args ...string) (out string, code int, err error)
}

// do runs iptables; every exit code but those of fine is an error.
func (f firewall) do(ctx context.Context, fine []int, args ...string) (string, int, error) {
	// -w waits for who else changes rules, seconds long.
	out, code, err := f.run(ctx, append([]string{"-w", "10"}, args...)...)
	if err != nil {
		return "", 0, err
	}
	for _, c := range append(fine, 0) {
		if code == c {
			return out, code, nil
		}
	}
	return "", code, fmt.Errorf("iptables %s: exit code %d: %s", strings.Join(args, " "), code, strings.TrimSpace(out))
}

// noSuchRule is iptables' exit code for a rule that is not there.
const noSuchRule = 1

// has says whether the rule is there.
func (f firewall) has(ctx context.Context, r rule) (bool, error) {
	_, code, err := f.do(ctx, []int{noSuchRule}, append([]string{"-C"}, r.spec()...)...)
	return code == 0 && err == nil, err
}

// add puts the rule before all others, unless it is there.
func (f firewall) add(ctx context.Context, r rule) error {
	if has, err := f.has(ctx, r); has || err != nil {
		return err
	}
	_, _, err := f.do(ctx, nil, append([]string{"-I"}, r.spec()...)...)
	return err
}

// remove takes the rule away, if it is there.
func (f firewall) remove(ctx context.Context, r rule) error {
	if has, err := f.has(ctx, r); !has || err != nil {
		return err
	}
	// Where somebody was faster, it is gone as wanted.
	_, _, err := f.do(ctx, []int{noSuchRule}, append([]string{"-D"}, r.spec()...)...)
	return err
}

// rules lists those of ours, with how many packets each has dropped.
func (f firewall) rules(ctx context.Context) (map[rule]int64, error) {
	out, _, err := f.do(ctx, nil, "-v", "-S", "INPUT")
	if err != nil {
		return nil, err
	}
	rules := map[rule]int64{}
	for line := range strings.Lines(out) {
		if r, dropped, ok := parseRule(line); ok {
			rules[r] = dropped
		}
	}
	return rules, nil
}

// removeOf removes the rules of owners that match, and says how many.
func (f firewall) removeOf(ctx context.Context, match func(owner string) bool) (int, error) {
	rules, err := f.rules(ctx)
	if err != nil {
		return 0, err
	}
	removed := 0
	var errs []error
	for r := range rules {
		if !match(r.owner) {
			continue
		}
		if err := f.remove(ctx, r); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

// cut is the rule that drops what comes from one node to another.
func cut(run string, from, to Node) (rule, error) {
	source, _, err1 := net.SplitHostPort(from.Inside())
	target, _, err2 := net.SplitHostPort(to.Inside())
	if err := errors.Join(err1, err2); err != nil {
		return rule{}, err
	}
	if source == target {
		return rule{}, fmt.Errorf("%s and %s have one address", from.Name(), to.Name())
	}
	return newRule(run, source, target), nil
}
