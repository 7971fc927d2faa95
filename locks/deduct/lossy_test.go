package deduct_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// lossy is a hook that loses answers: the server executes the command, or the whole
// transaction, and the client hears nothing.
type lossy struct {
	command string // e.g. "evalsha", "exec"

	mu    sync.Mutex
	left  int   // answers to lose
	after error // what the commands of that name end with after that, unsent; nil: they work
	sent  int   // tries of the command
}

func (l *lossy) fate(names ...string) (lost bool, unsent error) {
	if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, l.command) }) {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	if l.left > 0 {
		l.left--
		return true, nil
	}
	return false, l.after
}

func (l *lossy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		lost, err := l.fate(cmd.Name())
		if err == nil {
			err = next(ctx, cmd)
		}
		if lost {
			err = io.EOF
		}
		cmd.SetErr(err)
		return err
	}
}

func (l *lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		names := make([]string, len(cmds))
		for i, c := range cmds {
			names[i] = c.Name()
		}
		lost, err := l.fate(names...)
		if err == nil {
			err = next(ctx, cmds)
		}
		if lost {
			err = io.EOF
		}
		return err
	}
}
