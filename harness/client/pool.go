package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"picklock/harness/history"
	"picklock/harness/topology"
)

// Bounds of what the pool waits for.
const (
	readyTimeout = 30 * time.Second // a client process to report its workers ready
	stateTimeout = 5 * time.Second  // a signalled process to change its state
)

// Pool is the harness's side of the client processes. Its methods may be called from
// several goroutines, but those on one client only from one at a time.
type Pool struct {
	cfg       Config // of client 0, life 0
	command   []string
	env       []string
	logs      string
	collector *history.Collector
	spawner   *spawner
	holders   *holders
	begun     bool
	closing   *sync.Once

	mu       sync.Mutex
	died     []string // clients that ended by themselves with an error, in words
	procs    []*proc
	addrs    map[string]string
	locks    map[int]string // clients with another lock than the test's
	orders   int            // given so far
	stopping bool           // all were told to stop
	cpu      time.Duration  // processor time of the processes that have ended
	// route tells where a client reaches a node; nil: at the node's own address.
	route func(client int, node string) string
}

// proc is one life of a client.
type proc struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    *os.File
	life   int
	exited chan struct{} // closed when the process is dead and reaped
	err    error         // of its end; read after exited
	killed bool          // its end was ordered
}

// NewPool prepares a pool. executable is this program's own binary, which becomes a
// client by the hidden argument; run is the run's id, put into the clients' environment
// for the sweep; logs is the folder for one log per client.
func NewPool(cfg Config, executable, run, logs string) *Pool {
	return &Pool{
		cfg: cfg, command: []string{executable, Argument}, logs: logs,
		env:     append(os.Environ(), topology.EnvRun+"="+run, topology.EnvOwner+"="+topology.Owner()),
		closing: new(sync.Once),
		holders: newHolders(), spawner: newSpawner(),
		procs: make([]*proc, cfg.Clients), addrs: cfg.Addrs, locks: map[int]string{},
	}
}

// Through leads every client to every node by another way (the wire), which stays the
// same when a node moves. It must be called before Start.
func (p *Pool) Through(route func(client int, node string) string) { p.route = route }

// Watch takes an event of the record; give it to the collector.
func (p *Pool) Watch(e *history.Event) { p.holders.see(p.cfg, e) }

