package topology_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"picklock/harness/topology"
)

func TestOwnerAliveDeniesOnlyWhatIsKnown(t *testing.T) {
	self := topology.Owner()
	part := strings.Split(self, ":")
	if len(part) != 4 || part[0] == "unknown" || part[3] == "unknown" {
		t.Fatalf("owner: got %q, want boot:pid:start:namespace", self)
	}
	with := func(i int, value string) string {
		p := append([]string(nil), part...)
		p[i] = value
		return strings.Join(p, ":")
	}
	child := exec.CommandContext(t.Context(), "true")
	must(t, child.Start())
	zombie := with(1, strconv.Itoa(child.Process.Pid))
	eventually(t, "the child becomes a zombie", func() bool { return !topology.OwnerAlive(zombie) })
	must(t, child.Wait())

	start, err := strconv.Atoi(part[2])
	must(t, err)
	for _, tc := range []struct {
		name, owner string
		want        bool
	}{
		{"ourselves", self, true},
		{"a process that ended", zombie, false},
		{"our pid, another start: the pid was used again", with(2, strconv.Itoa(start-1)), false},
		{"another boot or host", with(0, "00000000-0000-0000-0000-000000000000"), true},
		{"another pid namespace", with(3, "1"), true},
		{"no pid", with(1, "x"), true},
		{"pid 0", with(1, "0"), true},
		{"no start", with(2, ""), true},
		{"nothing", "", true},
		{"something else", "somebody", true},
	} {
		if got := topology.OwnerAlive(tc.owner); got != tc.want {
			t.Errorf("%s (%q): got %t, want %t: a sweep kills what is not alive", tc.name, tc.owner, got, tc.want)
		}
	}
}
