package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The shim's state, in the node's data folder. Redis minds no files that it does not know.
const (
	clockFile  = ".picklock-clock"
	syncedFile = ".picklock-synced"
)

// environment is what the server is started with. Under the shim its clock shows the true
// time again; the table of what was synced goes on, for a restart syncs nothing.
func (n *processNode) environment(ctx context.Context) ([]string, error) {
	if n.shim == nil {
		return ownerEnv(n.run), nil
	}
	clock, synced := filepath.Join(n.dir, clockFile), filepath.Join(n.dir, syncedFile)
	if err := n.shim.setClock(ctx, clock, "reset"); err != nil {
		return nil, fmt.Errorf("set the clock right: %w", err)
	}
	return ownerEnv(n.run, n.shim.env(clock, synced)...), nil
}

// shimLoaded looks whether a living server has the shim in its memory: a server that is
// linked statically, say, would have been started without it and in silence.
func (n *processNode) shimLoaded() error {
	if n.shim == nil {
		return fmt.Errorf("%w: the plan did not ask for it", ErrNoShim)
	}
	g := n.current()
	if g == nil || g.gone() {
		return nil
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", g.pid))
	if errors.Is(err, os.ErrNotExist) { // it died just now
		return nil
	}
	if len(maps) > 0 && !bytes.Contains(maps, []byte(n.shim.lib)) { // a zombie has nothing mapped
		err = fmt.Errorf("%w: it is not among what process %d has mapped", ErrNoShim, g.pid)
	}
	return err
}

// SetClock writes what the shim in the server reads. It works while the node is paused too.
func (n *processNode) SetClock(ctx context.Context, offset time.Duration, rate float64) error {
	return n.turn.hold(ctx, "set the clock of node "+n.Name(), func(ctx context.Context) error {
		words, err := clockWords(offset, rate)
		if err != nil {
			return err
		}
		if err := n.shimLoaded(); err != nil {
			return err
		}
		if g := n.current(); g == nil || g.gone() {
			return ErrDead
		}
		return n.shim.setClock(ctx, filepath.Join(n.dir, clockFile), words...)
	})
}

// Clock asks the server.
func (n *processNode) Clock(ctx context.Context) (time.Duration, string, error) {
	return readClock(ctx, n)
}
