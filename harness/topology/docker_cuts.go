package topology

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/client"
)

// cutsFile holds a container's cuts in the words of iptables-restore. They are in force
// before the server is started: not one packet comes through a cut that outlives its node.
const cutsFile = "picklock-cuts"

// underCuts is the entrypoint of a node: it makes the cuts and becomes the image's own.
var underCuts = []string{"sh", "-c",
	"if [ -s /" + cutsFile + " ]; then iptables-restore -w 10 --noflush /" + cutsFile + ` || exit 1; fi; exec "$@"`, "sh"}

// restoreOf is that file; empty without cuts.
func restoreOf(cuts map[rule]bool) string {
	if len(cuts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("*filter\n")
	for r := range cuts {
		fmt.Fprintf(&b, "-I %s\n", strings.Join(r.spec(), " "))
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// writeCuts tells the dead container which cuts its next life begins with.
func (n *dockerNode) writeCuts(ctx context.Context) error {
	text := restoreOf(n.cuts)
	if text == "" && !n.cutsWritten {
		return nil
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Name: cutsFile, Mode: 0o644, Size: int64(len(text))}); err != nil {
		return fmt.Errorf("pack the cuts: %w", err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return fmt.Errorf("pack the cuts: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("pack the cuts: %w", err)
	}
	_, err := n.engine.CopyToContainer(ctx, n.containerID(), client.CopyToContainerOptions{DestinationPath: "/", Content: &buf})
	if err != nil {
		return fmt.Errorf("write the cuts: %w", err)
	}
	n.cutsWritten = text != ""
	return nil
}
