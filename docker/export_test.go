package docker

import (
	"context"
	"io"
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
