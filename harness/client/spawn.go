package client

import (
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// spawner starts processes from one operating-system thread that lives as long as it
// does. The parent-death signal is sent when the thread that forked ends, not when the
// process does, so an ordinary goroutine's thread would kill its children at random.
type spawner struct {
	work chan func()
	done sync.WaitGroup
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	s.done.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for f := range s.work {
			f()
		}
	})
	return s
}

// start starts cmd in a process group of its own, to be killed when the harness ends in
// whatever way, even while it is stopped.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	result := make(chan error)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread; call it when all children are dead.
func (s *spawner) close() {
	close(s.work)
	s.done.Wait()
}
