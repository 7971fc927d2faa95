package topology

import (
	"regexp"
	"strconv"
	"strings"
)

// probePort is where probes are sent, by UDP: nothing else is, for no server listens there.
const probePort = "6379"

// probeLine is how "iptables -v -S INPUT" lists a rule that counts probes. It has no
// target: it lets everything pass.
var probeLine = regexp.MustCompile(`^-A INPUT -s ([0-9.]+)/32 -d ([0-9.]+)/32 -p udp -m udp --dport ` + probePort + ` -c ([0-9]+) [0-9]+$`)

// The three steps of a probe, for the shells of two containers: it takes a good part of a
// second to run anything there, so each step is one command. A counting rule after all
// others sees what gets past them.
func (r rule) probeSpec() string {
	return "INPUT -s " + r.from + " -d " + r.to + " -p udp -m udp --dport " + probePort
}

const listRules = "iptables -w 10 -v -S INPUT"

func (r rule) count() string   { return "iptables -w 10 -A " + r.probeSpec() + " && " + listRules }
func (r rule) uncount() string { return listRules + " && iptables -w 10 -D " + r.probeSpec() }

// send takes bash: what it opens so sends a datagram with each write. That nobody listens
// is no matter.
func (r rule) send() string { return "echo picklock > /dev/udp/" + r.to + "/" + probePort }

// seen reads a list of rules: how many packets the rule r has dropped, and how many probes
// got past all rules.
func (r rule) seen(list string) (dropped, arrived int64) {
	for line := range strings.Lines(list) {
		if found, packets, ok := parseRule(line); ok && found == r {
			dropped = packets
		}
		if m := probeLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil && m[1] == r.from && m[2] == r.to {
			if packets, err := strconv.ParseInt(m[3], 10, 64); err == nil {
				arrived = packets
			}
		}
	}
	return dropped, arrived
}
