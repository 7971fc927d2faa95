package history_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"picklock/harness/history"
)

// TestNowIsTheKernelsClock: the clock of the record is CLOCK_MONOTONIC itself, so that
// the times of different processes can be compared.
func TestNowIsTheKernelsClock(t *testing.T) {
	for range 1000 {
		var before, after unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
			t.Fatal(err)
		}
		now := history.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
			t.Fatal(err)
		}
		if now < before.Nano() || now > after.Nano() {
			t.Fatalf("Now is %d, but CLOCK_MONOTONIC went from %d to %d around it", now, before.Nano(), after.Nano())
		}
	}
}
