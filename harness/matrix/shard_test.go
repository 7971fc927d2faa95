package matrix

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/harness"
	"picklock/harness/store"
)

// plans draws plans of cells with time limits and seeds of their own.
func plans(most int) *rapid.Generator[*Plan] {
	return rapid.Custom(func(t *rapid.T) *Plan {
		p := &Plan{Name: "drawn"}
		for i := range rapid.IntRange(1, most).Draw(t, "cells") {
			test := harness.Defaults().Test
			test.Lock, test.Nemesis = "uuid-lua", nil
			test.TimeLimit = store.Duration(time.Duration(rapid.IntRange(1, 12).Draw(t, "limit")) * time.Second)
			r := Row{Cell: Cell{Lock: test.Lock, Deduct: test.Deduct, Topology: test.Topology, Variant: fmt.Sprintf("v%d", i)}, Test: test}
			first := uint64(rapid.IntRange(0, 9).Draw(t, "first"))
			for n := range rapid.IntRange(1, 4).Draw(t, "seeds") {
				r.Seeds = append(r.Seeds, first+uint64(n))
			}
			p.Rows = append(p.Rows, r)
		}
		p.Digest = p.digest()
		return p
	})
}

// TestShards: the parts of any plan are disjoint, together are the plan, wait about as long
// as each other, and are the same each time.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plans(40).Draw(t, "plan")
		n := rapid.IntRange(1, min(9, len(p.Jobs()))).Draw(t, "shards")
		in := map[Job]int{}
		var shortest, longest, largest time.Duration
		for k := 1; k <= n; k++ {
			part, err := p.Shard(Shard{k, n})
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := p.Shard(Shard{k, n}); fmt.Sprint(again) != fmt.Sprint(part) {
				t.Fatalf("shard %d/%d is %v, and the next time %v", k, n, part, again)
			}
			for _, j := range part {
				in[j]++
				largest = max(largest, p.Rows[j.Row].Waits())
			}
			w := p.Waiting(part)
			if k == 1 {
				shortest = w
			}
			shortest, longest = min(shortest, w), max(longest, w)
		}
		for _, j := range p.Jobs() {
			if in[j] != 1 {
				t.Fatalf("run %v is in %d shards", j, in[j])
			}
		}
		if len(in) != len(p.Jobs()) || longest-shortest > largest {
			t.Fatalf("%d runs in the shards of a plan of %d; they wait from %s to %s, and no run more than %s", len(in), len(p.Jobs()), shortest, longest, largest)
		}
	})
}

// TestJobsInTurn: every cell has its first run before any has its second.
func TestJobsInTurn(t *testing.T) {
	p := mustPlan(t, "name: m\ngroups:\n- {locks: [uuid-lua, setnx], nemeses: [none], seeds: 2}\n- {locks: [setex-del], nemeses: [none], seeds: 3}\n", Choices{})
	if got := fmt.Sprint(p.Jobs()); got != "[{0 1} {1 1} {2 1} {0 2} {1 2} {2 2} {2 3}]" {
		t.Errorf("runs %s", got)
	}
	if _, err := p.Shard(Shard{1, 8}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("eight shards of seven runs: %v, want wrong usage", err)
	}
}

