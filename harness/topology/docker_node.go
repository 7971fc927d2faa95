package topology

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	dockernet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// probeTimeout bounds the search for a container's address from here. Behind a virtual
// machine nothing answers, so this is what a start costs there.
const probeTimeout = 2 * time.Second

// dockerNode is one container. Pause, signals and restarts go to the engine itself:
// testcontainers has no words for them.
type dockerNode struct {
	spec    NodeSpec
	engine  *client.Client
	ready   readiness
	run     string
	image   string
	labels  map[string]string // those of everything that belongs to the cluster
	net     string            // the name of its network
	inside  netip.Addr        // its address there
	logPath string
	log     *slog.Logger
	turn    turn

	// Written by who has the turn.
	reach    Reach
	follower *follower // of the life that began last
	is       server    // what answered last
	cuts     map[rule]bool
	// cutsWritten says that the container's file of cuts is not empty.
	cutsWritten bool
	closed      bool

	mu   sync.Mutex // guards what may be asked for at any time
	id   string
	addr string
}

var _ Node = (*dockerNode)(nil)

func (n *dockerNode) Name() string { return n.spec.Name }

func (n *dockerNode) Addr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addr
}

func (n *dockerNode) containerID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// create makes the container, with this configuration in it.
func (n *dockerNode) create(ctx context.Context, config string, entrypoint []string, remote bool, log tclog.Logger) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	opts := append(testcontainersOptions(config, entrypoint, n),
		testcontainers.WithLogger(log),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.NetworkMode = container.NetworkMode(n.net)
			h.CapAdd = []string{"NET_ADMIN"} // for iptables in the node
			if !remote {
				// A server without a password is nobody's business but this machine's.
				h.PortBindings = dockernet.PortMap{port(): {{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1})}}}
			}
		}))
	c, err := testcontainers.Run(ctx, n.image, opts...)
	if c != nil { // also beside an error: then Close ends it
		n.mu.Lock()
		n.id = c.GetContainerID()
		n.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	return nil
}

func port() dockernet.Port { return dockernet.MustParsePort(serverPort + "/tcp") }

// containerAnswers says whether something listens at the container's own address, seen
// from here. A refusal is a sign of life: the server only has not started yet.
func (n *dockerNode) containerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	addr, err := n.find(ctx, ReachContainer)
	if err != nil {
		return false
	}
	var d net.Dialer
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	}) == nil
}

// find asks the engine for the node's address: both kinds may change with each start.
func (n *dockerNode) find(ctx context.Context, reach Reach) (string, error) {
	res, err := n.engine.ContainerInspect(ctx, n.containerID(), client.ContainerInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("look at the container: %w", err)
	}
	if s := res.Container.State; s == nil || !s.Running {
		n.follower.wait(ctx) // what it said may still be on its way
		return "", endedAtOnce("the container", n.logPath)
	}
	settings := res.Container.NetworkSettings
	if reach == ReachContainer {
		if at := settings.Networks[n.net]; at == nil || at.IPAddress != n.inside {
			return "", fmt.Errorf("the container has not the address %v on its network", n.inside)
		}
		return n.Inside(), nil
	}
	published := settings.Ports[port()]
	if len(published) == 0 {
		return "", errors.New("the container's port is not published")
	}
	host := remoteHost(n.engine.DaemonHost())
	if host == "" { // not "localhost": that may mean ::1, where nothing is published
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, published[0].HostPort), nil
}

// hostOverride is testcontainers' variable for a harness that itself runs in a container
// beside its nodes: the host under which published ports are found from there.
const hostOverride = "TESTCONTAINERS_HOST_OVERRIDE"

// remoteHost is the host of an engine whose published ports are not on this machine's
// loopback, else empty.
func remoteHost(daemon string) string {
	if host := os.Getenv(hostOverride); host != "" {
		return host
	}
	u, err := url.Parse(daemon)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "tcp", "http", "https", "ssh":
		return u.Hostname()
	}
	return ""
}

// first starts the container that create made. reach is asked how it is reached when it
// runs.
func (n *dockerNode) first(ctx context.Context, reach func(context.Context, *dockerNode) Reach) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, err := n.engine.ContainerStart(ctx, n.containerID(), client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	n.reach = reach(ctx, n)
	return n.settle(ctx, "")
}

