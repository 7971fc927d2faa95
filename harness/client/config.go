// Package client is the client process: an operating-system process that plays an
// application server, with workers that sell stock under a lock. It also holds the
// harness's side of it: the pool that starts, stops, kills and restarts such processes.
//
// The harness speaks to a client over its standard input: one line of configuration,
// then commands. The end of that pipe is the end of the harness, and so of the client. A
// client answers through the journals of its workers only (see harness/history), which
// survive whatever is done to it.
package client

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Argument is the hidden first argument that makes this binary a client process.
const Argument = "client-process"

// Config is what a client process is told at its start, as one line of JSON.
type Config struct {
	Client  int   // number of the client, from 0
	Life    int   // how many processes played this client before
	Epochs  []int // per worker: first epoch of its process ids (see processID)
	Clients int
	Workers int // per client
	Journal string

	Lock   string
	Deduct string
	Locks  []string // names of the lock nodes
	// Sentinels are the names of the Sentinel nodes: the lock's server is then whatever
	// node they say is primary. Aliases maps the addresses that they tell to nodes.
	Sentinels []string
	Aliases   map[string]string
	Replicas  int
	Stock     string            // name of the stock node
	Addrs     map[string]string // host:port by node, as this client reaches it

	Prefix         string // of every key
	Customer       string // what the names of customers begin with
	TTL            time.Duration
	SKUs           int
	Initial        int64
	Depth          int // nested acquires; 1 for locks that are not reentrant
	Think          time.Duration
	ThinkAfter     time.Duration
	Rate           float64 // sales tried per second and worker at most; 0: no bound
	AcquireTimeout time.Duration
	RedisTimeout   time.Duration
	Seed           uint64
	Unrecorded     bool // for the benchmark of recording: operations are not recorded
}

// SKU names the i-th SKU.
func SKU(i int) string { return fmt.Sprintf("sku-%d", i) }

// LockName names the lock that guards a SKU: it is the lock's key.
func LockName(prefix, sku string) string { return prefix + "lock:" + sku }

// slot numbers a worker among all workers of the test.
func (c Config) slot(worker int) int { return c.Client*c.Workers + worker }

// processID is Jepsen's process: the worker's slot in its epoch. A worker begins a new
// epoch after an operation of unknown outcome, and when its client is restarted.
func (c Config) processID(worker, epoch int) int64 {
	return int64(c.slot(worker) + epoch*c.Clients*c.Workers)
}

// epochOf is the inverse of processID.
func (c Config) epochOf(process int64) int { return int(process) / (c.Clients * c.Workers) }

// opsPerProcess bounds the operations of one process, so that an operation's id is its
// process and its number there, readable in decimal: process 17's fifth is 17000005.
const opsPerProcess = 1_000_000

func (c Config) journal(worker int) string {
	return filepath.Join(c.Journal, fmt.Sprintf("client-%d-life-%d-worker-%d.journal", c.Client, c.Life, worker))
}

// Asked reports whether this process was started to be a client.
func Asked() bool { return len(os.Args) == 2 && os.Args[1] == Argument }
