package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"picklock/harness"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
)

// BenchmarkCheck measures picklock check as its user does: the whole process, from the
// stored history of locks and stock (20 clients, 1% of the operations without a completion)
// to the report, in seconds and MiB at its peak. A shorter one has no quiet tail to judge.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := harness.Defaults()
			o.Lock, o.Nemesis = "uuid-lua", nil
			o, err := harness.Plan(o)
			if err != nil {
				b.Fatal(err)
			}
			dir := store.Dir(b.TempDir())
			if err := dir.WriteTest(&o.Test); err != nil {
				b.Fatal(err)
			}
			if err := historytest.Write(dir.Path(store.HistoryFile), historytest.Config{Operations: n, Unknown: 0.01, Seed: 1}); err != nil {
				b.Fatal(err)
			}
			file, err := os.Stat(dir.Path(store.HistoryFile))
			if err != nil {
				b.Fatal(err)
			}
			peak, cpu := int64(0), time.Duration(0)
			for b.Loop() {
				cmd := exec.Command(binary, "check", string(dir))
				cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/check")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/check")
			b.ReportMetric(float64(peak)/1024, "MiB")
			b.ReportMetric(float64(file.Size())/1e6, "MB/file")
		})
	}
}
