package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	dockernet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"

	"picklock/docker"
)

// Reach says how clients on this machine come to a container.
type Reach string

// The ways to a container.
const (
	ReachAuto      Reach = "auto"      // the container's address if it answers from here, else published
	ReachContainer Reach = "container" // the address on the container network; it needs no proxy
	ReachPublished Reach = "published" // a port of the engine's host; another one after each start
)

// DockerOptions choose what the docker runtime runs. The zero value is our own image,
// reached as can be.
type DockerOptions struct {
	Image string // any image with redis-server; empty: our own, built when missing
	Reach Reach  // empty: auto
}

// Docker is the runtime that runs each node in a container, on a network of its own.
type Docker struct {
	opts DockerOptions
}

var _ Runtime = (*Docker)(nil)

// NewDocker is the runtime with these options; it does not ask the engine yet.
func NewDocker(o DockerOptions) (*Docker, error) {
	switch o.Reach {
	case "":
		o.Reach = ReachAuto
	case ReachAuto, ReachContainer, ReachPublished:
	default:
		return nil, fmt.Errorf("%q is no way to reach a container: auto, container or published", o.Reach)
	}
	return &Docker{opts: o}, nil
}

// Name is "docker".
func (*Docker) Name() string { return "docker" }

// Start makes the image if it is missing, a network, and a container per node.
func (r *Docker) Start(ctx context.Context, p Plan) (Cluster, error) {
	p, err := p.checked()
	if err != nil {
		return nil, err
	}
	image, err := r.image(ctx, p)
	if err != nil {
		return nil, err
	}
	engine, err := docker.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := newDockerCluster(engine, p, image)
	if err := c.start(ctx, p, image, r.opts.Reach); err != nil {
		// The caller's error comes first: it is why the rest happened.
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

// image makes sure of the image with the server that the plan asks for. One of the
// caller's own has the server that it has: what answers is compared with the plan later.
func (r *Docker) image(ctx context.Context, p Plan) (string, error) {
	want := p.Server
	if _, err := parseServer(want); err != nil {
		return "", err
	}
	if r.opts.Image != "" {
		want = ""
	}
	image, err := docker.EnsureFor(ctx, docker.Options{Image: r.opts.Image, Report: p.Report}, want)
	if errors.Is(err, docker.ErrNoServer) {
		err = fmt.Errorf("%w: %w", ErrServer, err)
	}
	return image, err
}

// dockerCluster is a started topology of containers.
type dockerCluster struct {
	engine *client.Client
	end    context.CancelFunc
	labels map[string]string
	nodes  []*dockerNode
	about  map[string]string
	shut   turn // one Close at a time
	done   bool
}

var _ Cluster = (*dockerCluster)(nil)

func newDockerCluster(engine *client.Client, p Plan, image string) *dockerCluster {
	life, end := context.WithCancel(context.Background())
	c := &dockerCluster{
		engine: engine, end: end, about: map[string]string{}, shut: newTurn(life),
		labels: map[string]string{LabelRun: p.Run, LabelOwner: Owner(), labelCluster: uuid.NewString()},
	}
	for _, spec := range p.Nodes {
		c.nodes = append(c.nodes, &dockerNode{
			spec: spec, run: p.Run, image: image, labels: c.labels, cuts: map[rule]bool{},
			engine: engine, ready: p.ready(spec), turn: newTurn(life), log: p.Log.With("node", spec.Name),
			logPath: filepath.Join(p.Dir, spec.Name+".log"),
		})
	}
	return c
}

// start makes everything. What it made before an error is found by Close.
func (c *dockerCluster) start(ctx context.Context, p Plan, image string, reach Reach) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	img, err := c.engine.ImageInspect(ctx, image)
	if err != nil {
		return fmt.Errorf("look at image %s: %w", image, err)
	}
	entrypoint := slices.Clone(underCuts)
	if img.Config != nil {
		entrypoint = append(entrypoint, img.Config.Entrypoint...)
	}
	// What is being made is made to the end, whatever becomes of ctx: a request that is
	// cut off may still make a container, and after Close has looked.
	making, cancel := toEnd(ctx)
	defer cancel()
	sites, err := c.place(making)
	if err != nil {
		return err
	}
	remote := remoteHost(c.engine.DaemonHost()) != ""
	err = each(c.nodes, func(n *dockerNode) error {
		return n.create(making, configOf(p, n.spec, sites), entrypoint, remote, docker.TestcontainersLog(p.Log))
	})
	if err != nil {
		return err
	}
	found := foundOnce(reach, remote)
	if err := inOrder(ctx, p, c.nodes, func(n *dockerNode) error { return n.first(ctx, found) }); err != nil {
		return err
	}
	return c.describe(ctx, p, image, img)
}

// place makes the network and gives each node its address on it.
func (c *dockerCluster) place(ctx context.Context) (map[string]site, error) {
	name := "picklock-" + c.labels[labelCluster]
	subnet, err := makeNetwork(ctx, c.engine, name, c.labels)
	if err != nil {
		return nil, err
	}
	sites := map[string]site{}
	for i, n := range c.nodes {
		at, err := hostAddr(subnet, i)
		if err != nil {
			return nil, err
		}
		n.net, n.inside = name, at
		sites[n.Name()] = site{bind: "0.0.0.0", ip: at.String(), port: serverPort, dir: dataDir}
	}
	return sites, nil
}

// foundOnce says how the containers are reached from here. Where that is to be found out,
// the first container that runs shows it for all.
func foundOnce(reach Reach, remote bool) func(context.Context, *dockerNode) Reach {
	var once sync.Once
	return func(ctx context.Context, n *dockerNode) Reach {
		once.Do(func() {
			if reach != ReachAuto {
				return
			}
			reach = ReachPublished
			if !remote && n.containerAnswers(ctx) {
				reach = ReachContainer
			}
		})
		return reach
	}
}

// describe compares what runs with the plan and fills in what About says.
func (c *dockerCluster) describe(ctx context.Context, p Plan, image string, img client.ImageInspectResult) error {
	first := c.nodes[0]
	want, err := parseServer(p.Server)
	if err == nil {
		err = want.check(first.is, "image "+image)
	}
	if err != nil {
		return err
	}
	v, err := c.engine.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fmt.Errorf("ask docker for its version: %w", err)
	}
	c.about = map[string]string{
		"runtime": "docker", "docker": v.Version, "docker_api": c.engine.ClientVersion(),
		"image": image, "image_id": img.ID, "reach": string(first.reach), first.is.name: first.is.version,
	}
	if len(img.RepoDigests) > 0 { // only what came from a registry has one
		c.about["image_digest"] = strings.Join(img.RepoDigests, " ")
	}
	return nil
}

