package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// lockBuild lets one process of this user build at a time. The kernel drops the lock when
// its holder dies, so nothing can stay locked. Builds by different users, or on the same
// engine from different machines, do not exclude each other: both end with an image of the
// same name and content, which is a waste and no harm.
func lockBuild(ctx context.Context, report func(string)) (unlock func(), err error) {
	path := filepath.Join(os.TempDir(), "picklock-image-"+strconv.Itoa(os.Getuid())+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the image build: %w", err)
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			// The file stays: removing it would let a third process lock another one.
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			report("waiting for another picklock that builds the image")
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for another image build: %w", ctx.Err())
		case <-again.C:
		}
	}
}
