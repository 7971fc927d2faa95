package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// given writes a schedule of one fault and returns the arguments that name it.
func given(t *testing.T, fault string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "schedule.yaml")
	if err := os.WriteFile(path, []byte("faults: [{"+fault+"}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return "run --schedule " + path
}

// TestBadInput: one clear line on stderr that says what is wrong and what would be
// right, status 254, and nothing begun.
func TestBadInput(t *testing.T) {
	t.Parallel()
	prose := filepath.Join(t.TempDir(), "prose")
	if err := os.WriteFile(prose, []byte("no history at all\n"), 0o644); err != nil {
		t.Fatal(err)
	}
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

		{"a lock on a topology of others", "run --topology redlock --lock uuid-lua", nil, []string{"uuid-lua", "redlock", "single, failover"}},
		{"several keys on a primary that changes", "run --topology failover --lock multilock", nil, []string{"multilock", "failover", "redlock"}},
		{"a quorum that there is not", "run --topology redlock --lock redlock:quorum=7", nil, []string{"quorum", "majority, 2, 3", `"7"`}},
		{"an option that a lock has not", "run --topology redlock --lock redlock:quorm=3", nil, []string{`"quorm"`, "quorum"}},
		{"an option without a value", "run --lock uuid-lua:retry", nil, []string{"name=value", `"retry"`}},
		{"an option that a deduction has not", "run --deduct lua:x=1", nil, []string{`"x"`, "retry"}},
		{"replicas of nobody", "run --replicas 2", nil, []string{"--replicas", "single"}},
		{"nodes of nothing", "run --nodes 3", nil, []string{"--nodes", "single"}},
		{"too many replicas", "run --topology failover --replicas 9", nil, []string{"--replicas", "1 to 8", "9"}},
		{"an even number of nodes", "run --topology redlock --lock redlock --nodes 4", nil, []string{"--nodes", "3 or 5", "4"}},
		{"an unknown server", "run --server redis:9.9", nil, []string{"redis:9.9", "valkey:8"}},
		{"a server that is not in PATH", "run --server valkey:8 --runtime process --nemesis none", nil, []string{"valkey:8", "--runtime docker"}},
		{"a line that is picklock's", "run --config port=1", nil, []string{"--config", "redis.conf"}},
		{"a storm with another", "run --nemesis storm,kill-node", nil, []string{"storm"}},
		{"a fault that takes replicas", "run --nemesis partition-replica", nil, []string{"partition-replica", "--replicas 1"}},
		{"a fault that takes parameters", "run --nemesis misconfigure-client", nil, []string{"misconfigure-client", "schedule"}},

		{"a schedule that is not there", "run --schedule no-such.yaml", nil, []string{"no-such.yaml"}},
		{"a schedule that is a folder", "run --schedule .", nil, []string{"schedule", "directory"}},
		{"an empty schedule", "run --schedule " + file, nil, []string{"no faults", "kind: kill-client"}},
		{"a schedule that is no YAML", given(t, "kind: [}"), nil, []string{"schedule.yaml", "[1:"}},
		{"a schedule with an unknown field", given(t, "kind: kill-client, att: 1s"), nil, []string{"schedule.yaml", `"att"`}},
		{"a schedule with a time without unit", given(t, "kind: kill-client, at: 1"), nil, []string{"schedule.yaml", `"1.5s"`}},
		{"a schedule with an unknown kind", given(t, "kind: kil-client"), nil, []string{`"kil-client"`, `"kill-client"`}},
		{"a schedule with an unknown client", given(t, "kind: kill-client, target: client-77"), nil, []string{"fault 1", "client-77", "client-4"}},
		{"a schedule with an unknown node", given(t, "kind: kill-node, target: lock-9"), nil, []string{"fault 1", "lock-9", "touch: lock"}},
		{"a schedule that touches the stock", given(t, "kind: kill-node, target: stock"), nil, []string{"fault 1", `"stock"`, "touch: lock"}},
		{"a schedule with an unknown step", given(t, "kind: drop-reply, on: after relese"), nil, []string{"fault 1", `"relese"`}},
		{"a schedule with an unknown trigger", given(t, "kind: kill-client, on: someday"), nil, []string{"fault 1", `"someday"`, "granted"}},
		{"a schedule with an unknown parameter", given(t, "kind: kill-node, with: {restrt: never}"), nil, []string{"fault 1", "restrt"}},
		{"a schedule with a wrong parameter", given(t, "kind: kill-node, with: {restart: often}"), nil, []string{"fault 1", "restart", "delayed"}},
		{"a schedule that waits for itself", given(t, "kind: kill-node, after: 1"), nil, []string{"1"}},
		{"a schedule without room", given(t, "kind: kill-client, at: 14s, for: 5s"), nil, []string{"15s", "at least", "22s"}},
		{"a schedule that the topology cannot bear", given(t, "kind: failover"), nil, []string{"failover", "--replicas 1"}},
		{"a schedule and a nemesis", given(t, "kind: kill-client") + " --nemesis kill-node", nil, []string{"--schedule", "--nemesis"}},

		{"an address without a port", "run --addr nonsense", nil, []string{"--addr", "host:port", "nonsense"}},
		{"an address with too large a port", "run --addr 127.0.0.1:99999", nil, []string{"--addr", "host:port", "99999"}},
		{"an address without a host", "run --addr :6379", nil, []string{"--addr", "host:port", ":6379"}},
		{"an address where nobody is", "run --addr 127.0.0.1:1 --nemesis none", nil, []string{"--addr", "127.0.0.1:1", "refused"}},
		{"another's server killed", "run --addr 127.0.0.1:1 --nemesis kill-node", nil, []string{"kill-node", "not picklock's"}},
		{"another's server killed by schedule", given(t, "kind: kill-node") + " --addr 127.0.0.1:1", nil, []string{"kill-node", "not picklock's"}},
		{"another's Sentinels", "run --addr 127.0.0.1:1 --topology failover", nil, []string{"--addr", "Sentinels"}},
		{"too many addresses", "run --addr 127.0.0.1:1 --addr 127.0.0.1:2", nil, []string{"2 times", "redlock"}},
		{"too few addresses", "run --topology redlock --lock redlock --addr 127.0.0.1:1", nil, []string{"1 times", "5 nodes"}},
		{"another's server in Docker", "run --addr 127.0.0.1:1 --runtime docker", nil, []string{"--runtime", "--addr"}},
		{"another's server configured", "run --addr 127.0.0.1:1 --config maxmemory=1", nil, []string{"--config"}},
		{"a user of nothing", "run --user me", nil, []string{"--user", "--addr"}},
		{"TLS with nobody", "run --tls", nil, []string{"--tls", "--addr"}},
		{"a user without a password", "run --addr 127.0.0.1:1 --user me", nil, []string{"--user", "--password-file", "PICKLOCK_PASSWORD"}},
		{"a password that is nowhere", "run --addr 127.0.0.1:1 --password-file no-such", nil, []string{"--password-file", "no-such"}},
		{"a certificate that is none", "run --addr 127.0.0.1:1 --tls-ca " + file, nil, []string{"--tls-ca", "PEM"}},
		{"a certificate without its key", "run --addr 127.0.0.1:1 --tls-cert " + file, nil, []string{"--tls-cert", "--tls-key"}},

		{"rerun of nothing", "rerun", nil, []string{"rerun"}},
		{"rerun of a folder that is not there", "rerun no/such/folder", nil, []string{"no/such/folder"}},
		{"scenario run of nothing", "scenario run", nil, []string{"scenario"}},
		{"an unknown scenario", "scenario run misdelet", nil, []string{`"misdelet"`, `"misdelete"`}},
		{"a scenario of a word", "scenario show", nil, []string{"scenario"}},
		{"no runs of a scenario", "scenario run all --repeat 0", nil, []string{"--repeat"}},

		{"check of nothing", "check", nil, []string{"check"}},
		{"check of a folder that is not there", "check no/such/folder", nil, []string{"no/such/folder"}},
		{"check of a folder that is no test", "check .", nil, []string{"test.json"}},
		{"check by nobody", "check --checker quick .", nil, []string{"--checker", "fast, porcupine, both", `"quick"`}},
		{"run with a checker that is none", "run --checker quick", nil, []string{"--checker", "fast, porcupine, both"}},
		{"a form that is none", "check --format xml --model mutex " + file, nil, []string{"--format", "edn, jsonl, porcupine"}},
		{"a form without a model", "check --format edn " + file, nil, []string{"--model", "owner-mutex"}},
		{"a model that is none", "check --format edn --model mutx " + file, nil, []string{"mutx", "owner-mutex"}},
		{"a model without a form", "check --model mutex " + file, nil, []string{"--model", "--format"}},
		{"permits of no number", "check --format edn --model permits " + file, nil, []string{"permits"}},
		{"a file that is no EDN", "check --format edn --model mutex " + prose, nil, []string{prose + ":1: "}},
		{"a file that is not there", "check --format edn --model mutex no-such", nil, []string{"no-such"}},
		{"two checkers of a file", "check --checker both --format edn --model mutex " + file, nil, []string{"--checker", "--format"}},
		{"no time to check", "check --format edn --model mutex --check-timeout 0s " + file, nil, []string{"--check-timeout"}},
		{"export of no test", "export .", nil, []string{"test.json"}},
		{"export in a form that is none", "export --format xml .", nil, []string{"--format", "edn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, tmp := t.TempDir(), t.TempDir()
			r := picklock(t, dir, append(c.env, "TMPDIR="+tmp), strings.Fields(c.args)...)
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
			if left := entries(t, filepath.Join(dir, "store", "*")); len(left) > 0 {
				t.Errorf("the store keeps what never began: %v", left)
			}
			nothingLeft(t, tmp)
		})
	}
}

