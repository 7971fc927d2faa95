package reports_test

import (
	"regexp"
	"strings"
	"testing"

	"picklock/harness/history"
)

// TestStillShowsWhoWasPrimary: a picture in which another node becomes primary has a lane for
// the new and for the old one, with the step of the story that tells it; a picture in which
// no role changes has none.
func TestStillShowsWhoWasPrimary(t *testing.T) {
	r, h := failedOver(t)
	r.Properties["mutual-exclusion"].Violations[0].Story = append([]string{"node lock-2 became primary at 6.000 s"}, r.Properties["mutual-exclusion"].Violations[0].Story...)
	still := regexp.MustCompile(`(?s)<svg class="still".*?</svg>`).FindString(page(t, r, h))
	for _, want := range []string{">node lock-1<", ">node lock-2<", "node lock-2 was seen as primary from 6.000 s", `class="role"`, "<title>node lock-2 became primary at 6.000 s</title></circle>"} {
		if !strings.Contains(still, want) {
			t.Errorf("the picture lacks %q:\n%.3000s", want, still)
		}
	}
	if strings.Contains(still, ">node lock-3<") {
		t.Error("the picture has a lane for a node that never was primary and did not change")
	}
	for i := range h.Roles {
		h.Roles[i].Role = history.Primary
	}
	still = regexp.MustCompile(`(?s)<svg class="still".*?</svg>`).FindString(page(t, r, h))
	if strings.Contains(still, ">node lock-") {
		t.Error("the picture has lanes for nodes whose roles did not change")
	}
}
