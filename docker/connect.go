package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// ErrNoDocker says that no Docker engine answers.
var ErrNoDocker = errors.New("docker does not answer")

// answerTimeout bounds the wait for the engine's first answer.
const answerTimeout = 2 * time.Second

// reaperEnv is the only switch of testcontainers' reaper; it is read once per process.
const reaperEnv = "TESTCONTAINERS_RYUK_DISABLED"

// Connect finds the engine as testcontainers finds it (DOCKER_HOST, the docker context,
// the usual sockets), so that both speak to the same one, and asks it for an answer. After
// two seconds without one the error wraps ErrNoDocker. The API version is negotiated.
// The caller closes the client.
func Connect(ctx context.Context) (*client.Client, error) {
	if err := withoutReaper(); err != nil {
		return nil, err
	}
	asked, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	// testcontainers passes over a DOCKER_HOST that does not answer and takes the next
	// engine that it finds. Who names an engine means that one.
	if os.Getenv(client.EnvOverrideHost) != "" {
		named, err := client.New(client.FromEnv)
		if err != nil {
			return nil, noDocker(ctx, err)
		}
		defer named.Close()
		if _, err := named.Ping(asked, client.PingOptions{}); err != nil {
			return nil, noDocker(ctx, err)
		}
	}
	c, err := find(asked)
	if err != nil {
		return nil, noDocker(ctx, err)
	}
	if _, err := c.Ping(asked, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		_ = c.Close() // it was never used: there is nothing that could be lost
		return nil, noDocker(ctx, err)
	}
	return c, nil
}

// find lets testcontainers find the engine. Where an engine answers the first question
// and not the second, testcontainers panics: here that is an error like the others.
func find(ctx context.Context) (c *client.Client, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("look for the engine: %v", p)
		}
	}()
	found, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, err
	}
	return found.Client, nil
}

// noDocker tells an engine that does not answer from a caller who gave up.
func noDocker(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("connect to docker: %w", ctx.Err())
	}
	// Several places were tried, one line each: an error is one line.
	why := strings.Join(strings.Fields(err.Error()), " ")
	return fmt.Errorf("%w: %s", ErrNoDocker, why)
}

// withoutReaper turns testcontainers' reaper off for this process, unless somebody
// decided otherwise: a set environment variable is obeyed, and so is a configuration that
// was read before. The reaper's image may be out of reach, and leftovers are swept by
// their labels anyhow. The variable is unset again, so that child processes do not
// inherit the choice.
func withoutReaper() error {
	if _, set := os.LookupEnv(reaperEnv); set {
		return nil
	}
	if err := os.Setenv(reaperEnv, "true"); err != nil {
		return fmt.Errorf("turn the reaper off: %w", err)
	}
	_ = testcontainers.ReadConfig() // from now on it is remembered
	return os.Unsetenv(reaperEnv)
}

// RedirectLog sends what testcontainers says of itself to l, at debug level. It changes
// the whole process: a program calls it once in main, before anything else of this
// package; a library leaves it to its user.
func RedirectLog(l *slog.Logger) { tclog.SetDefault(TestcontainersLog(l)) }

// TestcontainersLog is a logger for testcontainers that writes to l at debug level.
func TestcontainersLog(l *slog.Logger) tclog.Logger { return slogPrinter{l} }

type slogPrinter struct{ log *slog.Logger }

func (p slogPrinter) Printf(format string, v ...any) {
	p.log.Debug("testcontainers: " + strings.TrimSpace(fmt.Sprintf(format, v...)))
}
