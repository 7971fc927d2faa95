package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// ErrNoCuts says that packets between nodes cannot be dropped here.
var ErrNoCuts = errors.New("nodes cannot be cut from each other")

// noCutsCure is what to do about ErrNoCuts.
const noCutsCure = "install iptables (apt-get install iptables) and run as root, or use --runtime docker"

// hostFirewall is this machine's. Without iptables the error wraps ErrNoCuts.
func hostFirewall() (firewall, error) {
	path, err := exec.LookPath("iptables")
	if err != nil {
		return firewall{}, fmt.Errorf("%w: iptables is not in PATH; %s", ErrNoCuts, noCutsCure)
	}
	return firewall{run: func(ctx context.Context, args ...string) (string, int, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // nothing is preloaded, nothing marks it as a run's
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if ctx.Err() != nil {
			return "", 0, context.Cause(ctx)
		}
		if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() {
			return strings.ReplaceAll(strings.TrimSpace(stderr.String()), "\n", " | "), exit.ExitCode(), nil
		}
		return stdout.String(), 0, err
	}}, nil
}

// tried makes a rule that touches nobody and removes it. An error wraps ErrNoCuts and says
// in one line what to do.
func (f firewall) tried(ctx context.Context, run string) error {
	// 192.0.2.0/24 is for documents: nobody has such an address.
	trial := newRule(run, "192.0.2.1", "192.0.2.2")
	err := f.add(ctx, trial)
	if err == nil {
		err = f.remove(ctx, trial)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w; %s", ErrNoCuts, err, noCutsCure)
}

// sweepRules removes this machine's rules of dead harnesses. Who has no iptables, or may
// not use it, has made no rules, and another's are for that one to sweep.
func sweepRules(ctx context.Context) (int, error) {
	f, err := hostFirewall()
	if err != nil {
		return 0, nil
	}
	if _, err := f.rules(ctx); err != nil && ctx.Err() == nil {
		return 0, nil
	}
	removed, err := f.removeOf(ctx, func(owner string) bool { return !OwnerAlive(owner) })
	if err != nil {
		return removed, fmt.Errorf("sweep rules: %w", err)
	}
	return removed, nil
}
