package topology

import (
	"net/netip"
	"testing"
)

func TestSubnets(t *testing.T) {
	seen := map[netip.Prefix]bool{}
	for range 500 {
		p := drawSubnet()
		if !subnets.Contains(p.Addr()) || p.Bits() != subnetBits || p != p.Masked() {
			t.Fatalf("drew %v, want a prefix of %d bits in %v", p, subnetBits, subnets)
		}
		seen[p] = true
	}
	if len(seen) < 300 {
		t.Errorf("500 draws gave %d subnets: clusters side by side would collide", len(seen))
	}
	p := netip.MustParsePrefix("198.18.5.64/26")
	for i, want := range map[int]string{0: "198.18.5.66", 1: "198.18.5.67", 60: "198.18.5.126"} {
		if got, err := hostAddr(p, i); err != nil || got.String() != want {
			t.Errorf("address of node %d: got %v, %v; want %s", i, got, err, want)
		}
	}
	if got, err := hostAddr(p, 61); err == nil {
		t.Errorf("address of node 61: got %v, want an error: the rest is the broadcast address", got)
	}
}

func TestParseRoute(t *testing.T) {
	for line, want := range map[string]string{
		"eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0": "192.168.2.0/24",
		"tun0\t0000120A\t00000000\t0001\t0\t0\t0\t0000FEFF\t0\t0\t0": "10.18.0.0/15",
		"eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0": "0.0.0.0/0",
	} {
		if got, ok := parseRoute(line); !ok || got.String() != want {
			t.Errorf("parseRoute(%q): got %v, %t; want %s", line, got, ok, want)
		}
	}
	if got, ok := parseRoute("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"); ok {
		t.Errorf("the headline is no route: got %v", got)
	}
	if !overlapsAny(netip.MustParsePrefix("198.18.5.64/26"), []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16")}) {
		t.Error("a subnet in a routed network overlaps it")
	}
}

func FuzzParseRoute(f *testing.F) {
	f.Add("eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0")
	f.Fuzz(func(t *testing.T, line string) {
		if p, ok := parseRoute(line); ok && (!p.IsValid() || p != p.Masked()) {
			t.Errorf("parseRoute(%q): got %v, which is no prefix", line, p)
		}
	})
}
