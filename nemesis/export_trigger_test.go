package nemesis

import (
	"fmt"

	"picklock/nemesis/wire"
)

// Grants is how a reply to the command that takes a lock is read.
var Grants = grants

// Done is whether a reply after a step is one that an "after" trigger waits for.
func Done(step, reply string) bool {
	m, err := readMoment("after " + step)
	return err == nil && m.counts(wire.Frame{Side: wire.Reply, Raw: []byte(reply)})
}

// ReadMoment reads a trigger and writes it again.
func ReadMoment(on string) (again string, err error) {
	m, err := readMoment(on)
	switch {
	case err != nil || m.when == "":
		return "", err
	case m.when == granted:
		return granted, nil
	}
	return fmt.Sprintf("%s %s", m.when, m.step), nil
}
