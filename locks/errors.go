package locks

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// This file is the one place that decides what an error proves. It errs on the side of
// "unknown": timeouts, resets, an end of file, a context that ended during a read, and a
// failed handshake (which the client does not tell from a failed command) prove nothing.

// Answered reports whether err (nil too) is or follows from the server's answer: a client
// library that retries blindly sends a command again only without one.
func Answered(err error) bool {
	var reply redis.Error
	return err == nil || errors.As(err, &reply)
}

// NotSent reports whether err proves that nothing of the command left this process: no
// connection could be dialled, or none was free.
func NotSent(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.Is(err, redis.ErrClosed) || errors.Is(err, errNotLoaded)
}

// NotExecuted reports whether err proves that a single command changed nothing: it was
// not sent, or the server answered with an error, which it does instead of executing.
func NotExecuted(err error) bool {
	if NotSent(err) {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply) && !errors.Is(err, redis.Nil) && !errors.Is(err, redis.TxFailedErr)
}

// ScriptNotExecuted reports whether err proves that a Lua script did not begin to run. A
// script that fails half-way keeps what it wrote, so an error reply from within it (Redis
// appends "script: <sha>, on @user_script:<line>") proves nothing.
func ScriptNotExecuted(err error) bool {
	if NotSent(err) {
		return true
	}
	var reply redis.Error
	if !errors.As(err, &reply) || strings.Contains(reply.Error(), " script: ") {
		return false
	}
	return slices.ContainsFunc(beforeScript(), func(prefix string) bool {
		return strings.HasPrefix(reply.Error(), prefix)
	})
}

// beforeScript lists the beginnings of the error replies that a server gives in place of
// running a script.
func beforeScript() []string {
	return []string{
		"NOSCRIPT ", "ERR Error compiling script",
		"LOADING ", "BUSY ", "MASTERDOWN ", "READONLY ", "OOM ", "MISCONF ", "NOREPLICAS ",
		"NOAUTH ", "NOPERM ", "MOVED ", "ASK ", "TRYAGAIN ", "CLUSTERDOWN ", "CROSSSLOT ",
		"ERR max number of clients reached", "ERR unknown command", "ERR wrong number of arguments",
	}
}

// TransactionNotExecuted reports whether err proves that a MULTI block changed nothing: it
// was not sent, EXEC found a watched key changed, or EXEC was refused because a command
// could not be queued. Other error replies prove nothing: when MULTI itself is refused,
// the commands behind it run on their own.
func TransactionNotExecuted(err error) bool {
	return NotSent(err) || errors.Is(err, redis.TxFailedErr) || redis.IsExecAbortError(err)
}

// unacquired is the error of an attempt to take the lock that err ended; certain says
// that err proves that the attempt took nothing.
func unacquired(certain bool, err error) error {
	if certain {
		return fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	return err
}

// unchanged is the error of a release or a renewal that err ended; certain says that err
// proves that the lock was left as it was.
func unchanged(certain bool, err error) error {
	if certain {
		return fmt.Errorf("%w: %w", ErrNoEffect, err)
	}
	return err
}

// thrown marks an error that the source's code lets out of its finally block: Spring and
// phpredis throw when a command fails, Jedis' callers catch.
func thrown(err error) error {
	return fmt.Errorf("%w, %w", err, ErrThrown)
}

// uncaught marks the errors of a release that the source throws out of its finally block.
// An answer "not yours" is no exception: those sources ignore it.
func uncaught(err error) error {
	if err == nil || errors.Is(err, ErrNotHeld) || errors.Is(err, ErrToldNotHeld) {
		return err
	}
	return thrown(err)
}

// gaveUp is the error of an Acquire whose attempts all failed for certain when its time
// was over.
func gaveUp(why error) error {
	return fmt.Errorf("%w: %w", ErrNotAcquired, why)
}
