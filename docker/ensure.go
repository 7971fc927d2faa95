package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Options of Ensure. The zero value is the node image, built in silence.
type Options struct {
	Image  string       // any other image instead of our own; pulled when it is missing
	Report func(string) // progress for a person, a line at a time; nil: none
}

// pullStall is how long a registry may be silent. It bounds the search for a registry
// that is not there, not the download.
const pullStall = 15 * time.Second

// ErrNoImage says that an image is neither on the engine nor to be had.
var ErrNoImage = errors.New("image cannot be had")

// Ensure is EnsureFor with the default server.
func Ensure(ctx context.Context, o Options) (string, error) { return EnsureFor(ctx, o, "") }

// EnsureFor returns the name of an image with this server that exists on the engine; the
// server is one of Servers, empty means the default, and an image of the caller's own
// (Options.Image) has whatever server it has. It returns at once when the image is there.
// Otherwise ours is built: from an image of the registry where one can be reached, else
// from a base that base.sh makes of Debian's packages (said through Report; takes about
// half a minute and root). Several processes may call it at once: one builds, the others
// wait. Errors wrap ErrNoServer, ErrNoDocker or ErrNoImage where that is the cause.
func EnsureFor(ctx context.Context, o Options, server string) (string, error) {
	s, err := findServer(server)
	if err != nil {
		return "", err
	}
	c, err := Connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()

	b := &builder{client: c, report: o.Report}
	if b.report == nil {
		b.report = func(string) {}
	}
	if o.Image != "" {
		return o.Image, b.pullMissing(ctx, o.Image)
	}
	tag := s.tag()
	if has, err := b.has(ctx, tag); has || err != nil {
		return tag, err
	}
	unlock, err := lockBuild(ctx, b.report)
	if err != nil {
		return "", err
	}
	defer unlock()
	if has, err := b.has(ctx, tag); has || err != nil { // built while we waited
		return tag, err
	}
	from, err := b.source(ctx, s)
	if err != nil {
		return "", err
	}
	return tag, b.build(ctx, tag, from)
}

// Has says whether the engine has the image.
func Has(ctx context.Context, c *client.Client, image string) (bool, error) {
	return (&builder{client: c}).has(ctx, image)
}

// builder makes images on one engine.
type builder struct {
	client *client.Client
	report func(string)
}

func (b *builder) has(ctx context.Context, image string) (bool, error) {
	_, err := b.client.ImageInspect(ctx, image)
	switch {
	case err == nil:
		return true, nil
	case errdefs.IsNotFound(err):
		return false, nil
	}
	return false, fmt.Errorf("look for image %s: %w", image, err)
}

// source finds or makes what the server's image is built from.
func (b *builder) source(ctx context.Context, s server) (source, error) {
	for _, from := range s.sources() {
		if has, err := b.has(ctx, from.image); has || err != nil {
			return from, err
		}
	}
	official, own := s.registry, s.sources()[1]
	b.report("pulling " + official.image)
	pulled := b.pull(ctx, official.image)
	if pulled == nil {
		return official, nil
	}
	if ctx.Err() != nil {
		return source{}, fmt.Errorf("pull %s: %w", official.image, ctx.Err())
	}
	b.report(fmt.Sprintf("no registry (%v); making a base from Debian's packages, about half a minute", pulled))
	if err := b.makeBase(ctx, own.image, s.suite); err != nil {
		return source{}, fmt.Errorf("%w: pull %s: %w; base from packages: %w", ErrNoImage, official.image, pulled, err)
	}
	return own, nil
}

// pullMissing gets an image that the user named.
func (b *builder) pullMissing(ctx context.Context, image string) error {
	if has, err := b.has(ctx, image); has || err != nil {
		return err
	}
	b.report("pulling " + image)
	if err := b.pull(ctx, image); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("pull %s: %w", image, ctx.Err())
		}
		return fmt.Errorf("%w: %s is not on this engine and cannot be pulled: %w", ErrNoImage, image, err)
	}
	return nil
}

// pull gives up when the registry is silent for pullStall, however long a steady download
// takes.
func (b *builder) pull(ctx context.Context, image string) error {
	stalled := fmt.Errorf("no answer from the registry for %v", pullStall)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(pullStall, func() { cancel(stalled) })
	defer watchdog.Stop()

	cause := func(err error) error {
		if errors.Is(context.Cause(ctx), stalled) {
			return stalled
		}
		return err
	}
	res, err := b.client.ImagePull(ctx, image, client.ImagePullOptions{})
	if err != nil {
		return cause(err)
	}
	defer res.Close()
	for m, err := range res.JSONMessages(ctx) {
		if err != nil {
			return cause(err)
		}
		if m.Error != nil {
			return m.Error
		}
		watchdog.Reset(pullStall)
	}
	return cause(ctx.Err())
}

// Version is the engine's version, e.g. "20.10.24".
func Version(ctx context.Context, c *client.Client) (string, error) {
	v, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", fmt.Errorf("ask docker for its version: %w", err)
	}
	return v.Version, nil
}
