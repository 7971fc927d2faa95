package topology_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
	"picklock/harness/topology/tlstest"
)

// userServer is a redis-server that is not picklock's, with TLS and a user.
func userServer(t *testing.T) (addr string, trust *x509.CertPool) {
	t.Helper()
	cert, key := tlstest.SelfSigned(t)
	trust = tlstest.Trust(t, cert)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = l.Close()
	cmd := exec.Command("redis-server", "--port", "0", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-auth-clients", "no", "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
		"--user", "default", "off", "--user", "ann", "on", ">secret", "~*", "&*", "+@all")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "the server answers", func() bool {
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: trust})
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return addr, trust
}

func given(t *testing.T, a topology.Access) (topology.Cluster, error) {
	t.Helper()
	return topology.NewGiven(a).Start(t.Context(), topology.Plan{
		Run: "given", Nodes: []topology.NodeSpec{{Name: "lock", Persistence: topology.PersistNone}}, Dir: t.TempDir(),
	})
}

func TestGivenServerIsReachedWithTLSAndPassword(t *testing.T) {
	addr, trust := userServer(t)
	c, err := given(t, topology.Access{Addrs: []string{addr}, User: "ann", Password: "secret", TLS: &tls.Config{RootCAs: trust}})
	if err != nil {
		t.Fatal(err)
	}
	n := c.Nodes()[0]
	r := redis.NewClient(&redis.Options{Addr: n.Addr()})
	defer r.Close()
	if err := r.Set(t.Context(), "k", strings.Repeat("x", 1<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Get(t.Context(), "k").Result(); err != nil || len(got) != 1<<20 {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	for what, do := range map[string]func(context.Context) error{"kill": n.Kill, "pause": n.Pause, "start": n.Start} {
		if err := do(t.Context()); !errors.Is(err, topology.ErrNotOurs) {
			t.Errorf("%s: %v, want ErrNotOurs", what, err)
		}
	}
	if s, proof, err := n.State(t.Context()); err != nil || s != topology.Running {
		t.Errorf("state %s, %s, %v", s, proof, err)
	}
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Ping(t.Context()).Err(); err == nil {
		t.Error("the gate is open after Close")
	}
}

func TestGivenServerThatRefuses(t *testing.T) {
	addr, trust := userServer(t)
	for name, a := range map[string]topology.Access{
		"refuses the password": {Addrs: []string{addr}, User: "ann", Password: "wrong", TLS: &tls.Config{RootCAs: trust}},
		"certificate":          {Addrs: []string{addr}, User: "ann", Password: "secret", TLS: &tls.Config{}},
		"127.0.0.1:1":          {Addrs: []string{"127.0.0.1:1"}, Password: "x"},
	} {
		c, err := given(t, a)
		if err == nil {
			_ = c.Close(t.Context())
			t.Fatalf("%s: it was reached", name)
		}
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not tell of %q", err, name)
		}
	}
}