// A line of the configuration that only the server can judge is the caller's all the same.
func TestServerRefusesItsConfiguration(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"process", "docker"} {
		dir, tmp := t.TempDir(), t.TempDir()
		r := picklock(t, dir, []string{"TMPDIR=" + tmp}, "run", "--runtime", runtime, "--nemesis", "none", "--config", "maxmem 1gb")
		if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "maxmem") || !strings.Contains(r.stderr, "Bad directive") {
			t.Errorf("%s: want status 254 and one line that quotes the server: %s", runtime, r)
		}
		if left := entries(t, filepath.Join(dir, "store", "*")); len(left) > 0 {
			t.Errorf("%s: the store keeps what never began: %v", runtime, left)
		}
		nothingLeft(t, tmp)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for list, has := range map[string][]string{
		"locks":       {"setex-del", "uuid-lua", "S0", "under pause-client violates ownership"},
		"deductions":  {"read-write", "hincrby", "needs mutual exclusion", "right without any lock"},
		"topologies":  {"single", "failover", "redlock"},
		"servers":     {"redis:7.0", "redis:8.0", "valkey:8"},
		"nemeses":     {"none", "pause-client", "kill-client", "pause-node", "kill-node", "storm"},
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
	t.Parallel()
	for args, has := range map[string]string{"version": "picklock", "--help": "Exit status", "run --help": "default", "completion bash": "picklock"} {
		if r := picklock(t, t.TempDir(), nil, strings.Fields(args)...); r.status != 0 || !strings.Contains(r.stdout, has) {
			t.Errorf("%s", r)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"lock": "uuid-lua", "deduct": "hincrby", "nemesis": "storm", "topology": "redlock",
		"runtime": "process", "reach": "published", "persistence": "everysec", "stock-on": "own"} {
		if r := picklock(t, t.TempDir(), nil, "__complete", "run", "--"+flag, ""); r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("--%s is not completed to %s: %s", flag, want, r)
		}
	}
}
