package topology_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

// certificate makes one for 127.0.0.1 that signs itself, and returns its files and a pool
// that trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "picklock test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, text := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust = x509.NewCertPool()
	trust.AppendCertsFromPEM(certPEM)
	return cert, key, trust
}

// userServer is a redis-server that is not picklock's, with TLS and a user.
func userServer(t *testing.T) (addr string, trust *x509.CertPool) {
	t.Helper()
	cert, key, trust := certificate(t)
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
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: trust})
		if err == nil {
			_ = c.Close()
			return addr, trust
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
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
