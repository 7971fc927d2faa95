package topology

import (
	"context"
	"fmt"

	"picklock/docker"
)

// Select finds the runtime that name asks for: "docker", "process", or "auto" (or ""),
// which takes Docker if its engine answers. why says in one line what was taken and why.
// The error wraps docker.ErrNoDocker or ErrNoServer where that is the cause, and is one
// line with the cure.
func Select(ctx context.Context, name string, o DockerOptions) (r Runtime, why string, err error) {
	d, err := NewDocker(o)
	if err != nil {
		return nil, "", err
	}
	switch name {
	case "docker":
		version, err := engineVersion(ctx)
		if err != nil {
			return nil, "", fmt.Errorf("%w; start the Docker engine, or use --runtime process", err)
		}
		return d, fmt.Sprintf("runtime docker: asked for, engine %s", version), nil
	case "process":
		p, err := NewProcess()
		if err != nil {
			return nil, "", err
		}
		return p, "runtime process: asked for, " + p.server, nil
	case "auto", "":
		version, noDocker := engineVersion(ctx)
		if noDocker == nil {
			return d, fmt.Sprintf("runtime docker: engine %s answers", version), nil
		}
		if ctx.Err() != nil {
			return nil, "", noDocker
		}
		p, err := NewProcess()
		if err != nil {
			return nil, "", fmt.Errorf("%w; and %w", noDocker, err)
		}
		return p, fmt.Sprintf("runtime process: %v", noDocker), nil
	}
	return nil, "", fmt.Errorf("%q is no runtime: auto, docker or process", name)
}

// engineVersion asks the engine for its version; it waits two seconds for an answer.
func engineVersion(ctx context.Context) (string, error) {
	c, err := docker.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return docker.Version(ctx, c)
}