func (c *dockerCluster) Nodes() []Node {
	nodes := make([]Node, len(c.nodes))
	for i, n := range c.nodes {
		nodes[i] = n
	}
	return nodes
}

func (c *dockerCluster) About() map[string]string { return maps.Clone(c.about) }

// Close ends the nodes and removes every container and network that carries the cluster's
// label, also one that a failed start did not get to know.
func (c *dockerCluster) Close(ctx context.Context) error {
	c.end()
	ctx, cancel := toEnd(ctx)
	defer cancel()
	release, err := c.shut.last(ctx)
	if err != nil {
		return err
	}
	defer release()
	if c.done {
		return nil
	}
	// Each node first: its log is whole only when its container ended before its removal.
	err = each(c.nodes, func(n *dockerNode) error { return n.close(ctx) })
	_, err2 := remove(ctx, c.engine, labelCluster+"="+c.labels[labelCluster], func(map[string]string) bool { return true })
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	c.done = true
	return c.engine.Close()
}

// Sweep removes the containers and networks of dead harnesses, and ends their clients.
func (r *Docker) Sweep(ctx context.Context) (int, error) {
	engine, err := docker.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	removed, err := remove(ctx, engine, LabelOwner, func(labels map[string]string) bool {
		return !OwnerAlive(labels[LabelOwner])
	})
	killed, err2 := sweepProcesses(ctx)
	rules, err3 := sweepRules(ctx) // of dead harnesses of the other runtime
	return removed + killed + rules, errors.Join(err, err2, err3)
}

// dataDir is a node's data directory, as the server in the container sees it: a volume.
const dataDir = "/data"

// testcontainersOptions are the same for every node.
func testcontainersOptions(config string, entrypoint []string, n *dockerNode) []testcontainers.ContainerCustomizer {
	labels := maps.Clone(n.labels)
	labels[LabelNode] = n.Name()
	cmd := []string{"redis-server", dataDir + "/" + configName}
	if n.spec.Kind == SentinelNode {
		cmd = append(cmd, "--sentinel")
	}
	return []testcontainers.ContainerCustomizer{
		testcontainers.WithEntrypoint(entrypoint...),
		testcontainers.WithCmd(cmd...),
		testcontainers.WithLabels(labels),
		testcontainers.WithFiles(testcontainers.ContainerFile{
			Reader: strings.NewReader(config), ContainerFilePath: dataDir + "/" + configName, FileMode: 0o666,
		}),
		network.WithNetworkName([]string{n.Name()}, n.net),
		testcontainers.WithEndpointSettingsModifier(func(settings map[string]*dockernet.EndpointSettings) {
			settings[n.net].IPAMConfig = &dockernet.EndpointIPAMConfig{IPv4Address: n.inside}
		}),
		testcontainers.WithExposedPorts(serverPort + "/tcp"),
		testcontainers.WithNoStart(),
	}
}
