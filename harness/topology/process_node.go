package topology

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// stopTimeout bounds how long a signal may take to show its effect on a process.
const stopTimeout = 5 * time.Second

// processNode is one redis-server on this machine.
type processNode struct {
	spec    NodeSpec
	run     string
	data    string // Plan.Data
	server  string
	ready   readiness
	shim    *shim // nil: the server runs without it
	logPath string
	log     *slog.Logger
	turn    turn
	rules   *firewall // nil: the plan did without cuts

	// Written by who has the turn.
	cuts   map[rule]bool // those that may be in force at this node
	at     address
	dir    string
	is     server // what answered last
	closed bool

	mu   sync.Mutex // guards live and addr, which may be asked for at any time
	live *guarded   // nil before the first start and after the end
	addr string
}

var _ Node = (*processNode)(nil)

func (n *processNode) Name() string { return n.spec.Name }

func (n *processNode) Addr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addr
}

func (n *processNode) current() *guarded {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.live
}

// settle makes the node's folder and finds its address.
func (n *processNode) settle(ctx context.Context) (site, error) {
	_, release, err := n.turn.take(ctx)
	if err != nil {
		return site{}, err
	}
	defer release()
	if n.dir, err = newDataDir(n.data); err != nil {
		return site{}, fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	if n.at, err = claimAddress(n.run, n.Name()); err != nil {
		return site{}, fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	n.mu.Lock()
	n.addr = n.at.String()
	n.mu.Unlock()
	return site{bind: n.at.host, ip: n.at.host, from: n.at.host, port: n.at.port, dir: n.dir}, nil
}

// first starts the node for the first time, with this configuration.
func (n *processNode) first(ctx context.Context, config string) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := os.WriteFile(filepath.Join(n.dir, configName), []byte(config), 0o644); err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	return n.launch(ctx)
}

// launch starts the server and waits until it is ready. A server that does not become
// ready is killed.
func (n *processNode) launch(ctx context.Context) error {
	log, err := os.OpenFile(n.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start node %s: log: %w", n.Name(), err)
	}
	defer log.Close()
	args := []string{filepath.Join(n.dir, configName)}
	if n.spec.Kind == SentinelNode {
		args = append(args, "--sentinel")
	}
	env, err := n.environment(ctx)
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	g, err := startGuarded(ctx, log, env, n.server, args...)
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	n.mu.Lock()
	n.live = g
	n.mu.Unlock()

	died := func() error {
		if g.gone() {
			return endedAtOnce(filepath.Base(n.server), n.logPath)
		}
		return nil
	}
	s, err := waitReady(ctx, n.addr, n.ready, died)
	if err == nil && s.pid != strconv.Itoa(g.pid) {
		err = fmt.Errorf("process %s answers at %s instead of ours, %d", s.pid, n.addr, g.pid)
	}
	if err != nil {
		ctx, cancel := toEnd(ctx)
		defer cancel()
		return errors.Join(fmt.Errorf("start node %s: %w", n.Name(), err), g.end(ctx))
	}
	n.is = s
	n.log.Debug("node is ready", "addr", n.addr, "pid", g.pid)
	return nil
}

// signal sends sig to a live server and waits until its threads look as they should.
func (n *processNode) signal(ctx context.Context, verb string, sig syscall.Signal, want State) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), err)
	}
	defer release()
	g := n.current()
	if g == nil || g.gone() {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), ErrDead)
	}
	if err := g.proc.Signal(sig); errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), ErrDead)
	} else if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	var proof string
	err = poll(ctx, 2*time.Millisecond, func() (bool, error) {
		var s State
		var err error
		s, proof, err = g.observe()
		if s == Dead && err == nil {
			err = ErrDead
		}
		return s == want, err
	})
	if err != nil {
		return fmt.Errorf("%s node %s: %w (seen last: %s)", verb, n.Name(), err, proof)
	}
	return nil
}

func (n *processNode) Pause(ctx context.Context) error {
	return n.signal(ctx, "pause", syscall.SIGSTOP, Paused)
}

func (n *processNode) Resume(ctx context.Context) error {
	return n.signal(ctx, "resume", syscall.SIGCONT, Running)
}

func (n *processNode) Kill(ctx context.Context) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("kill node %s: %w", n.Name(), err)
	}
	defer release()
	g := n.current()
	if g == nil || g.gone() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := g.kill(ctx); err != nil {
		return fmt.Errorf("kill node %s: %w", n.Name(), err)
	}
	return nil
}

func (n *processNode) Start(ctx context.Context) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	defer release()
	if g := n.current(); g != nil {
		state, _, err := g.observe()
		if err == nil && state != Dead {
			err = ErrAlive
		}
		if err == nil {
			err = g.wait(ctx)
		}
		if err != nil {
			return fmt.Errorf("start node %s: %w", n.Name(), err)
		}
	}
	return n.launch(ctx)
}

func (n *processNode) State(context.Context) (State, string, error) {
	g := n.current()
	if g == nil {
		return Dead, "there is no process", nil
	}
	return g.observe()
}

// observe looks at every thread of the server: a process is stopped when all of them are.
func (g *guarded) observe() (State, string, error) {
	if g.gone() {
		return Dead, fmt.Sprintf("process %d has ended", g.pid), nil
	}
	if words := g.doomed.Load(); words != nil {
		return Dead, *words, nil
	}
	all, err := threadsOf(g.pid)
	switch {
	case err != nil:
		return "", "", err
	case onlyIn(all, "ZX"):
		return Dead, fmt.Sprintf("process %d is gone", g.pid), nil
	case onlyIn(all, "Tt"):
		return Paused, fmt.Sprintf("process %d is in state T (stopped), all %d threads", g.pid, len(all)), nil
	default:
		return Running, fmt.Sprintf("process %d runs, its threads are in states %s", g.pid, states(all)), nil
	}
}

// close ends the server and removes everything of the node. What could not be removed is
// tried again by the next call.
func (n *processNode) close(ctx context.Context) error {
	release, err := n.turn.last(ctx)
	if err != nil {
		return fmt.Errorf("close node %s: %w", n.Name(), err)
	}
	defer release()
	if n.closed {
		return nil
	}
	if g := n.current(); g != nil && !g.gone() {
		if err := g.end(ctx); err != nil {
			return fmt.Errorf("close node %s: %w", n.Name(), err)
		}
	}
	if err := n.heal(ctx); err != nil {
		return fmt.Errorf("close node %s: %w", n.Name(), err)
	}
	if n.dir != "" {
		if err := os.RemoveAll(n.dir); err != nil {
			return fmt.Errorf("close node %s: %w", n.Name(), err)
		}
	}
	n.closed = true
	if n.at.claim != nil {
		return n.at.release()
	}
	return nil
}
