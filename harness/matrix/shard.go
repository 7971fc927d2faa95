package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shard is a part of a matrix: the K-th of N. The zero value, and 1 of 1, are all of it.
type Shard struct{ K, N int }

// String is "3/8"; empty for all of the matrix.
func (s Shard) String() string {
	if s.N <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.K, s.N)
}

// counter is how one CI system tells a job which of several it is.
type counter struct {
	system, index, total string // names of variables; total empty: it does not say
	base                 int    // the index of the first job
}

// counters are those known, by their documentation.
func counters() []counter {
	return []counter{
		{"GitLab CI", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
		{"CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
		{"Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
		{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", 0},
		{"Cloud Run", "CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT", 0},
		{"Azure Pipelines", "SYSTEM_JOBPOSITIONINPHASE", "SYSTEM_TOTALJOBSINPHASE", 1},
		{"an indexed Job of Kubernetes", "JOB_COMPLETION_INDEX", "", 0},
	}
}

// ShardVariables names the variables that ParseShard looks at.
func ShardVariables() []string {
	var all []string
	for _, c := range counters() {
		all = append(all, c.index)
		if c.total != "" {
			all = append(all, c.total)
		}
	}
	return all
}

// ParseShard reads what --shard says: "" is all, "3/8" the third of eight parts, "auto" the
// part that the variables of a CI system name, and "/8" the index that they name, of
// eight parts. Without auto or /N no variable is looked at: one that is there by accident
// must not silently leave out seven eighths. An error wraps harness.ErrUsage.
func ParseShard(s string, getenv func(string) string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	if s == "auto" {
		return shardOf(0, getenv)
	}
	k, n, ok := strings.Cut(s, "/")
	total, err := strconv.Atoi(n)
	if !ok || err != nil || total < 1 {
		return Shard{}, wrongShard(s)
	}
	if k == "" {
		return shardOf(total, getenv)
	}
	index, err := strconv.Atoi(k)
	if err != nil || index < 1 || index > total {
		return Shard{}, wrongShard(s)
	}
	return Shard{index, total}, nil
}

func wrongShard(s string) error {
	return misuse("--shard is written 3/8 (the third of eight parts), auto, or /8 (the index from the environment), not %q", s)
}

// shardOf looks for the variables of a CI system; total is 0 where they must tell it.
func shardOf(total int, getenv func(string) string) (Shard, error) {
	var found Shard
	var by counter
	for _, c := range counters() {
		s, ok, err := c.read(total, getenv)
		if err != nil {
			return Shard{}, err
		}
		if !ok || c.total == "" && by.system != "" {
			continue // a job of another system that runs on Kubernetes
		}
		if by.system != "" && s != found {
			return Shard{}, misuse("the variables of %s say shard %d/%d, those of %s say %d/%d: write --shard K/N",
				by.system, found.K, found.N, c.system, s.K, s.N)
		}
		found, by = s, c
	}
	switch {
	case by.system != "":
		return found, nil
	case total == 0:
		return Shard{}, misuse("--shard auto finds no CI system that says which part this is and of how many (it looks for %s); write --shard 3/8, or /8 where only an index is set",
			strings.Join(ShardVariables(), ", "))
	}
	return Shard{}, misuse("--shard /%d finds no variable that says which part this is (it looks for %s)", total, strings.Join(ShardVariables(), ", "))
}

// read reads the system's variables; ok is false if they are not all there.
func (c counter) read(total int, getenv func(string) string) (s Shard, ok bool, err error) {
	index, of := getenv(c.index), ""
	if c.total != "" {
		of = getenv(c.total)
	}
	if index == "" {
		if of == "1" && total <= 1 {
			return Shard{1, 1}, true, nil // GitLab sets the total alone for a job that is not parallel
		}
		return s, false, nil
	}
	if of == "" && total == 0 {
		return s, false, nil
	}
	k, err := strconv.Atoi(index)
	if err != nil {
		return s, false, misuse("%s is %q, which is no number", c.index, index)
	}
	n := total
	if of != "" {
		if n, err = strconv.Atoi(of); err != nil {
			return s, false, misuse("%s is %q, which is no number", c.total, of)
		}
		if total > 0 && n != total {
			return s, false, misuse("--shard /%d, but %s is %d", total, c.total, n)
		}
	}
	s = Shard{k - c.base + 1, n}
	if s.K < 1 || s.K > s.N {
		return s, false, misuse("%s is %d, which is none of %d parts that count from %d", c.index, k, n, c.base)
	}
	return s, true, nil
}

// misuse is an error that wraps harness.ErrUsage.
func misuse(format string, args ...any) error { return &fileError{fmt.Sprintf(format, args...)} }

// Shard picks the runs of a part, so that all parts wait about as long: each run, the
// longest first, goes to the part that waits least so far. It is a pure function of plan and
// part; the parts are disjoint, and together they are the plan. A part without any run is
// an error that wraps harness.ErrUsage.
func (p *Plan) Shard(s Shard) ([]Job, error) {
	jobs := p.Jobs()
	if s.N <= 1 {
		return jobs, nil
	}
	if s.N > len(jobs) {
		return nil, misuse("%d shards are more than the matrix has runs (%d)", s.N, len(jobs))
	}
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(p.Rows[jobs[b].Row].Waits()/time.Millisecond) - int(p.Rows[jobs[a].Row].Waits()/time.Millisecond)
	})
	waits, mine := make([]time.Duration, s.N), make([]bool, len(jobs))
	for _, at := range order {
		least := 0
		for k, w := range waits {
			if w < waits[least] {
				least = k
			}
		}
		waits[least] += p.Rows[jobs[at].Row].Waits()
		mine[at] = least == s.K-1
	}
	var part []Job
	for i, j := range jobs {
		if mine[i] {
			part = append(part, j)
		}
	}
	return part, nil
}