func TestParseShard(t *testing.T) {
	env := func(pairs string) func(string) string {
		vars := map[string]string{}
		for _, p := range strings.Fields(pairs) {
			k, v, _ := strings.Cut(p, "=")
			vars[k] = v
		}
		return func(k string) string { return vars[k] }
	}
	for _, c := range []struct{ flag, env, want string }{
		{"", "CI_NODE_INDEX=2 CI_NODE_TOTAL=8", ""}, // an accidental variable leaves nothing out
		{"3/8", "CI_NODE_INDEX=2 CI_NODE_TOTAL=4", "3/8"},
		{"1/1", "", ""},
		{"auto", "CI_NODE_INDEX=1 CI_NODE_TOTAL=8", "1/8"},
		{"auto", "CI_NODE_INDEX=8 CI_NODE_TOTAL=8", "8/8"},
		{"auto", "CI_NODE_TOTAL=1", ""},
		{"auto", "CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=8", "1/8"},
		{"auto", "BUILDKITE_PARALLEL_JOB=7 BUILDKITE_PARALLEL_JOB_COUNT=8", "8/8"},
		{"auto", "AWS_BATCH_JOB_ARRAY_INDEX=2 AWS_BATCH_JOB_ARRAY_SIZE=8", "3/8"},
		{"auto", "CLOUD_RUN_TASK_INDEX=2 CLOUD_RUN_TASK_COUNT=8", "3/8"},
		{"auto", "SYSTEM_JOBPOSITIONINPHASE=3 SYSTEM_TOTALJOBSINPHASE=8", "3/8"},
		{"auto", "BUILDKITE_PARALLEL_JOB=2 BUILDKITE_PARALLEL_JOB_COUNT=8 JOB_COMPLETION_INDEX=0", "3/8"},
		{"auto", "CIRCLE_NODE_INDEX=2 CIRCLE_NODE_TOTAL=8 CI_NODE_INDEX=3 CI_NODE_TOTAL=8", "3/8"},
		{"/8", "JOB_COMPLETION_INDEX=2", "3/8"},
		{"/8", "CI_NODE_INDEX=3 CI_NODE_TOTAL=8", "3/8"},
		{"/8", "BUILDKITE_PARALLEL_JOB=2 BUILDKITE_PARALLEL_JOB_COUNT=8 JOB_COMPLETION_INDEX=0", "3/8"},

		{"auto", "", "error: CI_NODE_INDEX"},
		{"auto", "JOB_COMPLETION_INDEX=2", "error: /8"},
		{"auto", "CI_NODE_INDEX=9 CI_NODE_TOTAL=8", "error: CI_NODE_INDEX is 9"},
		{"auto", "CI_NODE_INDEX=0 CI_NODE_TOTAL=8", "error: count from 1"},
		{"auto", "CIRCLE_NODE_INDEX=8 CIRCLE_NODE_TOTAL=8", "error: count from 0"},
		{"auto", "CI_NODE_INDEX=x CI_NODE_TOTAL=8", `error: "x"`},
		{"auto", "CI_NODE_INDEX=1 CI_NODE_TOTAL=x", `error: "x"`},
		{"auto", "CI_NODE_INDEX=1 CI_NODE_TOTAL=8 CIRCLE_NODE_INDEX=5 CIRCLE_NODE_TOTAL=8", "error: write --shard K/N"},
		{"/8", "", "error: JOB_COMPLETION_INDEX"},
		{"/8", "JOB_COMPLETION_INDEX=8", "error: JOB_COMPLETION_INDEX is 8"},
		{"/4", "CI_NODE_INDEX=3 CI_NODE_TOTAL=8", "error: CI_NODE_TOTAL is 8"},
		{"0/8", "", `error: "0/8"`}, {"9/8", "", `error: "9/8"`}, {"3", "", `error: "3"`}, {"a/b", "", `error: "a/b"`}, {"/0", "", `error: "/0"`},
		{"3/8/2", "", `error: "3/8/2"`}, {"-1/8", "", `error: "-1/8"`},
	} {
		s, err := ParseShard(c.flag, env(c.env))
		if says, bad := strings.CutPrefix(c.want, "error: "); bad {
			if err == nil || !strings.Contains(err.Error(), says) || !errors.Is(err, harness.ErrUsage) {
				t.Errorf("--shard %q with %s: %v, %v; want wrong usage that says %q", c.flag, c.env, s, err, says)
			}
			continue
		}
		if err != nil || s.String() != c.want {
			t.Errorf("--shard %q with %s: %q, %v; want %q", c.flag, c.env, s, err, c.want)
		}
	}
}
