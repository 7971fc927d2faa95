package locks_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// proof is what the classifier says of one error.
type proof struct{ sent, command, script, transaction bool }

func proofOf(err error) proof {
	return proof{
		sent:        !locks.NotSent(err),
		command:     locks.NotExecuted(err),
		script:      locks.ScriptNotExecuted(err),
		transaction: locks.TransactionNotExecuted(err),
	}
}

// What kinds of errors prove: nothing was sent; nothing is known; the server refused the
// command before it ran.
var (
	unsent  = proof{sent: false, command: true, script: true, transaction: true}
	unknown = proof{sent: true}
	refused = proof{sent: true, command: true, script: true}
)

func TestErrorsOfTheNetwork(t *testing.T) {
	t.Parallel()
	short := func(o *redis.Options) { o.ReadTimeout = 50 * time.Millisecond }
	on := func(command, answer string) func([]string) string {
		return func(args []string) string {
			if args[0] == command {
				return answer
			}
			return ""
		}
	}
	for _, c := range []struct {
		name string
		addr string
		ctx  time.Duration // 0: no deadline
		opt  func(*redis.Options)
		want proof
	}{
		{name: "nobody listens", addr: redistest.DeadAddr(t), want: unsent},
		{name: "the reply never comes", addr: redistest.Fake(t, on("setnx", redistest.Hold)), opt: short, want: unknown},
		{name: "the context's deadline ends the read", addr: redistest.Fake(t, on("setnx", redistest.Hold)), ctx: 50 * time.Millisecond, want: unknown},
		{name: "the server hangs up on the command", addr: redistest.Fake(t, on("setnx", redistest.HangUp)), want: unknown},
		{name: "the server hangs up on the handshake", addr: redistest.Fake(t, on("hello", redistest.HangUp)), want: unknown},
		{name: "the handshake is never answered", addr: redistest.Fake(t, on("hello", redistest.Hold)), opt: short, want: unknown},
		{name: "a reply that is no Redis", addr: redistest.Fake(t, on("setnx", "?what")), want: unknown},
		{name: "loading", addr: redistest.Fake(t, on("setnx", "-LOADING Redis is loading the dataset in memory")), want: refused},
		{name: "master down", addr: redistest.Fake(t, on("setnx", "-MASTERDOWN Link with MASTER is down")), want: refused},
		{name: "cannot persist", addr: redistest.Fake(t, on("setnx", "-MISCONF Redis is configured to save RDB snapshots")), want: refused},
		{name: "busy with a script", addr: redistest.Fake(t, on("setnx", "-BUSY Redis is busy running a script.")), want: refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var options []func(*redis.Options)
			if c.opt != nil {
				options = append(options, c.opt)
			}
			ctx := t.Context()
			if c.ctx > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.ctx)
				defer cancel()
			}
			err := redistest.Client(t, c.addr, options...).Do(ctx, "setnx", "k", "v").Err()
			checkProof(t, err, c.want)
		})
	}
}

func TestErrorsOfThePool(t *testing.T) {
	t.Parallel()
	addr := redistest.Fake(t, func(args []string) string {
		if args[0] == "hello" {
			return ""
		}
		return "+OK"
	})
	t.Run("no connection is free", func(t *testing.T) {
		c := redistest.Client(t, addr, func(o *redis.Options) { o.PoolSize = 1; o.PoolTimeout = 20 * time.Millisecond })
		var err error
		held := c.Watch(t.Context(), func(tx *redis.Tx) error {
			if err := tx.Ping(t.Context()).Err(); err != nil {
				return err
			}
			err = c.Get(t.Context(), "k").Err() // while tx has the only connection
			return nil
		})
		if held != nil {
			t.Fatalf("the transaction that takes the connection: %v", held)
		}
		checkProof(t, err, unsent)
	})
	t.Run("the client is closed", func(t *testing.T) {
		c := redistest.Client(t, addr)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		checkProof(t, c.Get(t.Context(), "k").Err(), unsent)
	})
}

