package reports

import (
	"runtime"
	"syscall"
	"testing"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
)

// BenchmarkCharts draws every chart of a test of a million operations, whose lanes and
// holds the timeline needs anyway.
func BenchmarkCharts(b *testing.B) {
	h, err := history.Assemble(historytest.Events(historytest.Config{Operations: 1_000_000}))
	if err != nil {
		b.Fatal(err)
	}
	r, d := &store.Result{}, derive(h)
	runtime.GC()
	b.ReportAllocs()
	before := processor(b)
	for b.Loop() {
		if _, err := charts(r, gather(h, d)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processor(b)-before)/float64(b.N), "cpu-ms/op")
}

// processor is the processor time that this process took so far, in ms.
func processor(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}
