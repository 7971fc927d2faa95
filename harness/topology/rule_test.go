package topology

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// memoryWall is a firewall in memory, in the words of iptables.
type memoryWall struct {
	t     *rapid.T
	lines []string // of foreign rules
	rules []rule
}

func (w *memoryWall) run(_ context.Context, args ...string) (string, int, error) {
	args = args[2:] // -w 10
	if args[0] == "-v" {
		lines := slices.Clone(w.lines)
		for _, r := range w.rules {
			lines = append(lines, listed(r, 7))
		}
		return strings.Join(lines, "\n"), 0, nil
	}
	i := slices.IndexFunc(w.rules, func(r rule) bool { return slices.Equal(r.spec(), args[1:]) })
	switch {
	case args[0] == "-I":
		r := rule{from: args[3], to: args[5]}
		_, rest, _ := strings.Cut(args[9], "/")
		r.owner, r.run, _ = strings.Cut(rest, "/")
		w.rules = append(w.rules, r)
	case i < 0:
		return "no such rule", noSuchRule, nil
	case args[0] == "-D":
		w.rules = slices.Delete(w.rules, i, i+1)
	case args[0] != "-C":
		w.t.Fatalf("iptables %q: no rule of ours needs that", args)
	}
	return "", 0, nil
}

// listed is how iptables 1.8 lists the rule with -v -S.
func listed(r rule, packets int) string {
	return "-A INPUT -s " + r.from + "/32 -d " + r.to + `/32 -m comment --comment "` + r.comment() +
		`" -c ` + string(rune('0'+packets)) + " 99 -j DROP"
}

func TestFirewallKeepsToItsOwnRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &memoryWall{t: t, lines: []string{
			"-P INPUT ACCEPT -c 1 2", "-A INPUT -i lo -c 1 2 -j ACCEPT",
			`-A INPUT -s 127.1.1.1/32 -d 127.1.1.2/32 -m comment --comment "somebody/else/x" -c 1 2 -j DROP`,
		}}
		f := firewall{run: w.run}
		ip := rapid.SampledFrom([]string{"127.1.1.1", "127.1.1.2", "127.2.2.2"})
		owner := rapid.SampledFrom([]string{"b:1:2:3", "b:9:2:3"})
		want := map[rule]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			r := newRule("a run/of \"mine\"", ip.Draw(t, "from"), ip.Draw(t, "to"))
			r.owner = owner.Draw(t, "owner")
			var err error
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0, 1:
				err = f.add(t.Context(), r)
				want[r] = true
			case 2:
				err = f.remove(t.Context(), r)
				delete(want, r)
			case 3:
				_, err = f.removeOf(t.Context(), func(o string) bool { return o == r.owner })
				for have := range want {
					if have.owner == r.owner {
						delete(want, have)
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.rules(t.Context())
			if err != nil || len(got) != len(want) || len(w.rules) != len(want) {
				t.Fatalf("rules: got %v (listed %v), %v; want %v: each once", w.rules, got, err, want)
			}
			for r := range want {
				if got[r] != 7 {
					t.Fatalf("rule %v: got %d dropped packets, want the 7 that are listed", r, got[r])
				}
			}
		}
	})
}

func TestCommentFitsIptables(t *testing.T) {
	r := newRule(strings.Repeat("a b\"'/\n", 100), "127.1.1.1", "127.1.1.2")
	if c := r.comment(); len(c) > 255 || strings.ContainsAny(c, " \"'\n") || strings.Count(c, "/") != 2 {
		t.Errorf("comment: got %q (%d bytes), want at most 255 without quotes, and two slashes", c, len(c))
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add(listed(newRule("run", "127.1.1.1", "127.1.1.2"), 3))
	f.Add(`-A INPUT -s 127.1.1.1/32 -d 127.1.1.2/32 -m comment --comment picklock/a/b -c 0 0 -j DROP`)
	f.Add(`-A INPUT -s 127.1.1.1/32 -j DROP`)
	f.Fuzz(func(t *testing.T, line string) {
		r, dropped, ok := parseRule(line)
		if !ok {
			return
		}
		if dropped < 0 || r.owner == "" || !strings.Contains(line, r.from) || !strings.Contains(line, r.to) || !strings.Contains(line, "picklock/") {
			t.Errorf("parseRule(%q): got %+v, %d: not what the line says", line, r, dropped)
		}
	})
}

func TestProbeIsReadFromTheList(t *testing.T) {
	r := newRule("run", "127.1.1.1", "127.1.1.2")
	probe := func(from, count string) string {
		return "-A INPUT -s " + from + "/32 -d 127.1.1.2/32 -p udp -m udp --dport 6379 -c " + count + " 37\n"
	}
	for name, tc := range map[string]struct {
		list             string
		dropped, arrived int64
	}{
		"nothing yet":            {probe("127.1.1.1", "0"), 0, 0},
		"arrived":                {probe("127.1.1.1", "2"), 0, 2},
		"another's probe":        {probe("127.1.1.3", "2"), 0, 0},
		"dropped":                {listed(r, 4) + "\n" + probe("127.1.1.1", "0"), 4, 0},
		"dropped on another way": {listed(newRule("run", "127.1.1.2", "127.1.1.1"), 4) + "\n" + probe("127.1.1.1", "1"), 0, 1},
		"another run's rule":     {listed(newRule("walk", "127.1.1.1", "127.1.1.2"), 4), 0, 0},
	} {
		if dropped, arrived := r.seen(tc.list); dropped != tc.dropped || arrived != tc.arrived {
			t.Errorf("%s: got %d dropped, %d arrived; want %d, %d", name, dropped, arrived, tc.dropped, tc.arrived)
		}
	}
}