// Start starts all clients and returns when all are ready, waiting for Go.
func (p *Pool) Start(ctx context.Context, c *history.Collector) error {
	p.collector = c
	for i := range p.procs {
		if err := p.spawn(i, 0); err != nil {
			return err
		}
	}
	for i := range p.procs {
		if err := p.awaitReady(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Go lets all clients begin.
func (p *Pool) Go() error {
	p.begun = true
	var errs []error
	for i := range p.procs {
		errs = append(errs, p.tell(i, "go\n"))
	}
	return errors.Join(errs...)
}

// Count is the number of clients.
func (p *Pool) Count() int { return len(p.procs) }

func (p *Pool) spawn(i, life int) error {
	cfg := p.cfg
	cfg.Client, cfg.Life, cfg.Epochs = i, life, p.holders.next(i, cfg.Workers)
	p.mu.Lock()
	cfg.Addrs = p.addrs
	if lock := p.locks[i]; lock != "" {
		cfg.Lock = lock
	}
	p.mu.Unlock()
	if p.route != nil {
		led := make(map[string]string, len(cfg.Addrs))
		for node := range cfg.Addrs {
			led[node] = p.route(i, node)
		}
		cfg.Addrs = led
	}
	line, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(p.logs, fmt.Sprintf("client-%d.log", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, log, log
	in, err := cmd.StdinPipe()
	if err == nil {
		err = p.spawner.start(cmd)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start client %d: %w", i, err), log.Close())
	}
	c := &proc{cmd: cmd, in: in, log: log, life: life, exited: make(chan struct{})}
	go p.reap(i, c)
	p.mu.Lock()
	p.procs[i] = c
	p.mu.Unlock()
	if _, err := in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("configure client %d: %w", i, err)
	}
	return nil
}

// reap waits for the process; an end that nobody ordered goes into the record at once.
func (p *Pool) reap(i int, c *proc) {
	err := c.cmd.Wait()
	at := history.Now()
	p.mu.Lock()
	c.err = err
	ordered := c.killed
	p.cpu += c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	p.mu.Unlock()
	if !ordered {
		e := history.Event{Time: at, Type: history.ClientDown, Client: i, Process: -1, Worker: -1}
		if err != nil {
			e.Type, e.Note = history.ClientDeath, "it ended by itself: "+err.Error()
			p.mu.Lock()
			p.died = append(p.died, fmt.Sprintf("client %d ended by itself: %v (see its log)", i, err))
			p.mu.Unlock()
		}
		p.collector.Record(e)
	}
	_ = c.log.Close() // it was the process that wrote
	close(c.exited)
}

func (p *Pool) awaitReady(ctx context.Context, i int) error {
	c := p.at(i)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for p.holders.ready(i, p.cfg.Workers) <= c.life {
		if err := p.collector.Poll(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("client %d was not ready: %w (see its log)", i, ctx.Err())
		case <-c.exited:
			return fmt.Errorf("client %d ended before it was ready: %w (see its log)", i, c.err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

func (p *Pool) at(i int) *proc {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.procs[i]
}

func (p *Pool) tell(i int, command string) error {
	if _, err := io.WriteString(p.at(i).in, command); err != nil {
		return fmt.Errorf("tell client %d: %w", i, err)
	}
	return nil
}

// Moved tells all clients that a node is reached at another address now.
func (p *Pool) Moved(node, addr string) {
	p.mu.Lock()
	next := map[string]string{}
	for n, a := range p.addrs {
		next[n] = a
	}
	next[node] = addr
	p.addrs = next
	p.mu.Unlock()
	if p.route != nil {
		return // the way asks for the node's address itself
	}
	for i := range p.procs {
		_ = p.tell(i, "addr "+node+" "+addr+"\n") // a dead client is told at its restart
	}
}

// Holders drains the record and tells who is in a section now, the longest first.
func (p *Pool) Holders() ([]Holding, error) {
	if err := p.collector.Poll(); err != nil {
		return nil, err
	}
	return p.holders.now(), nil
}

// Waiters drains the record and tells who waits for a lock now, the longest first.
func (p *Pool) Waiters() ([]Holding, error) {
	if err := p.collector.Poll(); err != nil {
		return nil, err
	}
	return p.holders.waiting(), nil
}

// Pause stops client i with SIGSTOP, and returns when all its threads are stopped, with
// what was seen.
func (p *Pool) Pause(ctx context.Context, i int) (proof string, err error) {
	return p.signal(ctx, i, unix.SIGSTOP, func(s byte) bool { return s == 'T' })
}

// Resume continues client i, and returns when it runs again.
func (p *Pool) Resume(ctx context.Context, i int) (proof string, err error) {
	return p.signal(ctx, i, unix.SIGCONT, func(s byte) bool { return s != 'T' })
}

func (p *Pool) signal(ctx context.Context, i int, sig unix.Signal, want func(byte) bool) (string, error) {
	c := p.at(i)
	pid := c.cmd.Process.Pid
	if err := unix.Kill(-pid, sig); err != nil {
		return "", fmt.Errorf("%s to client %d: %w", unix.SignalName(sig), i, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	for {
		states, err := threadStates(pid)
		if err == nil && all(states, want) {
			return fmt.Sprintf("process %d of client %d: all %d threads are in state %s", pid, i, len(states), distinct(states)), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("client %d after %s: its threads are in states %q: %w", i, unix.SignalName(sig), states, errors.Join(err, ctx.Err()))
		case <-c.exited:
			return "", fmt.Errorf("client %d ended: %w", i, c.err)
		case <-time.After(time.Millisecond):
		}
	}
}

// Kill ends client i with SIGKILL and returns when it is dead. Its death counts from at
// (ns); 0 means from when it was dead for certain. A caller that stopped the client
// before can name the moment of the kill: nothing of it ran since.
func (p *Pool) Kill(ctx context.Context, i int, at int64, why string) (proof string, err error) {
	c := p.at(i)
	p.mu.Lock()
	c.killed = true
	p.mu.Unlock()
	if p.alive(i) { // a reaped process' id may be another's by now
		if err := unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return "", fmt.Errorf("kill client %d: %w", i, err)
		}
	}
	select {
	case <-c.exited:
	case <-ctx.Done():
		return "", fmt.Errorf("kill client %d: %w", i, ctx.Err())
	}
	if at == 0 {
		at = history.Now()
	}
	if err := p.collector.Poll(); err != nil { // what it recorded comes before its death
		return "", err
	}
	p.collector.Record(history.Event{Time: at, Type: history.ClientDeath, Client: i, Process: -1, Worker: -1, Note: why})
	return fmt.Sprintf("process %d of client %d ended: %s", c.cmd.Process.Pid, i, c.cmd.ProcessState), nil
}

// Restart starts a dead client again, under new process ids, and returns when it works.
func (p *Pool) Restart(ctx context.Context, i int) (proof string, err error) {
	if err := p.spawn(i, p.at(i).life+1); err != nil {
		return "", err
	}
	if err := p.awaitReady(ctx, i); err != nil {
		return "", err
	}
	if p.begun {
		if err := p.tell(i, "go\n"); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("client %d works again as process %d", i, p.at(i).cmd.Process.Pid), nil
}

// TellStop tells all clients to finish what they are doing, and does not wait.
func (p *Pool) TellStop() {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	for i := range p.procs {
		if p.alive(i) {
			_ = p.tell(i, "stop\n") // one that just ended needs no telling
		}
	}
}

// CPU is the processor time that all client processes took which have ended.
func (p *Pool) CPU() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cpu
}

// Stop tells all clients to finish what they are doing, and kills those that do not end
// within patience, which is put on record and returned as their number.
func (p *Pool) Stop(ctx context.Context, patience time.Duration) (killed int, err error) {
	p.TellStop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for i := range p.procs {
		c := p.at(i)
		if c == nil {
			continue
		}
		select {
		case <-c.exited:
			continue
		case <-deadline.C:
			deadline.Reset(0) // the others have had their time too
		case <-ctx.Done():
		}
		if _, kerr := p.Kill(context.WithoutCancel(ctx), i, 0, "it did not stop when it was told to"); kerr != nil {
			err = errors.Join(err, kerr)
		}
		killed++
	}
	return killed, err
}

func (p *Pool) alive(i int) bool {
	c := p.at(i)
	if c == nil {
		return false
	}
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// Died tells of clients that ended by themselves with an error: a fault of picklock or of
// its surroundings, since no fault of the test ends a client unordered.
func (p *Pool) Died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, d := range p.died {
		errs = append(errs, errors.New(d))
	}
	return errors.Join(errs...)
}

// Alive reports whether client i has a living process.
func (p *Pool) Alive(i int) bool { return p.alive(i) }

// Abandon closes the pipes to all clients, as the end of the harness does.
func (p *Pool) Abandon() {
	for i := range p.procs {
		p.mu.Lock()
		p.procs[i].killed = true // it is no accident
		p.mu.Unlock()
		_ = p.at(i).in.Close() // an already closed pipe is what is wanted
	}
}

// Close kills whatever still lives, stopped or not, and waits for it. The pool cannot be
// used afterwards.
func (p *Pool) Close() { p.closing.Do(p.end) }

func (p *Pool) end() {
	for i := range p.procs {
		c := p.at(i)
		if c == nil {
			continue
		}
		p.mu.Lock()
		c.killed = true
		p.mu.Unlock()
		if p.alive(i) {
			_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) // ESRCH: it is just dying
		}
		<-c.exited
		_ = c.in.Close()
	}
	p.spawner.close()
}
