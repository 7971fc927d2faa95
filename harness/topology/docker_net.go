package topology

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"

	dockernet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Nodes keep their addresses for life only on a network whose subnet was asked for: the
// engine gives out no fixed address on one that it chose itself. Ours come from the range
// that RFC 2544 sets apart for benchmarks, which the internet does not route and the
// engine does not choose from. Each cluster takes a subnet of its own out of it.
var subnets = netip.MustParsePrefix("198.18.0.0/15")

// subnetBits is the length of a cluster's prefix: 61 nodes and the gateway.
const subnetBits = 26

// subnetTries bounds the search for a subnet; there are 2048.
const subnetTries = 100

// makeNetwork makes a network with the labels, on a subnet that collides neither with
// another network of the engine nor with a route of this machine.
func makeNetwork(ctx context.Context, engine *client.Client, name string, labels map[string]string) (netip.Prefix, error) {
	routes := localRoutes()
	var last error
	for range subnetTries {
		subnet := drawSubnet()
		if overlapsAny(subnet, routes) {
			last = fmt.Errorf("this machine has a route into %v", subnet)
			continue
		}
		_, err := engine.NetworkCreate(ctx, name, client.NetworkCreateOptions{
			Driver: "bridge", Labels: labels,
			IPAM: &dockernet.IPAM{Driver: "default", Config: []dockernet.IPAMConfig{{Subnet: subnet}}},
		})
		if err == nil {
			return subnet, nil
		}
		if !strings.Contains(strings.ToLower(err.Error()), "overlap") { // the engine has no type for it
			return netip.Prefix{}, fmt.Errorf("make a network: %w", err)
		}
		last = err
	}
	return netip.Prefix{}, fmt.Errorf("make a network: no free subnet in %v: %w", subnets, last)
}

func drawSubnet() netip.Prefix {
	base := binary.BigEndian.Uint32(subnets.Addr().AsSlice())
	return netip.PrefixFrom(addr4(base+rand.Uint32N(1<<(subnetBits-subnets.Bits()))<<(32-subnetBits)), subnetBits)
}

func addr4(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// hostAddr is the i-th node's address in a subnet: the first belongs to the gateway.
func hostAddr(subnet netip.Prefix, i int) (netip.Addr, error) {
	at := addr4(binary.BigEndian.Uint32(subnet.Addr().AsSlice()) + 2 + uint32(i))
	if !subnet.Contains(at.Next()) { // the last is for broadcasts
		return netip.Addr{}, errors.New("the plan has more nodes than a network has addresses")
	}
	return at, nil
}

func overlapsAny(p netip.Prefix, others []netip.Prefix) bool {
	for _, o := range others {
		if p.Overlaps(o) {
			return true
		}
	}
	return false
}

// localRoutes are the destinations that this machine has routes to, without the default.
// Where they cannot be read, e.g. because the engine runs in a virtual machine, they are
// nobody's concern.
func localRoutes() []netip.Prefix {
	f, err := os.Open("/proc/net/route")
	if err != nil {
		return nil
	}
	defer f.Close()
	var routes []netip.Prefix
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if p, ok := parseRoute(lines.Text()); ok && p.Bits() > 0 {
			routes = append(routes, p)
		}
	}
	return routes
}

// parseRoute reads a line of /proc/net/route: device, destination, gateway, flags,
// references, uses, metric, mask, ...; addresses are in hex, in the order of a little-endian
// machine.
func parseRoute(line string) (netip.Prefix, bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 {
		return netip.Prefix{}, false
	}
	to, err1 := hex.DecodeString(fields[1])
	mask, err2 := hex.DecodeString(fields[7])
	if err1 != nil || err2 != nil || len(to) != 4 || len(mask) != 4 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{to[3], to[2], to[1], to[0]}),
		bits.OnesCount32(binary.LittleEndian.Uint32(mask))).Masked(), true
}
