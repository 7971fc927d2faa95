package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// logPatience bounds the wait for the rest of an ended container's log.
const logPatience = 5 * time.Second

// follower copies what a container says, from one start to its end, to a file.
type follower struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// lastEnd is when the container last ended, by the engine's clock, as its log's times are;
// empty before its first end. Asked before a start, it divides the lives in the log: the
// engine notes the start itself only when the server already speaks.
func lastEnd(ctx context.Context, engine *client.Client, id string) (string, error) {
	res, err := engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("look at the container: %w", err)
	}
	if s := res.Container.State; s != nil && !strings.HasPrefix(s.FinishedAt, "0001-") {
		return s.FinishedAt, nil
	}
	return "", nil
}

// follow begins with the life that came after since (see lastEnd); what earlier lives
// said is in the file already. It goes on until the container ends, whatever becomes of
// ctx. The node that owns the follower waits for it.
func follow(ctx context.Context, engine *client.Client, id, since, path string) (*follower, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("follow the log: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := engine.ContainerLogs(ctx, id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true, Since: since,
	})
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("follow the log: %w", err), file.Close())
	}
	f := &follower{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		defer file.Close()
		defer stream.Close()
		if _, err := stdcopy.StdCopy(file, file, stream); err != nil && ctx.Err() == nil {
			fmt.Fprintf(file, "(the log breaks off here: %v)\n", err)
		}
	}()
	return f, nil
}

// wait gives the log of an ended container time to arrive.
func (f *follower) wait(ctx context.Context) {
	if f == nil {
		return
	}
	patience := time.NewTimer(logPatience)
	defer patience.Stop()
	select {
	case <-f.ended:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// stop ends the follower and waits for it.
func (f *follower) stop() {
	if f == nil {
		return
	}
	f.cancel()
	<-f.ended
}
