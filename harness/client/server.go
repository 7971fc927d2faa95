package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
)

// server is the number of the node on which an operation is done. It is found out only
// where the lock's one server changes: a client that follows the primary may be connected
// to the old one still while its neighbour asks the new one, and an effect on the one says
// nothing of the keys of the other.
type server struct{ n atomic.Uint32 }

type serverKey struct{}

// of is ctx, whose commands tell s where they went.
func (s *server) of(ctx context.Context) context.Context {
	return context.WithValue(ctx, serverKey{}, s)
}

func (s *server) number() uint8 { return uint8(s.n.Load()) }

// forget begins anew: what was sent before can no longer be what decides.
func (s *server) forget() { s.n.Store(uint32(history.ServerUnknown)) }

// went notes that a command went to a node.
func (s *server) went(n uint8) {
	if s.n.CompareAndSwap(uint32(history.ServerUnknown), uint32(n)) || s.number() == n {
		return
	}
	s.n.Store(uint32(history.ServerSeveral))
}

// numbered is a connection that knows the number of its node. It stays a TCP connection,
// whose health go-redis looks after.
type numbered struct {
	*net.TCPConn
	addr numberedAddr
}

func (c numbered) RemoteAddr() net.Addr { return c.addr }

type numberedAddr struct {
	net.Addr
	server uint8
}

// numbered lets a connection to a lock node know its number: its place among them.
func (p *process) numbered(conn net.Conn, node string) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	n := slices.Index(p.cfg.Locks, node) + 1
	if !ok || n == 0 || n > int(history.LastServer) || len(p.cfg.Sentinels) == 0 {
		return conn
	}
	return numbered{tcp, numberedAddr{conn.RemoteAddr(), uint8(n)}}
}

// answers hears from go-redis on which connection each command went, which it tells its
// metrics alone.
type answers struct{}

var _ redis.OTelRecorder = answers{}

// RecordOperationDuration is called before the command's result is given to the caller.
func (answers) RecordOperationDuration(ctx context.Context, _ time.Duration, _ redis.Cmder, _ int, err error, c redis.ConnInfo, _ int) {
	heard(ctx, err, c)
}

func (answers) RecordPipelineOperationDuration(ctx context.Context, _ time.Duration, _ string, _, _ int, err error, c redis.ConnInfo, _ int) {
	heard(ctx, err, c)
}

func heard(ctx context.Context, err error, c redis.ConnInfo) {
	s, ok := ctx.Value(serverKey{}).(*server)
	if !ok || c == nil || refused(err) {
		return
	}
	if a, ok := c.RemoteAddr().(numberedAddr); ok {
		s.went(a.server)
	}
}

// refused says whether the server answered that it did nothing, such as NOSCRIPT or
// READONLY: the command may be sent to another one then.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) && !errors.Is(err, redis.Nil)
}

// The other metrics are nothing to the record.

func (answers) RecordConnectionCreateTime(context.Context, time.Duration, redis.ConnInfo) {}
func (answers) RecordConnectionRelaxedTimeout(context.Context, int, redis.ConnInfo, string, string) {
}
func (answers) RecordConnectionHandoff(context.Context, redis.ConnInfo, string)           {}
func (answers) RecordError(context.Context, string, redis.ConnInfo, string, bool, int)    {}
func (answers) RecordMaintenanceNotification(context.Context, redis.ConnInfo, string)     {}
func (answers) RecordConnectionWaitTime(context.Context, time.Duration, redis.ConnInfo)   {}
func (answers) RecordConnectionClosed(context.Context, redis.ConnInfo, string, error)     {}
func (answers) RecordPubSubMessage(context.Context, redis.ConnInfo, string, string, bool) {}
func (answers) RecordStreamLag(context.Context, time.Duration, redis.ConnInfo, string, string, string) {
}
