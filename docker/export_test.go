package docker

import (
	"context"
	"io"

	"github.com/moby/moby/client"
)

// LockBuild lets tests hold the lock that builds exclude each other with.
func LockBuild(ctx context.Context, report func(string)) (unlock func(), err error) {
	return lockBuild(ctx, report)
}

// Follow reads a recorded answer of the engine.
func Follow(stream io.Reader, report func(string)) error {
	return (&builder{report: report}).follow(stream)
}

// BaseScript is base.sh as it is embedded.
func BaseScript() []byte { return baseScript }

// MakeBase makes a base of a Debian release by base.sh, whatever the engine has already.
func MakeBase(ctx context.Context, c *client.Client, report func(string), tag, suite string) error {
	return (&builder{c, report}).makeBase(ctx, tag, suite)
}

// Build builds a node image from a base and packages in it, whatever the engine has already.
func Build(ctx context.Context, c *client.Client, report func(string), tag, base, packages string) error {
	unlock, err := lockBuild(ctx, report) // a build's last act would take another's stage away
	if err != nil {
		return err
	}
	defer unlock()
	return (&builder{c, report}).build(ctx, tag, source{base, packages})
}

// Packages says of which release's packages a server's image is made without a registry.
func Packages(name string) (suite, packages string, err error) {
	s, err := findServer(name)
	return s.suite, s.packages, err
}