func TestErrorsOfARealServer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, ctx := s.Client(), t.Context()
	config := func(name, value string) {
		t.Helper()
		if err := c.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatalf("CONFIG SET %s %s: %v", name, value, err)
		}
	}
	set := func() error { return c.Eval(ctx, "return redis.call('set', KEYS[1], 1)", []string{"k"}).Err() }
	half := proof{sent: true, command: true} // of a single command it would be proof; a script may have written

	checkProof(t, c.EvalSha(ctx, "0123456789012345678901234567890123456789", nil).Err(), refused)
	checkProof(t, c.Eval(ctx, "local in = 1", nil).Err(), refused)
	checkProof(t, c.Eval(ctx, "redis.call('set', 'text', 'x') return redis.call('incr', 'text')", nil).Err(), half)
	if got := c.Get(ctx, "text").Val(); got != "x" {
		t.Fatalf("the script that failed half-way left %q, want \"x\": such an error must not count as proof", got)
	}
	config("maxmemory", "1")
	checkProof(t, c.SetNX(ctx, "k", 1, 0).Err(), refused)
	checkProof(t, set(), half)
	config("maxmemory", "0")
	config("min-replicas-to-write", "1")
	checkProof(t, c.SetNX(ctx, "k", 1, 0).Err(), refused)
	checkProof(t, set(), half)
	config("min-replicas-to-write", "0")
	if err := c.Do(ctx, "replicaof", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	checkProof(t, s.Client().SetNX(ctx, "k", 1, 0).Err(), refused)
	checkProof(t, s.Client().Eval(ctx, "return redis.call('set', KEYS[1], 1)", []string{"k"}).Err(), half)
	if err := s.Client().Do(ctx, "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	checkProof(t, c.Incr(ctx, "text").Err(), proof{sent: true, command: true})
	if got := s.Client().Get(ctx, "k").Err(); !errors.Is(got, redis.Nil) {
		t.Errorf("k: %v, want redis.Nil: one of the refused commands was executed after all", got)
	}

	s.Kill()
	redistest.Eventually(t, 10*time.Second, "a client of a dead server fails to dial", func() bool {
		return locks.NotSent(s.Client().Get(ctx, "k").Err())
	})
}

func TestErrorsOfATransaction(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, ctx := s.Client(), t.Context()
	err := c.Watch(ctx, func(tx *redis.Tx) error {
		if err := c.Set(ctx, "k", "changed", 0).Err(); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "k", "mine", 0).Err() })
		return err
	}, "k")
	if !locks.TransactionNotExecuted(err) || locks.NotExecuted(err) {
		t.Errorf("EXEC on a changed key: %v gives %+v, want proof for the transaction only", err, proofOf(err))
	}
	_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "k", "mine", 0)
		return p.Do(ctx, "nosuchcommand").Err()
	})
	if !locks.TransactionNotExecuted(err) {
		t.Errorf("a command that cannot be queued: %v, want proof that nothing ran: EXEC was refused", err)
	}
	_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "done", "yes", 0)
		return p.Incr(ctx, "k").Err()
	})
	if err == nil || locks.TransactionNotExecuted(err) {
		t.Errorf("a command that fails within EXEC: %v counts as proof, but the ones before it ran (done=%q)", err, c.Get(ctx, "done").Val())
	}
	if got := c.Get(ctx, "k").Val(); got != "changed" {
		t.Errorf("k is %q, want \"changed\": a transaction that was proven not executed was", got)
	}
}

func TestNoProof(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		nil, redis.Nil, context.Canceled, context.DeadlineExceeded, errors.New("something else"),
		&net.OpError{Op: "read", Err: errors.New("connection reset by peer")},
		&net.OpError{Op: "write", Err: errors.New("broken pipe")},
	} {
		checkProof(t, err, unknown)
	}
	checkProof(t, fmt.Errorf("wrapped: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), unsent)
}

func checkProof(t *testing.T, err error, want proof) {
	t.Helper()
	if got := proofOf(err); got != want {
		t.Errorf("%v (%T): got %+v, want %+v: the history would record a guess", err, err, got, want)
	}
}
