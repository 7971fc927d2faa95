package topology

import (
	"fmt"
	"strings"
)

// aofDir is the folder of a server's append-only files, in its data directory. Redis 7 and
// Valkey keep them so: a base, increments, and a manifest that lists them.
const aofDir = "appendonlydir"

// aofFile is an append-only file of a dead server, and what a power failure leaves of it.
type aofFile struct {
	name       string
	size, kept int64 // bytes
}

// afterPowerLoss is what remains of a file of this size of which the first synced bytes
// were vouched for; of a file that was never synced, nothing. On a real disk more may be
// left, by luck; no less may.
func afterPowerLoss(name string, size, synced int64) aofFile {
	return aofFile{name: name, size: size, kept: min(size, synced)}
}

// lossProof says what was lost, e.g. "lost 123 of 4567 bytes of appendonly.aof.1.incr.aof".
func lossProof(files []aofFile) string {
	var lost []string
	var size int64
	for _, f := range files {
		size += f.size
		if f.kept < f.size {
			lost = append(lost, fmt.Sprintf("%d of %d bytes of %s", f.size-f.kept, f.size, f.name))
		}
	}
	switch {
	case len(lost) > 0:
		return "lost " + strings.Join(lost, ", ")
	case len(files) > 0:
		return fmt.Sprintf("lost 0 bytes: all %d of its %d append-only files were synced", size, len(files))
	}
	return "lost what was in memory: it keeps no append-only file"
}
