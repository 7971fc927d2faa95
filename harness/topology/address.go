package topology

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"syscall"
)

// serverPort is where nodes listen if they can.
const serverPort = "6379"

// address is a loopback address that no other harness of this machine uses.
type address struct {
	host  string
	port  string
	claim net.Listener // an abstract socket named after the host: it is free again when we die
}

func (a address) String() string { return net.JoinHostPort(a.host, a.port) }

func (a address) release() error { return a.claim.Close() }

// claimAddress finds an address in 127.0.0.0/8 whose Redis port is free. The search
// begins at a place drawn from the run and the node, so that runs side by side rarely meet;
// where they do, the claim decides. The claim outlives the server: a killed node's address
// must still be there when it starts again.
func claimAddress(run, node string) (address, error) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s", run, node)
	draw := rand.New(rand.NewPCG(h.Sum64(), 0))
	var last error
	// A server bound to 0.0.0.0 takes its port on every address: then another port.
	for _, port := range []string{serverPort, "16379", "36379"} {
		for range 16 {
			a := address{host: fmt.Sprintf("127.%d.%d.%d", 1+draw.IntN(254), draw.IntN(256), 1+draw.IntN(254)), port: port}
			claim, err := net.Listen("unix", "@picklock/"+a.host)
			if err != nil {
				last = err
				continue
			}
			probe, err := net.Listen("tcp4", a.String())
			if err != nil {
				_ = claim.Close()
				if last = err; errors.Is(err, syscall.EADDRNOTAVAIL) {
					return address{}, fmt.Errorf("this machine has only some of 127.0.0.0/8: %w", err)
				}
				continue
			}
			if err := probe.Close(); err != nil {
				_ = claim.Close()
				return address{}, err
			}
			a.claim = claim
			return a, nil
		}
	}
	return address{}, fmt.Errorf("no free address in 127.0.0.0/8: %w", last)
}
