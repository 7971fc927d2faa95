package topology

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"picklock/docker"
)

// LosePower kills the container and cuts its server's files. Nothing can be run in a dead
// container, so the engine's archive calls fetch the files and put back what remains of
// them: that works with an engine on another machine too.
func (n *dockerNode) LosePower(ctx context.Context) (string, error) {
	var files []aofFile
	err := n.turn.hold(ctx, "take the power from node "+n.Name(), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		if err := n.shimLoaded(ctx); err != nil { // before the server is dead for nothing
			return err
		}
		if err := n.kill(ctx); err != nil {
			return err
		}
		err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
			state, _, err := n.State(ctx)
			return state == Dead, err
		})
		if err != nil {
			return err
		}
		synced, err := n.synced(ctx)
		if err != nil {
			return err
		}
		files, err = n.cut(ctx, synced)
		return err
	})
	if err != nil {
		return "", err
	}
	return lossProof(files), nil
}

// synced reads what was synced of each file, by its path in the container.
func (n *dockerNode) synced(ctx context.Context) (map[string]int64, error) {
	var table []byte
	err := n.fetch(ctx, docker.SyncedTable, func(_ *tar.Header, content io.Reader) error {
		var err error
		table, err = io.ReadAll(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	records, err := parseSynced(table)
	if err != nil {
		return nil, err
	}
	return byPath(records, func(path string) (bool, error) {
		_, err := n.engine.ContainerStatPath(ctx, n.containerID(), client.ContainerStatPathOptions{Path: path})
		if errdefs.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// cut shortens the append-only files to what was synced.
func (n *dockerNode) cut(ctx context.Context, synced map[string]int64) ([]aofFile, error) {
	var files []aofFile
	var remains bytes.Buffer
	cut := false
	w := tar.NewWriter(&remains)
	err := n.fetch(ctx, path.Join(dataDir, aofDir), func(h *tar.Header, content io.Reader) error {
		f := afterPowerLoss(path.Base(h.Name), h.Size, synced[path.Join(dataDir, h.Name)])
		files = append(files, f)
		if f.kept == f.size {
			return nil
		}
		cut = true
		short := *h
		short.Size = f.kept
		if err := w.WriteHeader(&short); err != nil {
			return err
		}
		_, err := io.CopyN(w, content, f.kept)
		return err
	})
	if errdefs.IsNotFound(err) { // it keeps none
		return nil, nil
	}
	if err := errors.Join(err, w.Close()); err != nil || !cut {
		return files, err
	}
	_, err = n.engine.CopyToContainer(ctx, n.containerID(), client.CopyToContainerOptions{DestinationPath: dataDir, Content: &remains})
	if err != nil {
		return nil, fmt.Errorf("put back what remains: %w", err)
	}
	return files, nil
}

// fetch calls do for each regular file at a path in the container; names are relative to
// what the path lies in.
func (n *dockerNode) fetch(ctx context.Context, from string, do func(*tar.Header, io.Reader) error) error {
	got, err := n.engine.CopyFromContainer(ctx, n.containerID(), client.CopyFromContainerOptions{SourcePath: from})
	if err != nil {
		return fmt.Errorf("fetch %s: %w", from, err)
	}
	defer got.Content.Close()
	for r := tar.NewReader(got.Content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", from, err)
		}
		if h.Typeflag == tar.TypeReg {
			if err := do(h, r); err != nil {
				return fmt.Errorf("fetch %s: %w", from, err)
			}
		}
	}
}
