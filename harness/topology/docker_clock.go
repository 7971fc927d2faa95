package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"picklock/docker"
)

// SetClock runs the image's tool in the container. A paused container runs nothing, not
// even that.
func (n *dockerNode) SetClock(ctx context.Context, offset time.Duration, rate float64) error {
	return n.turn.hold(ctx, "set the clock of node "+n.Name(), func(ctx context.Context) error {
		words, err := clockWords(offset, rate)
		if err != nil {
			return err
		}
		state, _, err := n.State(ctx)
		switch {
		case err != nil:
			return err
		case state == Dead:
			return ErrDead
		case state == Paused:
			return errors.New("it is paused")
		}
		if err := n.shimLoaded(ctx); err != nil {
			return err
		}
		said, code, err := n.exec(ctx, append([]string{docker.ClockTool, docker.ClockState}, words...)...)
		if err == nil && code != 0 {
			err = fmt.Errorf("%s (exit code %d)", said, code)
		}
		return err
	})
}

// Clock asks the server.
func (n *dockerNode) Clock(ctx context.Context) (time.Duration, string, error) {
	return readClock(ctx, n)
}

// shimLoaded looks for what the shim makes when it is loaded; an image that is not ours
// has none.
func (n *dockerNode) shimLoaded(ctx context.Context) error {
	_, err := n.engine.ContainerStatPath(ctx, n.containerID(), client.ContainerStatPathOptions{Path: docker.SyncedTable})
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("%w: is the image picklock's own? (%w)", ErrNoShim, err)
	}
	return err
}
