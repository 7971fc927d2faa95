package topology

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// remove takes away all containers, with their volumes, and networks that carry label and
// whose labels match. It says how many it removed. A container that is paused needs no
// thawing first: the engine kills it frozen.
func remove(ctx context.Context, engine *client.Client, label string, match func(labels map[string]string) bool) (int, error) {
	removed := 0
	var errs []error
	count := func(err error, what, id string) {
		switch {
		case err == nil:
			removed++
		case errdefs.IsNotFound(err): // another sweep was faster
		default:
			errs = append(errs, fmt.Errorf("remove %s %.12s: %w", what, id, err))
		}
	}
	containers, err := engine.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", label),
	})
	if err != nil {
		return 0, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers.Items {
		if match(c.Labels) {
			_, err := engine.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			count(err, "container", c.ID)
		}
	}
	networks, err := engine.NetworkList(ctx, client.NetworkListOptions{
		Filters: make(client.Filters).Add("label", label),
	})
	if err != nil {
		return removed, errors.Join(append(errs, fmt.Errorf("list networks: %w", err))...)
	}
	for _, n := range networks.Items {
		if match(n.Labels) {
			_, err := engine.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
			count(err, "network", n.ID)
		}
	}
	return removed, errors.Join(errs...)
}
