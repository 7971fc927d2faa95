package topology

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"picklock/docker"
)

// Check is one thing that "picklock doctor" looks at.
type Check struct {
	Name   string
	OK     bool
	Detail string // what was found
	Cure   string // what to do; empty when OK
}

// Doctor looks at what the runtimes need here. image is the node image to look for; empty
// means our own. No single failed check stops picklock: one of the runtimes is enough.
func Doctor(ctx context.Context, image string) []Check {
	return []Check{
		checkDocker(ctx),
		checkImage(ctx, image),
		checkServer(ctx),
		checkLoopback(),
		checkCompiler(),
		checkFirewall(),
		checkDebootstrap(),
		checkRoot(),
	}
}

func checkDocker(ctx context.Context) Check {
	version, err := engineVersion(ctx)
	if err != nil {
		return Check{Name: "docker", Detail: err.Error(), Cure: "install and start the Docker engine, or use --runtime process"}
	}
	return Check{Name: "docker", OK: true, Detail: "engine " + version}
}

func checkImage(ctx context.Context, image string) Check {
	cure := "picklock image"
	if image == "" {
		image = docker.Tag()
	} else if image != docker.Tag() {
		cure = "docker pull " + image
	}
	engine, err := docker.Connect(ctx)
	if err != nil {
		return Check{Name: "image", Detail: image + ": no engine to ask", Cure: "see docker"}
	}
	defer engine.Close()
	has, err := docker.Has(ctx, engine, image)
	switch {
	case err != nil:
		return Check{Name: "image", Detail: err.Error(), Cure: cure}
	case !has:
		return Check{Name: "image", Detail: image + " is missing; a run makes it first", Cure: cure}
	}
	return Check{Name: "image", OK: true, Detail: image}
}

func checkServer(ctx context.Context) Check {
	p, err := NewProcess()
	if err != nil {
		return Check{Name: "redis-server", Detail: ErrNoServer.Error(), Cure: "apt-get install redis-server, or use --runtime docker"}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	is, err := versionOf(ctx, p.server)
	if err != nil {
		return Check{Name: "redis-server", Detail: err.Error(), Cure: "install redis-server anew"}
	}
	return Check{Name: "redis-server", OK: true, Detail: is.version + ", " + p.server}
}

func checkLoopback() Check {
	a, err := claimAddress(Owner(), "doctor")
	if err != nil {
		return Check{Name: "loopback", Detail: err.Error(),
			Cure: "give the loopback device all of 127.0.0.0/8 (Linux does), or use --runtime docker"}
	}
	defer a.release()
	return Check{Name: "loopback", OK: true, Detail: "a node can listen on " + a.String()}
}

func checkDebootstrap() Check {
	path, err := exec.LookPath("debootstrap")
	if err != nil {
		return Check{Name: "debootstrap", Detail: "not found; only needed to build the image where no registry can be reached",
			Cure: "apt-get install debootstrap (the build does so itself when it runs as root)"}
	}
	return Check{Name: "debootstrap", OK: true, Detail: path}
}

func checkCompiler() Check {
	path, err := exec.LookPath("cc")
	if err != nil {
		return Check{Name: "C compiler", Detail: "cc is not in PATH; only needed by faults of clock and power in the process runtime", Cure: noCompilerCure}
	}
	return Check{Name: "C compiler", OK: true, Detail: path}
}

func checkFirewall() Check {
	path, err := exec.LookPath("iptables")
	if err != nil {
		return Check{Name: "iptables", Detail: "not found; only needed by faults that cut servers from each other in the process runtime",
			Cure: "apt-get install iptables, or use --runtime docker"}
	}
	return Check{Name: "iptables", OK: true, Detail: path}
}

func checkRoot() Check {
	if uid := os.Getuid(); uid != 0 {
		return Check{Name: "root", Detail: fmt.Sprintf("user %d; only needed to build the image where no registry can be reached", uid),
			Cure: "sudo picklock image"}
	}
	return Check{Name: "root", OK: true, Detail: "yes"}
}