// settle follows the log of a container that was just started, from the end of its last
// life on, finds its address and waits until the server is ready.
func (n *dockerNode) settle(ctx context.Context, since string) error {
	fail := func(err error) error { return fmt.Errorf("start node %s: %w", n.Name(), err) }
	var err error
	if n.follower, err = follow(ctx, n.engine, n.containerID(), since, n.logPath); err != nil {
		return fail(err)
	}
	addr, err := n.find(ctx, n.reach)
	if err != nil {
		return fail(err)
	}
	died := func() error {
		select {
		case <-n.follower.ended: // the stream ends with the container
			return endedAtOnce("redis-server", n.logPath)
		default:
			return nil
		}
	}
	s, err := waitReady(ctx, addr, n.ready, died)
	if err != nil {
		return fail(err)
	}
	n.is = s
	n.mu.Lock()
	n.addr = addr
	n.mu.Unlock()
	n.log.Debug("node is ready", "addr", addr, "container", n.containerID())
	return nil
}

// act runs an operation of the engine if the node is in another state than the wanted
// one, and proves that it is reached.
func (n *dockerNode) act(ctx context.Context, verb string, want State, do func(context.Context) error) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), err)
	}
	defer release()
	now, proof, err := n.State(ctx)
	if err == nil && now == Dead && want != Dead {
		err = ErrDead
	}
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), err)
	}
	if now == want {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s node %s: %w", verb, n.Name(), err)
	}
	err = poll(ctx, 5*time.Millisecond, func() (bool, error) {
		now, proof, err = n.State(ctx)
		return now == want, err
	})
	if err != nil {
		return fmt.Errorf("%s node %s: %w (seen last: %s)", verb, n.Name(), err, proof)
	}
	return nil
}

func (n *dockerNode) Pause(ctx context.Context) error {
	return n.act(ctx, "pause", Paused, func(ctx context.Context) error {
		_, err := n.engine.ContainerPause(ctx, n.containerID(), client.ContainerPauseOptions{})
		return err
	})
}

func (n *dockerNode) Resume(ctx context.Context) error {
	return n.act(ctx, "resume", Running, func(ctx context.Context) error {
		_, err := n.engine.ContainerUnpause(ctx, n.containerID(), client.ContainerUnpauseOptions{})
		return err
	})
}

func (n *dockerNode) Kill(ctx context.Context) error {
	return n.act(ctx, "kill", Dead, n.kill)
}

// kill sends SIGKILL. Engine 20.10 (API 1.41) takes it for a paused container: the signal
// is pending when the engine thaws the cgroup, so not one more instruction of the server
// runs. Should an engine refuse, the container is unpaused and killed at once; then the
// server runs for the time between two calls.
func (n *dockerNode) kill(ctx context.Context) error {
	opts := client.ContainerKillOptions{Signal: "SIGKILL"}
	_, err := n.engine.ContainerKill(ctx, n.containerID(), opts)
	if err != nil && strings.Contains(err.Error(), "is paused") {
		if _, err := n.engine.ContainerUnpause(ctx, n.containerID(), client.ContainerUnpauseOptions{}); err != nil {
			return err
		}
		_, err = n.engine.ContainerKill(ctx, n.containerID(), opts)
	}
	if errdefs.IsConflict(err) || errdefs.IsNotFound(err) { // it ended by itself meanwhile
		return nil
	}
	return err
}

func (n *dockerNode) Start(ctx context.Context) error {
	ctx, release, err := n.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	defer release()
	now, _, err := n.State(ctx)
	if err == nil && now != Dead {
		err = ErrAlive
	}
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	n.follower.wait(ctx) // lives do not mix in the log
	since, err := lastEnd(ctx, n.engine, n.containerID())
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	if err := n.writeCuts(ctx); err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	if _, err := n.engine.ContainerStart(ctx, n.containerID(), client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start node %s: %w", n.Name(), err)
	}
	return n.settle(ctx, since)
}

// close ends the container, so that its log is whole; the cluster removes it.
func (n *dockerNode) close(ctx context.Context) error {
	release, err := n.turn.last(ctx)
	if err != nil {
		return fmt.Errorf("close node %s: %w", n.Name(), err)
	}
	defer release()
	if n.closed || n.containerID() == "" {
		return nil
	}
	if err := n.kill(ctx); err != nil {
		return fmt.Errorf("close node %s: %w", n.Name(), err)
	}
	n.follower.wait(ctx)
	n.follower.stop()
	n.closed = true
	return nil
}
