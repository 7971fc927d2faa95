package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"picklock/docker"
	"picklock/harness"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis"
)

func newList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what can be tested, and with what",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(name, short string, print func(io.Writer)) {
		cmd.AddCommand(&cobra.Command{Use: name, Short: short, Args: exactly(0, "no arguments"), RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			print(w)
			return w.Flush()
		}})
	}
	add("locks", "The locks, with their sources and known weaknesses", listLocks)
	add("deductions", "The ways to take a unit from the stock", listDeductions)
	add("topologies", "The arrangements of servers", func(w io.Writer) {
		for _, t := range harness.Topologies() {
			fmt.Fprintf(w, "%s\t%s\n", t[0], t[1])
		}
	})
	add("servers", "The servers that can be tested on", func(w io.Writer) {
		for _, s := range docker.Servers() {
			fmt.Fprintf(w, "%s\t%s\n", s[0], s[1])
		}
	})
	add("nemeses", "The faults", func(w io.Writer) {
		fmt.Fprintf(w, "none\tno fault: contention only\n")
		for _, k := range nemesis.All() {
			fmt.Fprintf(w, "%s\t%s\n", k.Name, k.Summary)
		}
		fmt.Fprintf(w, "storm\ta mixture of everything that the topology can bear, several at once\n")
	})
	return cmd
}

func listLocks(w io.Writer) {
	for i, l := range locks.All() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		ttl := l.TTL.String()
		if l.NoTTL {
			ttl = "none: held until released"
		}
		fmt.Fprintf(w, "%s\n  %s\n  source: %s; TTL: %s\n", l.Name, l.Summary, l.Source, ttl)
		listWeaknesses(w, l.Weaknesses)
	}
}

// listWeaknesses prints a line for each fault and mechanism, with all the properties
// that it breaks.
func listWeaknesses(w io.Writer, all []locks.Weakness) {
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
		fmt.Fprintf(w, "  under %s %s %s:\n    %s\n", m.fault, how, strings.Join(breaks[m], ", "), m.why)
	}
}

func listDeductions(w io.Writer) {
	for i, d := range deduct.All() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		need := "right without any lock"
		if d.NeedsLock {
			need = "needs mutual exclusion"
		}
		fmt.Fprintf(w, "%s\n  %s\n  source: %s; %s\n", d.Name, d.Summary, d.Source, need)
		for _, k := range d.Weaknesses {
			fmt.Fprintf(w, "  weakness: %s\n", k)
		}
	}
}
