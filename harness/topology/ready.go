package topology

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// dialOnce is a client that does what it is told: one connection, no retries, no
// commands of its own, and no patience beyond a second.
func dialOnce(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, PoolSize: 1, MaxRetries: -1, DialerRetries: 1, Protocol: 2,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// server is what a ready node says of itself.
type server struct {
	version string // e.g. "7.0.15"
	pid     string // as the server sees itself
}

// waitReady waits until a SET and a DEL succeed at addr. PING would not do: it is answered
// while the data is still being loaded. died is asked between the attempts: an error from
// it ends the wait.
func waitReady(ctx context.Context, addr string, died func() error) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	c := dialOnce(addr)
	defer c.Close()
	var got server
	var last error
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		s, err := tryReady(ctx, c)
		if err != nil && ctx.Err() == nil { // an error of our own deadline would hide the server's
			last = err
		}
		got = s
		return err == nil, nil
	})
	if err != nil && last != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s is not ready: %w (last answer: %w)", addr, err, last)
	}
	return got, err
}

func tryReady(ctx context.Context, c *redis.Client) (server, error) {
	// Without this look go-redis would log each refusal in the name of the program.
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", c.Options().Addr)
	if err != nil {
		return server{}, err
	}
	_ = conn.Close()
	key := "picklock:ready:" + uuid.NewString()
	if err := c.Set(ctx, key, "1", time.Minute).Err(); err != nil {
		return server{}, err
	}
	if err := c.Del(ctx, key).Err(); err != nil {
		return server{}, err
	}
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return server{}, err
	}
	var s server
	for line := range strings.Lines(info) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key {
		case "redis_version":
			s.version = value
		case "process_id":
			s.pid = value
		}
	}
	return s, nil
}

// lastLines is the end of a log for an error message, on one line.
func lastLines(path string, n int) string {
	f, err := os.Open(path)
	if err != nil {
		return "no log: " + err.Error()
	}
	defer f.Close()
	var tail []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" {
			tail = append(tail, line)
			tail = tail[max(0, len(tail)-n):]
		}
	}
	return strings.Join(tail, " | ")
}
