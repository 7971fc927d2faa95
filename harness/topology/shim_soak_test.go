//go:build soak

package topology_test

import (
	"testing"

	"picklock/docker"
)

// TestSoakEveryServerUnderTheShim moves the clocks of every server that nodes can run, and
// takes their power. Images that are missing are built: about a minute each.
func TestSoakEveryServerUnderTheShim(t *testing.T) {
	for _, s := range docker.Servers() {
		t.Run(s[0], func(t *testing.T) {
			k := kinds(t)[1]
			t.Run("clock", func(t *testing.T) { moveClock(t, k, s[0]) })
			t.Run("power", func(t *testing.T) { losePower(t, k, s[0]) })
		})
	}
}
