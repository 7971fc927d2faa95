package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"picklock/harness/scenario"
)

// wide fails for each line that does not fit a terminal of 80 columns.
func wide(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 || strings.Contains(line, "\x1b") {
			t.Errorf("%s: a line of %d columns: %q", what, n, line)
		}
	}
}

// printed is what a command prints that is no terminal's.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	root := newRoot(new(int))
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatalf("picklock %s: %v", strings.Join(args, " "), err)
	}
	return out.String()
}

// TestHelpFits: the help of every command fits, and tells of all its flags.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	n := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" {
			return // the library's own words
		}
		n++
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		text := printed(t, args...)
		wide(t, strings.Join(args, " "), text)
		for _, want := range []string{"Usage:\n  picklock", "-h, --help"} {
			if !strings.Contains(text, want) {
				t.Errorf("picklock %s has no %q: %s", strings.Join(args, " "), want, text)
			}
		}
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(newRoot(new(int)))
	if n < 25 {
		t.Errorf("only %d commands were looked at", n)
	}
	for _, want := range []string{"--only stringArray ", "'*_pause-client'; repeatable\n", "--store string ", "\nExit status: 0 everything as expected, 1 an unexpected violation, 2 otherwise\n"} {
		if text := printed(t, "matrix", "--help"); !strings.Contains(text, want) {
			t.Errorf("the help of matrix has no %q: %s", want, text)
		}
	}
}

// TestListsFit: what lists the locks, faults, scenarios and matrices fits, and has all of
// them.
func TestListsFit(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"list locks":           {"\nuuid-lua\n  ", "\n  source: S0", "\n  under pause-client violates "},
		"list deductions":      {"read-write\n  GET", "\n  weakness: "},
		"list topologies":      {"failover  a primary"},
		"list servers":         {"valkey:8 "},
		"list nemeses":         {"none  ", "\npause-client  ", "\nstorm  ", "\n                     TTL, then SIGCONT\n"},
		"scenario list":        {"1   unlocked  ", "\n3   double-apply           A deduction whose reply is lost is sent again, and\n                           applied twice\n"},
		"matrix --list":        {"ladder   ", "\nnightly  ", "\nfull     ", " of waiting  "},
		"matrix show ladder":   {"uuid-lua+read-write_single_pause-client  ", " of waiting; plan "},
		"scenario show orphan": {"5 orphan: ", "\n1. ", "\n   ", "\nWhat prevents it:\n", "\nGuilty: "},
	} {
		text := printed(t, strings.Fields(args)...)
		wide(t, args, text)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("picklock %s does not say %q:\n%.2000s", args, w, text)
			}
		}
	}
	all, err := scenario.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		wide(t, s.ID, printed(t, "scenario", "show", s.ID))
	}
}

// TestScenarioTableFits: the table of all scenarios fits, whatever came of them, and says
// which failed.
func TestScenarioTableFits(t *testing.T) {
	t.Parallel()
	all, err := scenario.All()
	if err != nil {
		t.Fatal(err)
	}
	var rows []scenario.Row
	for i, s := range all {
		row := scenario.Row{Scenario: s}
		for n := range 40 {
			row.Runs = append(row.Runs, scenario.Run{Guilty: n < 20, Verdict: scenario.Verdict{Met: i%2 == 0, After: 123.4}})
		}
		rows = append(rows, row)
	}
	var out bytes.Buffer
	if err := printRows(&screen{out: &out, width: 80}, rows); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	wide(t, "the table", text)
	lines := slices.Collect(strings.Lines(text))
	for i, s := range all {
		line := lines[i+1]
		want := []string{fmt.Sprint(s.Row), s.ID, "  20/20   20/20   123.4 s\n"}
		if i%2 == 1 {
			want[2] = "  0/20    0/20    123.4 s  FAILED\n"
		}
		for _, w := range want {
			if !strings.Contains(line, w) {
				t.Errorf("the line of %s has no %q: %s", s.ID, w, line)
			}
		}
	}
}
