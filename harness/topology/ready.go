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
	name    string // "redis" or "valkey"
	version string // e.g. "7.0.15"
	pid     string // as the server sees itself
}

// readiness asks a server whether it is ready.
type readiness func(context.Context, *redis.Client) error

// waitReady waits until the server of a node at addr is ready, which ready asks. died is
// asked between the attempts: an error from it ends the wait.
func waitReady(ctx context.Context, addr string, ready readiness, died func() error) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	c := dialOnce(addr)
	defer c.Close()
	var got server
	var last error
	err := poll(ctx, 10*time.Millisecond, func() (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		s, err := tryReady(ctx, c, ready)
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

func tryReady(ctx context.Context, c *redis.Client, ready readiness) (server, error) {
	// Without this look go-redis would log each refusal in the name of the program.
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", c.Options().Addr)
	if err != nil {
		return server{}, err
	}
	_ = conn.Close()
	if err := ready(ctx, c); err != nil {
		return server{}, err
	}
	info, err := infoOf(ctx, c, "server")
	if err != nil {
		return server{}, err
	}
	s := server{name: "redis", version: info["redis_version"], pid: info["process_id"]}
	if v := info["valkey_version"]; v != "" { // beside the version of Redis that it stands for
		s.name, s.version = "valkey", v
	}
	return s, nil
}

// writable says whether a SET and a DEL succeed. PING would not do: it is answered while
// the data is still being loaded.
func writable(ctx context.Context, c *redis.Client) error {
	key := "picklock:ready:" + uuid.NewString()
	if err := c.Set(ctx, key, "1", time.Minute).Err(); err != nil {
		return err
	}
	return c.Del(ctx, key).Err()
}

// serving says whether the server has loaded its data and answers commands. A replica
// refuses a write for what it is, and a primary for want of replicas or of memory: those
// may be away or full for as long as a test likes, and are answers all the same.
func serving(ctx context.Context, c *redis.Client) error {
	err := writable(ctx, c)
	for _, refusal := range []string{"READONLY", "NOREPLICAS", "OOM", "MISCONF"} {
		if redis.HasErrorPrefix(err, refusal) {
			return nil
		}
	}
	return err
}

// infoOf asks for one section of INFO.
func infoOf(ctx context.Context, c *redis.Client, section string) (map[string]string, error) {
	text, err := c.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	return fields, nil
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

// refusedConfig is how Redis and Valkey begin to tell that they refuse their configuration;
// in which line, and why, comes after it.
const refusedConfig = "FATAL CONFIG FILE ERROR"

// endedAtOnce is the error of a server that ended before it was ready, with what it said
// last.
func endedAtOnce(what, logPath string) error {
	err := fmt.Errorf("%s ended at once: %s", what, lastLines(logPath, 3))
	if strings.Contains(lastLines(logPath, 6), refusedConfig) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return err
}
