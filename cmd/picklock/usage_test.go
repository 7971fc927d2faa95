package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput: one clear line on stderr that says what is wrong and what would be
// right, status 254, and nothing begun.
func TestBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	noDocker := []string{"DOCKER_HOST=tcp://127.0.0.1:1"}
	for _, c := range []struct {
		name string
		args string
		env  []string
		says []string
	}{
		{"an unknown lock", "run --lock uid-lua", nil, []string{"uid-lua", `did you mean "uuid-lua"`}},
		{"a lock like no other", "run --lock zzzzzzzzzzzz", nil, []string{"zzzz", "uuid-lua"}},
		{"an unknown deduction", "run --deduct redwrite", nil, []string{`"read-write"`}},
		{"an unknown nemesis", "run --nemesis pause-clent", nil, []string{`"pause-client"`}},
		{"an unknown topology", "run --topology singel", nil, []string{`"single"`}},
		{"none with others", "run --nemesis none,kill-node", nil, []string{"none"}},
		{"TTL 0", "run --ttl 0s", nil, []string{"--ttl", "longer than 0"}},
		{"a negative TTL", "run --ttl -1s", nil, []string{"--ttl"}},
		{"a TTL without unit", "run --ttl 5", nil, []string{"--ttl", "unit"}},
		{"no clients", "run --clients 0", nil, []string{"--clients", "at least 1"}},
		{"negative workers", "run --workers -2", nil, []string{"--workers", "-2"}},
		{"negative stock", "run --stock -1", nil, []string{"--stock"}},
		{"negative SKUs", "run --skus -1", nil, []string{"--skus"}},
		{"a negative threshold", "run --min-sales -1", nil, []string{"--min-sales"}},
		{"a word for a number", "run --clients many", nil, []string{"--clients", "many"}},
		{"no such persistence", "run --persistence often", nil, []string{"everysec", "often"}},
		{"no such runtime", "run --runtime podman", nil, []string{"docker", "process"}},
		{"no such place for the stock", "run --stock-on moon", nil, []string{"own", "lock"}},
		{"a limit without room for the fault", "run --time-limit 3s --ttl 2s", nil, []string{"at least", "3s"}},
		{"an unknown flag", "run --lok x", nil, []string{"--lok"}},
		{"an argument too many", "run setnx", nil, []string{"flags only"}},
		{"an unknown command", "rnu", nil, []string{"rnu", `"run"`}},
		{"an unknown list", "list lock", nil, []string{`"lock"`, `"locks"`}},
		{"a store that is a file", "run --runtime process --nemesis none --store " + file, nil, []string{"--store", file}},
		{"Docker not answering", "run --runtime docker", noDocker, []string{"Docker", "--runtime process"}},
		{"an image that is nowhere", "run --runtime docker --nemesis none --image localhost/no-such-image:1", nil, []string{"no-such-image"}},
		{"check of nothing", "check", nil, []string{"check"}},
		{"check of a folder that is not there", "check no/such/folder", nil, []string{"no/such/folder"}},
		{"check of a folder that is no test", "check .", nil, []string{"test.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := picklock(t, dir, c.env, strings.Fields(c.args)...)
			if r.status != 254 {
				t.Errorf("status %d, want 254: %s", r.status, r)
			}
			if strings.Count(r.stderr, "\n") != 1 || !strings.HasSuffix(r.stderr, "\n") {
				t.Errorf("stderr is not one line: %q", r.stderr)
			}
			for _, s := range c.says {
				if !strings.Contains(r.stderr, s) {
					t.Errorf("the line does not say %q: %s", s, r.stderr)
				}
			}
			if left, err := filepath.Glob(filepath.Join(dir, "store", "*", "*", "history.jsonl")); err != nil || len(left) > 0 {
				t.Errorf("a test was begun: %v %v", left, err)
			}
		})
	}
}

func TestLists(t *testing.T) {
	for list, has := range map[string][]string{
		"locks":       {"setex-del", "uuid-lua", "S0", "under pause-client violates ownership"},
		"deductions":  {"read-write", "hincrby", "needs mutual exclusion", "right without any lock"},
		"topologies":  {"single"},
		"nemeses":     {"none", "pause-client", "kill-client", "pause-node", "kill-node"},
		"deductions ": {"local-var"},
	} {
		r := picklock(t, t.TempDir(), nil, "list", strings.TrimSpace(list))
		if r.status != 0 || r.stderr != "" {
			t.Fatalf("%s", r)
		}
		for _, s := range has {
			if !strings.Contains(r.stdout, s) {
				t.Errorf("list %s does not have %q: %s", list, s, r.stdout)
			}
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	for args, has := range map[string]string{"version": "picklock", "--help": "Exit status", "run --help": "default", "completion bash": "picklock"} {
		if r := picklock(t, t.TempDir(), nil, strings.Fields(args)...); r.status != 0 || !strings.Contains(r.stdout, has) {
			t.Errorf("%s", r)
		}
	}
}

func TestCompletion(t *testing.T) {
	for flag, want := range map[string]string{"lock": "uuid-lua", "deduct": "hincrby", "nemesis": "kill-node", "topology": "single",
		"runtime": "process", "reach": "published", "persistence": "everysec", "stock-on": "own"} {
		if r := picklock(t, t.TempDir(), nil, "__complete", "run", "--"+flag, ""); r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("--%s is not completed to %s: %s", flag, want, r)
		}
	}
}
