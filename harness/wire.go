package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis/wire"
	wirelog "picklock/nemesis/wire/record"
)

// layWire leads every client to every node through the proxy, and records what passes it
// in a file.
func (s *session) layWire(all []topology.Node, file, stock string) (err error) {
	s.wire = wire.New(s.log)
	lock, _ := locks.Find(s.test.Lock)
	sale, _ := findDeduction(s.test.Deduct) // Plan has looked
	s.messages, err = wirelog.Create(file, wirelog.Options{Now: history.Now, Step: stepOf(lock, sale, stock, s.test.Prefix)})
	if err != nil {
		return err
	}
	s.wire.Record(s.messages)
	ways := make([]map[string]string, s.test.Clients)
	for i := range ways {
		ways[i] = map[string]string{}
		for _, n := range all {
			addr, err := s.wire.Listen(i, n.Name(), n.Addr)
			if err != nil {
				return fmt.Errorf("lay the wire from client %d to %s: %w", i, n.Name(), err)
			}
			ways[i][n.Name()] = addr
		}
	}
	s.pool.Through(func(i int, node string) string { return ways[i][node] })
	return nil
}

// takeUpWire closes the wire, if there is one, and the record of it. A record that is not
// whole spoils a picture, not a test.
func (s *session) takeUpWire() error {
	if s.wire == nil {
		return nil
	}
	err := s.wire.Close()
	if s.messages != nil {
		if err := s.messages.Close(); err != nil {
			s.log.Warn("messages are missing from the record of the wire", "error", err)
		}
	}
	return err
}

// stepOf tells which step of the lock or of the deduction a message on the wire is. It is
// given the node that keeps the stock, and the prefix of all keys.
func stepOf(lock locks.Spec, sale deduct.Spec, stock, prefix string) func(*wirelog.Message) string {
	of := func(steps map[locks.Step][]locks.Command, m *wirelog.Message) string {
		sent := wire.Command{Name: m.Name, Script: m.Script}
		for _, s := range []locks.Step{
			locks.StepAcquire, locks.StepExpire, locks.StepAck, locks.StepCompare, locks.StepRelease, locks.StepExtend, locks.StepWake,
			locks.StepStockRead, locks.StepStockWrite,
		} {
			if slices.ContainsFunc(steps[s], func(c locks.Command) bool { return wire.Command{Name: c.Name, Script: c.Script}.Means(sent) }) {
				return string(s)
			}
		}
		return ""
	}
	return func(m *wirelog.Message) string {
		// The stock's node may be the lock's as well: there the key tells them apart.
		ofStock := strings.HasPrefix(m.Key, prefix+"stock:") || strings.HasPrefix(m.Key, prefix+"key:") && strings.HasSuffix(m.Key, ":info")
		switch {
		case m.Node == stock && ofStock:
			return of(sale.Steps, m)
		case m.Node == stock && m.Key == "": // EXEC, for one
			return cmp.Or(of(sale.Steps, m), of(lock.Steps, m))
		}
		return of(lock.Steps, m)
	}
}
