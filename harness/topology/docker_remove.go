package topology

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// remove takes away all containers, with their volumes, and networks that carry label and
// whose labels match. It says how many it removed. A container that is paused needs no
// thawing first: the engine kills it frozen.
func remove(ctx context.Context, engine *client.Client, label string, match func(labels map[string]string) bool) (int, error) {
	containers, err := engine.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", label),
	})
	if err != nil {
		return 0, fmt.Errorf("list containers: %w", err)
	}
	var matching []string
	for _, c := range containers.Items {
		if match(c.Labels) {
			matching = append(matching, c.ID)
		}
	}
	removed, err := removeEach("container", matching, func(id string) error {
		_, err := engine.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		return err
	})
	// A network can go when its containers are gone.
	networks, err2 := engine.NetworkList(ctx, client.NetworkListOptions{
		Filters: make(client.Filters).Add("label", label),
	})
	if err2 != nil {
		return removed, errors.Join(err, fmt.Errorf("list networks: %w", err2))
	}
	matching = nil
	for _, n := range networks.Items {
		if match(n.Labels) {
			matching = append(matching, n.ID)
		}
	}
	more, err2 := removeEach("network", matching, func(id string) error {
		_, err := engine.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		return err
	})
	return removed + more, errors.Join(err, err2)
}

// removeEach removes side by side and says how many were there to be removed.
func removeEach(what string, ids []string, do func(id string) error) (int, error) {
	var removed atomic.Int64
	err := each(ids, func(id string) error {
		switch err := do(id); {
		case err == nil:
			removed.Add(1)
		case errdefs.IsNotFound(err), errdefs.IsConflict(err) && strings.Contains(err.Error(), "already in progress"):
			// Another sweep was faster.
		default:
			return fmt.Errorf("remove %s %.12s: %w", what, id, err)
		}
		return nil
	})
	return int(removed.Load()), err
}
