package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"picklock/harness"
)

// access are the flags that say how servers which are already there are reached.
type access struct {
	user, passwordFile string
	secure, skipVerify bool
	ca, cert, key      string
}

// passwordVariable holds the password where no file does: a flag would show it to
// everybody who lists the processes.
const passwordVariable = "PICKLOCK_PASSWORD"

func (a *access) flags(f *pflag.FlagSet, o *harness.Options) {
	f.StringArrayVar(&o.Addrs, "addr", nil, "host:port of a server that is already there; repeatable. Its keys stay under a prefix of the run, and no fault touches it")
	f.StringVar(&a.user, "user", "", "with --addr: the user to log in as")
	f.StringVar(&a.passwordFile, "password-file", "", "with --addr: file with the password (default: the variable "+passwordVariable+")")
	f.BoolVar(&a.secure, "tls", false, "with --addr: connect with TLS")
	f.StringVar(&a.ca, "tls-ca", "", "with --addr: file with the certificates to trust (implies --tls)")
	f.StringVar(&a.cert, "tls-cert", "", "with --addr: file with the client's certificate (implies --tls)")
	f.StringVar(&a.key, "tls-key", "", "with --addr: file with the client's key")
	f.BoolVar(&a.skipVerify, "tls-skip-verify", false, "with --addr: accept any certificate (implies --tls)")
}

// apply reads the files and checks that what was said goes together.
func (a *access) apply(f *pflag.FlagSet, o *harness.Options) error {
	if len(o.Addrs) == 0 {
		for _, name := range []string{"user", "password-file", "tls", "tls-ca", "tls-cert", "tls-key", "tls-skip-verify"} {
			if f.Changed(name) {
				return &flagError{fmt.Errorf("--%s is for servers that are already there: give --addr too", name)}
			}
		}
		return nil
	}
	for _, name := range []string{"runtime", "reach", "image", "persistence", "stock-on"} {
		if f.Changed(name) {
			return &flagError{fmt.Errorf("--%s is not possible with --addr: the servers are there already, and the stock is on the first", name)}
		}
	}
	o.Access.User, o.Access.Password = a.user, os.Getenv(passwordVariable)
	if a.passwordFile != "" {
		text, err := os.ReadFile(a.passwordFile)
		if err != nil {
			return &flagError{fmt.Errorf("--password-file: %w", err)}
		}
		o.Access.Password = strings.TrimRight(string(text), "\r\n")
	}
	if a.user != "" && o.Access.Password == "" {
		return &flagError{fmt.Errorf("--user needs a password: --password-file, or the variable %s", passwordVariable)}
	}
	return a.applyTLS(o)
}

func (a *access) applyTLS(o *harness.Options) error {
	if !a.secure && a.ca == "" && a.cert == "" && !a.skipVerify {
		return nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.skipVerify} // only where it was asked for
	if a.ca != "" {
		text, err := os.ReadFile(a.ca)
		if err != nil {
			return &flagError{fmt.Errorf("--tls-ca: %w", err)}
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return &flagError{fmt.Errorf("--tls-ca: %s has no certificate in PEM", a.ca)}
		}
	}
	if (a.cert == "") != (a.key == "") {
		return &flagError{fmt.Errorf("--tls-cert and --tls-key go together")}
	}
	if a.cert != "" {
		pair, err := tls.LoadX509KeyPair(a.cert, a.key)
		if err != nil {
			return &flagError{fmt.Errorf("--tls-cert: %w", err)}
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	o.Access.TLS = conf
	return nil
}
