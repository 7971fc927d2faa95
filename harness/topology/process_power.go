package topology

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// LosePower kills the server and cuts its files.
func (n *processNode) LosePower(ctx context.Context) (string, error) {
	var files []aofFile
	err := n.turn.hold(ctx, "take the power from node "+n.Name(), func(ctx context.Context) error {
		err := n.shimLoaded() // before the server is dead for nothing
		if g := n.current(); err == nil && g != nil && !g.gone() {
			err = g.end(ctx) // a write that sleeps in the kernel must not come after the cut
		}
		if err != nil {
			return err
		}
		files, err = cutFolder(n.dir)
		return err
	})
	if err != nil {
		return "", err
	}
	return lossProof(files), nil
}

// cutFolder cuts the append-only files in a server's data folder at what was synced.
func cutFolder(dir string) ([]aofFile, error) {
	dir, err := filepath.EvalSymlinks(dir) // the server's paths have none
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile(filepath.Join(dir, syncedFile))
	if err != nil {
		return nil, err
	}
	records, err := parseSynced(table)
	if err != nil {
		return nil, err
	}
	synced, err := byPath(records, exists)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, aofDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var files []aofFile
	for _, e := range entries {
		path := filepath.Join(dir, aofDir, e.Name())
		st, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !st.Mode().IsRegular() {
			continue
		}
		f := afterPowerLoss(e.Name(), st.Size(), synced[path])
		if err := os.Truncate(path, f.kept); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
