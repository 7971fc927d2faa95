package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A process that was sent SIGKILL runs none of its own code any more: each of its threads
// dies when it is about to leave the kernel. But one that sleeps there in state D, in an
// fsync on a disk that stands still, say, dies only when it wakes, and one that could die
// waits for its turn where others have the processors. Until then the process is not gone:
// its sockets stay open and answer nothing, and nobody can wait for its end. That can take
// longer than any fault has time. Such a node is dead for everybody who asks it; only who
// wants its files or its address must wait until it has let go.

// dyingTime is how long a process may take to die before one looks at what keeps it.
const dyingTime = 500 * time.Millisecond

// thread is one thread of a process, as proc(5) tells it.
type thread struct {
	id, name string
	state    byte
	killed   bool // SIGKILL waits for it, or it is on its way out: it does not leave the kernel any more
}

// exiting is PF_EXITING among a thread's flags: the kernel is taking it down.
const exiting = 0x4

// threadsOf reads the threads of a process: none when it is gone.
func threadsOf(pid int) ([]thread, error) {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return nil, err
	}
	var all []thread
	for _, path := range stats {
		dir := filepath.Dir(path)
		killed := killPending(filepath.Join(dir, "status"))
		s, err := readStat(path) // after the signals: who has taken the last one is exiting
		if os.IsNotExist(err) {  // a thread that ended while we looked
			continue
		} else if err != nil {
			return nil, err
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		all = append(all, thread{filepath.Base(dir), strings.TrimSpace(string(name)), s.state, killed || s.flags&exiting != 0})
	}
	return all, nil
}

// states is the state letter of each thread.
func states(all []thread) string {
	var s strings.Builder
	for _, t := range all {
		s.WriteByte(t.state)
	}
	return s.String()
}

// onlyIn says whether all threads are in one of these states.
func onlyIn(all []thread, letters string) bool {
	return strings.Trim(states(all), letters) == ""
}

// doomed says whether a process that was sent SIGKILL can do nothing more, and why it is
// not gone.
func doomed(pid int) (words string, yes bool, err error) {
	all, err := threadsOf(pid)
	alive := func(t thread) bool { return !t.killed && !strings.ContainsRune("DZX", rune(t.state)) }
	switch {
	case err != nil || slices.ContainsFunc(all, alive):
		return "", false, err
	case onlyIn(all, "ZX"):
		return fmt.Sprintf("process %d was killed, and all its threads have ended", pid), true, nil
	}
	return fmt.Sprintf("process %d was killed and does nothing more: its threads sleep in the kernel where no signal reaches them, or wait for a processor, and die next (%s)",
		pid, inDetail(pid, all)), true, nil
}

// plight tells what a process that should end is doing, and its guard, who waits for it.
func plight(pid, guard int) string {
	all, err := threadsOf(pid)
	switch {
	case err != nil:
		return err.Error()
	case len(all) == 0:
		return "it is gone; " + ofGuard(guard)
	}
	return inDetail(pid, all) + "; " + ofGuard(guard)
}

func ofGuard(pid int) string {
	all, err := threadsOf(pid)
	if err != nil {
		return err.Error()
	}
	if len(all) == 0 {
		return fmt.Sprintf("its guard %d is gone", pid)
	}
	return fmt.Sprintf("the threads of its guard %d are in states %s", pid, states(all))
}

// inDetail tells of each thread its state, where in the kernel it sleeps, and whether it
// has yet to take notice of SIGKILL; and which children the process leaves behind.
func inDetail(pid int, all []thread) string {
	var words []string
	for _, t := range all {
		dir := fmt.Sprintf("/proc/%d/task/%s", pid, t.id)
		w := fmt.Sprintf("thread %s %s is in state %c", t.id, t.name, t.state)
		if at, err := os.ReadFile(filepath.Join(dir, "wchan")); err == nil && len(at) > 0 && string(at) != "0" {
			w += " in " + string(at)
		}
		if t.killed {
			w += ", killed"
		}
		if children, _ := os.ReadFile(filepath.Join(dir, "children")); len(children) > 0 {
			w += ", children " + strings.TrimSpace(string(children))
		}
		words = append(words, w)
	}
	return strings.Join(words, "; ")
}

// killPending looks for SIGKILL, signal 9, in the mask of what a thread has yet to receive.
func killPending(status string) bool {
	text, _ := os.ReadFile(status)
	_, rest, _ := strings.Cut(string(text), "\nSigPnd:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits&(1<<(9-1)) != 0
}

// awaitDeath waits until a server that was sent SIGKILL is gone, or can do nothing more.
func (g *guarded) awaitDeath(ctx context.Context) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for began := time.Now(); ; {
		select {
		case <-g.ended:
			return nil
		case <-ctx.Done():
			return g.lives(ctx)
		case <-look.C:
		}
		if time.Since(began) < dyingTime {
			continue
		}
		words, yes, err := doomed(g.pid)
		if err != nil {
			return err
		}
		if yes {
			g.doomed.Store(&words) // for good: when it wakes it is seen to run, and to die
			return nil
		}
	}
}

// lives is the error of a wait for the end that was in vain.
func (g *guarded) lives(ctx context.Context) error {
	return fmt.Errorf("wait for the end of process %d: %w (%s)", g.pid, context.Cause(ctx), plight(g.pid, g.guard))
}
