package topology

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// AwaitReplication waits until primary is a primary and reports n replicas, at least, as
// online: only those acknowledge writes. It waits no longer than ReadyTimeout.
func AwaitReplication(ctx context.Context, primary Node, n int) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	c := dialOnce(primary.Addr())
	defer c.Close()
	var seen string
	err := poll(ctx, 10*time.Millisecond, func() (bool, error) {
		info, err := infoOf(ctx, c, "replication")
		if err != nil {
			if ctx.Err() == nil {
				seen = err.Error()
			}
			return false, nil
		}
		online := onlineReplicas(info)
		seen = fmt.Sprintf("role %s, %d online", info["role"], online)
		return info["role"] == "master" && online >= n, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %d replicas of node %s to be online: %w (seen last: %s)", n, primary.Name(), err, seen)
	}
	return nil
}

// onlineReplicas counts in lines like "slave0:ip=127.1.2.3,port=6379,state=online,...". The
// field connected_slaves would not do: it counts those that still load, too.
func onlineReplicas(replication map[string]string) int {
	online := 0
	for key, value := range replication {
		if rest, ok := strings.CutPrefix(key, "slave"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" &&
			strings.Contains(","+value+",", ",state=online,") {
			online++
		}
	}
	return online
}
