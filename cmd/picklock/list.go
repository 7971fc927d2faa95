package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"picklock/docker"
	"picklock/harness"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis"
	"picklock/reports/text"
)

func newList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what can be tested, and with what",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(name, short string, print func(*screen) error) {
		cmd.AddCommand(&cobra.Command{Use: name, Short: short, Args: exactly(0, "no arguments"), RunE: func(cmd *cobra.Command, _ []string) error {
			return print(newScreen(cmd, false))
		}})
	}
	add("locks", "The locks, with their sources and known weaknesses", listLocks)
	add("deductions", "The ways to take a unit from the stock", listDeductions)
	add("topologies", "The arrangements of servers", func(s *screen) error { return s.table(harness.Topologies()) })
	add("servers", "The servers that can be tested on", func(s *screen) error { return s.table(docker.Servers()) })
	add("nemeses", "The faults", func(s *screen) error {
		rows := [][]string{{"none", "no fault: contention only"}}
		for _, k := range nemesis.All() {
			rows = append(rows, []string{k.Name, k.Summary})
		}
		return text.Table(s.out, s.columns(), append(rows, []string{"storm", "a mixture of everything that the topology can bear, several at once"}))
	})
	return cmd
}

func listLocks(s *screen) error {
	p := paragraphs{s: s}
	for i, l := range locks.All() {
		if i > 0 {
			p.say("", "")
		}
		ttl := l.TTL.String()
		if l.NoTTL {
			ttl = "none: held until released"
		}
		p.say("", l.Name)
		p.say("  ", l.Summary)
		p.say("  ", fmt.Sprintf("source: %s; TTL: %s", l.Source, ttl))
		listWeaknesses(&p, l.Weaknesses)
	}
	return p.err
}

// listWeaknesses prints a paragraph for each fault and mechanism, with all the properties
// that it breaks.
func listWeaknesses(p *paragraphs, all []locks.Weakness) {
	type mechanism struct {
		fault, why string
		may        bool
		clients    int
	}
	var order []mechanism
	breaks := map[mechanism][]string{}
	for _, k := range all {
		m := mechanism{k.Fault, k.Why, k.May, k.MinClients}
		if breaks[m] == nil {
			order = append(order, m)
		}
		breaks[m] = append(breaks[m], k.Property)
	}
	for _, m := range order {
		how := "violates"
		if m.may {
			how = "may violate"
		}
		if m.clients > 1 {
			how = fmt.Sprintf("with %d clients or more %s", m.clients, how)
		}
		p.say("  ", fmt.Sprintf("under %s %s %s:", m.fault, how, strings.Join(breaks[m], ", ")))
		p.say("    ", m.why)
	}
}

func listDeductions(s *screen) error {
	p := paragraphs{s: s}
	for i, d := range deduct.All() {
		if i > 0 {
			p.say("", "")
		}
		need := "right without any lock"
		if d.NeedsLock {
			need = "needs mutual exclusion"
		}
		p.say("", d.Name)
		p.say("  ", d.Summary)
		p.say("  ", fmt.Sprintf("source: %s; %s", d.Source, need))
		for _, k := range d.Weaknesses {
			p.say("  ", "weakness: "+k)
		}
	}
	return p.err
}
