package topology

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A guard stands between the harness and each redis-server of the process runtime. It is
// this very program, started again with guardArg: it starts the server as its child and
// waits. When its standard input, a pipe whose other end only the harness holds, comes to
// its end, the harness is gone in whatever way, and the guard kills the server, stopped or
// not, and removes the rules that the harness made on this machine. What the server leaves
// behind ends with it. When the guard itself is killed, the kernel kills the server.
const (
	guardArg = "picklock-guard-a-server"
	guardEnv = "PICKLOCK_GUARD" // set in a guard, so that a program that knows no guards starts no further ones
	guardFD  = 3                // where the guard reports its server's pid
)

// guardAnswer bounds the wait for a new guard's report.
const guardAnswer = 10 * time.Second

// RunGuardIfAsked must be called first thing in main, or in TestMain, of every program
// that uses the process runtime: the runtime starts the program again to guard a server.
// It returns at once, except in such a guard: there it does the guard's work and exits.
func RunGuardIfAsked() {
	if len(os.Args) < 3 || os.Args[1] != guardArg {
		return
	}
	// The kernel's promise to kill the child when its parent dies speaks of the thread
	// that started it: this one must live as long as the guard.
	runtime.LockOSThread()
	os.Exit(guard(os.Args[2], os.Args[3:], os.Stdin, os.NewFile(guardFD, "report")))
}

// guard runs the server until it ends or in ends, and returns the exit code.
func guard(server string, args []string, in io.Reader, report io.WriteCloser) int {
	// Signals to the whole terminal are for the harness, which ends us in its own order.
	// Swallowed, not ignored: what is ignored stays so in the server.
	swallowed := make(chan os.Signal, 8)
	signal.Notify(swallowed, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for range swallowed {
		}
	}()

	cmd := exec.Command(server, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, guardEnv+"=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := adoptOrphans()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(report, "error %v\n", err)
		return 1
	}
	fmt.Fprintf(report, "pid %d\n", cmd.Process.Pid)
	_ = report.Close() // the harness reads a line; whether it still does is not our concern
	var orphan atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, in)
		orphan.Store(true)
		_ = cmd.Process.Kill()
	}()
	err = cmd.Wait()
	if orphan.Load() {
		removeRulesOfDead()
	}
	killOrphans()
	if err != nil {
		return 1
	}
	return 0
}

// removeRulesOfDead removes what the guard's harness, which is dead, left in the firewall.
// Each of its guards does; what none could remove is for a sweep.
func removeRulesOfDead() {
	owner := os.Getenv(EnvOwner)
	f, err := hostFirewall()
	if err != nil || owner == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_, _ = f.removeOf(ctx, func(o string) bool { return o == owner })
}

// guarded is a running redis-server and its guard, as the harness sees them.
type guarded struct {
	pid    int
	guard  int                    // its pid
	proc   *os.Process            // the server; signals go through a pidfd, never to a reused pid
	hold   io.Closer              // the harness's end of the guard's standard input
	ended  chan struct{}          // closed when the server is gone and the guard has ended
	doomed atomic.Pointer[string] // how it was seen that a killed server, not gone yet, does nothing more
}

// startGuarded starts a server under a guard. Its output goes to log, which the caller may
// close after the call.
func startGuarded(ctx context.Context, log *os.File, env []string, server string, args ...string) (*guarded, error) {
	if os.Getenv(guardEnv) != "" {
		return nil, errors.New("this program was started as a guard and did not do a guard's work: " +
			"call topology.RunGuardIfAsked first thing in main or TestMain")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program for the guard: %w", err)
	}
	reports, reportsIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reports.Close()

	cmd := exec.Command(self, append([]string{guardArg, server}, args...)...)
	cmd.Env = append(env, guardEnv+"=1")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{reportsIn}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hold, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = reportsIn.Close()
	if err != nil {
		return nil, fmt.Errorf("start a guard: %w", err)
	}
	g := &guarded{guard: cmd.Process.Pid, hold: hold, ended: make(chan struct{})}
	go func() { // ends with the guard; who ends the guard waits for it
		_ = cmd.Wait() // how it ended stands in the log
		close(g.ended)
	}()

	if err := g.readReport(ctx, reports); err != nil {
		_ = cmd.Process.Kill()
		_ = hold.Close()
		<-g.ended
		return nil, err
	}
	return g, nil
}

// readReport waits for the guard's one line.
func (g *guarded) readReport(ctx context.Context, reports *os.File) error {
	_ = reports.SetReadDeadline(time.Now().Add(guardAnswer))
	stop := context.AfterFunc(ctx, func() { _ = reports.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(reports).ReadString('\n')
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("no answer from the guard; does this program call topology.RunGuardIfAsked first thing? (%w)", err)
	}
	kind, value, _ := strings.Cut(strings.TrimSpace(line), " ")
	if kind != "pid" {
		return errors.New(value)
	}
	if g.pid, err = strconv.Atoi(value); err != nil {
		return fmt.Errorf("answer of the guard: %w", err)
	}
	g.proc, err = os.FindProcess(g.pid)
	return err
}

// gone says whether the server has ended.
func (g *guarded) gone() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// kill sends SIGKILL to the server, stopped or not, and waits until it is gone, or at least
// can do nothing more: it may still have its address and its files, until wait returns.
func (g *guarded) kill(ctx context.Context) error {
	if err := g.proc.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", g.pid, err)
	}
	return g.awaitDeath(ctx)
}

// end kills the server and waits until nothing is left of it.
func (g *guarded) end(ctx context.Context) error {
	if err := g.kill(ctx); err != nil {
		return err
	}
	return g.wait(ctx)
}

// wait waits for the guard of a server that has ended, or is about to, and lets go of both.
func (g *guarded) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	select {
	case <-g.ended:
	case <-ctx.Done():
		return g.lives(ctx)
	}
	_ = g.hold.Close() // the guard is gone: nobody reads it
	_ = g.proc.Release()
	return nil
}
