package main

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology/tlstest"
	"picklock/models"
)

// theirs is a server that is not picklock's: it was there before, has keys of its own,
// and stays.
type theirs struct {
	addr  string
	admin *redis.Client
	files map[string]string // of a server with TLS: ca, cert, key
	was   map[string]string // its keys and their values at first
	conf  map[string]string // its configuration at first
	stray func() []string   // keys seen since that are neither its own nor under a prefix of a run
}

const theirUser, theirPassword = "ann", "s3cret word"

// serve starts a server of somebody else. The user may touch no key but picklock's: the
// server itself refuses others.
func serve(t *testing.T, secure bool) *theirs {
	t.Helper()
	s := &theirs{addr: freeAddr(t)}
	host, port, _ := net.SplitHostPort(s.addr)
	args := []string{"--bind", host, "--save", "", "--dir", t.TempDir()}
	opts := &redis.Options{Addr: s.addr, MaxRetries: -1, DisableIdentity: true}
	if secure {
		s.files = certificates(t)
		args = append(args, "--port", "0", "--tls-port", port, "--tls-cert-file", s.files["cert"], "--tls-key-file", s.files["key"],
			"--tls-ca-cert-file", s.files["cert"], "--tls-auth-clients", "yes",
			"--user", "default", "off", "--user", "root", "on", ">root", "~*", "&*", "+@all",
			"--user", theirUser, "on", ">"+theirPassword, "~picklock:*", "&picklock:*", "+@all", "-@admin", "+info")
		pair, err := tls.LoadX509KeyPair(s.files["cert"], s.files["key"])
		if err != nil {
			t.Fatal(err)
		}
		opts.Username, opts.Password = "root", "root"
		opts.TLSConfig = &tls.Config{RootCAs: tlstest.Trust(t, s.files["cert"]), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	} else {
		args = append(args, "--port", port)
	}
	cmd := exec.Command("redis-server", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // the test is over
	s.admin = redis.NewClient(opts)
	t.Cleanup(func() { _ = s.admin.Close() })
	await(t, "an answer of their server", func() bool { return s.admin.Ping(t.Context()).Err() == nil })
	s.was = map[string]string{"lock": "theirs", "lock:sku-0": "theirs", "sku-0": "41", "stock:sku-0": "41", "picklock:x": "theirs", "other": "theirs"}
	for k, v := range s.was {
		if err := s.admin.Set(t.Context(), k, v, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.conf = s.configuration(t)
	s.stray = s.watchKeys(t)
	return s
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certificates are the files of one for server and clients, and of the password.
func certificates(t *testing.T) map[string]string {
	t.Helper()
	cert, key := tlstest.SelfSigned(t)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(theirPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"cert": cert, "key": key, "password": password}
}

func (s *theirs) configuration(t *testing.T) map[string]string {
	t.Helper()
	conf, err := s.admin.ConfigGet(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// keys lists all keys.
func (s *theirs) keys(ctx context.Context) ([]string, error) {
	all, err := s.admin.Keys(ctx, "*").Result()
	slices.Sort(all)
	return all, err
}

// watchKeys looks at the keys again and again, until what it returns is called.
func (s *theirs) watchKeys(t *testing.T) func() []string {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	found, looks := map[string]bool{}, 0
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			keys, err := s.keys(ctx)
			if err != nil {
				continue
			}
			looks++
			for _, k := range keys {
				if _, own := s.was[k]; !own {
					found[k] = true
				}
			}
		}
	})
	return func() []string {
		stop()
		done.Wait()
		if looks == 0 {
			t.Error("the keys were never seen")
		}
		return slices.Sorted(maps.Keys(found))
	}
}

// untouched demands that the server is as it was before the runs, that nobody is
// connected, and that all keys in between were under the prefix of one of them.
func (s *theirs) untouched(t *testing.T, runs ...string) {
	t.Helper()
	strays := s.stray()
	for _, k := range strays {
		if !slices.ContainsFunc(runs, func(run string) bool { return strings.HasPrefix(k, "picklock:"+run+":") }) {
			t.Errorf("key %q was written, which is not under the prefix of the run", k)
		}
	}
	if len(runs) > 0 && len(strays) == 0 {
		t.Error("no key of the run was ever seen: nothing was tested there")
	}
	keys, err := s.keys(t.Context())
	if want := slices.Sorted(maps.Keys(s.was)); err != nil || !slices.Equal(keys, want) {
		t.Errorf("its keys are %q (%v), want %q", keys, err, want)
	}
	for k, want := range s.was {
		if got := s.admin.Get(t.Context(), k).Val(); got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
	if conf := s.configuration(t); !maps.Equal(conf, s.conf) {
		t.Errorf("its configuration was changed")
	}
	await(t, "the end of all connections but ours", func() bool {
		list, err := s.admin.ClientList(t.Context()).Result()
		return err == nil && strings.Count(list, "\n") == strings.Count(list, "user=root")+strings.Count(list, "cmd=client|list user=default")
	})
}

// flags are those that reach the server.
func (s *theirs) flags() []string {
	if s.files == nil {
		return []string{"--addr", s.addr}
	}
	return []string{"--addr", s.addr, "--user", theirUser, "--password-file", s.files["password"],
		"--tls-ca", s.files["cert"], "--tls-cert", s.files["cert"], "--tls-key", s.files["key"]}
}

// TestTheirServer: a lock is tested on a server that is already there, by faults of
// clients and of the wire. Its other keys, its configuration and its clients are none of
// picklock's business, and nothing is left there, also after Ctrl-C.
func TestTheirServer(t *testing.T) {
	t.Parallel()
	args := strings.Fields("--lock uuid-lua --deduct lua --ttl 500ms --redis-timeout 200ms --grace 2s --think 20ms --clients 3 --seed 3")
	for name, secure := range map[string]bool{"plain": false, "user and TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir, tmp := serve(t, secure), t.TempDir(), t.TempDir()
			schedule := `faults:
- {kind: kill-client, at: 500ms, for: 200ms}
- {kind: partition-client, at: 1s, for: 700ms, after: 1, recovered: true}
- {kind: drop-reply, at: 1s, on: after release, after: 2, recovered: true}
- {kind: slow-node, for: 300ms, after: 3, recovered: true}
- {kind: pause-client, for: 700ms, after: 4, recovered: true}
- {kind: clock-client, after: 5, recovered: true}`
			r := picklock(t, dir, []string{"TMPDIR=" + tmp}, scheduled(t, dir, schedule, slices.Concat(args, s.flags(), []string{"--json", "--time-limit", "10s"})...)...)
			res := parse(t, r)
			if len(res.Faults) != 6 || res.Vacuous {
				t.Errorf("%d faults, vacuous because of %q; want 6\n%s", len(res.Faults), res.VacuousWhy, summary(res, r))
			}
			for _, f := range res.Faults {
				if !landedAndHealed(f) {
					t.Errorf("no proof: %+v", f)
				}
			}
			for _, id := range []models.Property{models.Ownership, models.LinearizableStock, models.NoOversell, models.Liveness} {
				if p := res.Properties[id]; p == nil || p.Verdict != models.Valid {
					t.Errorf("%s is %+v\n%s", id, p, summary(res, r))
				}
			}
			for _, path := range []string{"test.json", "harness.log", "results.json", "history.jsonl"} {
				if strings.Contains(read(t, latestIn(dir).Path(path)), theirPassword) {
					t.Errorf("%s tells the password", path)
				}
			}

			b := begin(t, t.TempDir(), slices.Concat([]string{"run"}, args, s.flags(), []string{"--nemesis", "partition-client", "--time-limit", "20s"})...)
			b.awaitRecord(`"fault-start"`)
			if status := b.end(os.Interrupt); status != 130 {
				t.Errorf("status %d after Ctrl-C, want 130: %s", status, b.errs.String())
			}

			refused := picklock(t, dir, []string{"TMPDIR=" + tmp}, slices.Concat([]string{"run"}, args, s.flags(), []string{"--nemesis", "flush"})...)
			if refused.status != 254 || !strings.Contains(refused.stderr, "not picklock's") {
				t.Errorf("flush of their server: %s", refused)
			}
			nothingLeft(t, b.tmp)
			nothingLeft(t, tmp)
			s.untouched(t, append(runsIn(t, dir), runsIn(t, b.dir)...)...)
		})
	}
}

// TestTheirServers: several servers that are already there make a redlock.
func TestTheirServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := strings.Fields("--topology redlock --nodes 3 --lock redlock --deduct lua --ttl 800ms --redis-timeout 100ms --nemesis partition-client --time-limit 7s --clients 3 --seed 3")
	var all []*theirs
	for range 3 {
		s := serve(t, false)
		all, args = append(all, s), append(args, s.flags()...)
	}
	res, r := judged(t, dir, args...)
	if res.Vacuous || len(res.Faults) == 0 || res.Properties[models.LeaseExclusion].Verdict != models.Valid {
		t.Errorf("%s", summary(res, r))
	}
	for _, s := range all {
		s.untouched(t, runsIn(t, dir)...)
	}
}

// TestTheirServerRefuses: a password that is wrong is told as such, in one line, and
// nothing is begun.
func TestTheirServerRefuses(t *testing.T) {
	t.Parallel()
	s, dir := serve(t, true), t.TempDir()
	flags := slices.Concat([]string{"run", "--nemesis", "none"}, s.flags(), []string{"--password-file", s.files["key"]})
	r := picklock(t, dir, nil, flags...)
	if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "WRONGPASS") {
		t.Errorf("%s", r)
	}
	if left := entries(t, filepath.Join(dir, "store", "*")); len(left) > 0 {
		t.Errorf("the store keeps what never began: %v", left)
	}
	s.untouched(t)
}
