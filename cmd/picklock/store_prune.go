package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"picklock/harness/store"
)

// storePrune are the flags of store prune.
type storePrune struct {
	keep            int
	older, most     string
	verdicts        []string
	policy          store.Policy
	yes, dry, quiet bool
	json            bool
}

func newStorePrune(root *string) *cobra.Command {
	var p storePrune
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove stored tests; without --yes, only say which",
		Long: `Remove stored tests that need not be kept. Without --yes it only says which: what it
removes is evidence that no run brings back, and the same command must do the same on a
terminal and in CI, where nobody answers a question.

--keep N protects the newest N of each name, whatever else is said. Beyond these,
--older-than removes what is older, and --max-size the oldest until the store is no
larger; with --keep alone, all beyond N go. --verdict leaves all others alone.
--older-than also removes matrices of that age.

Some stay all the same: tests that run; violated ones (unless --violated); those that a
matrix refers to which stays (unless --matrices); the latest (unless --all); damaged ones
(unless --verdict damaged); those whose folders were renamed.`,
		Example: `  picklock store prune --older-than 30d --keep 5
  picklock store prune --older-than 30d --keep 5 --yes
  picklock store prune --max-size 10GB --verdict valid --yes`,
		Args: exactly(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd, *root) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&p.keep, "keep", 0, "the newest so many of each name stay")
	f.StringVar(&p.older, "older-than", "", "remove tests and matrices started longer ago: 30d, 2w, 36h")
	f.StringVar(&p.most, "max-size", "", "remove the oldest until the store takes up no more: 10GB")
	f.StringSliceVar(&p.verdicts, "verdict", nil, "remove only these: valid, violated, unknown, vacuous, unfinished, damaged")
	f.BoolVar(&p.policy.Violated, "violated", false, "violated tests may go too")
	f.BoolVar(&p.policy.Matrices, "matrices", false, "tests that a matrix refers to may go too")
	f.BoolVar(&p.policy.Latest, "all", false, "the latest test may go too")
	f.BoolVarP(&p.yes, "yes", "y", false, "remove them")
	f.BoolVar(&p.dry, "dry-run", false, "only say which, as without --yes")
	f.BoolVarP(&p.quiet, "quiet", "q", false, "print the last line only")
	f.BoolVar(&p.json, "json", false, "print as JSON what goes and what stays")
	_ = cmd.RegisterFlagCompletionFunc("verdict", cobra.FixedCompletions(verdictWords(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// settle turns the flags into a policy.
func (p *storePrune) settle(changed func(string) bool) error {
	if p.yes && p.dry {
		return errors.New("--yes and --dry-run contradict each other")
	}
	if changed("keep") {
		p.policy.Keep = &p.keep
	}
	if changed("older-than") {
		d, err := age(p.older)
		if err != nil {
			return fmt.Errorf("--older-than: %w", err)
		}
		p.policy.OlderThan = &d
	}
	if changed("max-size") {
		n, err := amount(p.most)
		if err != nil {
			return fmt.Errorf("--max-size: %w", err)
		}
		p.policy.MaxBytes = &n
	}
	p.policy.Words = wordsOf(p.verdicts)
	switch {
	case p.policy.Keep == nil && p.policy.OlderThan == nil && p.policy.MaxBytes == nil:
		return errors.New("--keep, --older-than or --max-size must say what need not be kept")
	case p.keep < 0:
		return fmt.Errorf("--keep must be 0 or more, not %d", p.keep)
	case slices.Contains(p.verdicts, string(store.WordViolated)) && !p.policy.Violated:
		return errors.New("--verdict violated needs --violated as well: such tests are evidence")
	}
	if err := p.policy.Check(); err != nil {
		return fmt.Errorf("--verdict: %w", err)
	}
	return nil
}

// pruned is what --json prints.
type pruned struct {
	Done     bool           `json:"done"` // false: it was only said
	Tests    []store.Entry  `json:"tests"`
	Matrices []store.Matrix `json:"matrices"`
	Stay     []stays        `json:"stay"`
	Freed    int64          `json:"freed_bytes"`
	Left     int64          `json:"left_bytes"`
	Over     int64          `json:"over_bytes,omitempty"` // beyond --max-size
}

type stays struct {
	Dir     store.Dir `json:"dir"`
	Because string    `json:"because"`
}

func (p *storePrune) run(cmd *cobra.Command, root string) error {
	if err := p.settle(cmd.Flags().Changed); err != nil {
		return &flagError{err}
	}
	plan, err := store.PlanPrune(root, p.policy, time.Now())
	if err != nil {
		return err
	}
	s := newScreen(cmd, p.json)
	if !p.quiet {
		tellPlan(s, plan)
	}
	removed := 0
	if p.yes {
		if err := plan.Carry(p.policy, func(string) { removed++ }); err != nil {
			return fmt.Errorf("after %d of %d were removed: %w", removed, len(plan.Go)+len(plan.Matrices), err)
		}
	}
	if p.json {
		out := pruned{Done: p.yes, Tests: append([]store.Entry{}, plan.Go...), Matrices: append([]store.Matrix{}, plan.Matrices...), Stay: []stays{},
			Freed: plan.Freed().Bytes, Left: plan.After.Bytes, Over: plan.Over}
		for _, k := range plan.Stay {
			out.Stay = append(out.Stay, stays{k.Dir, k.Because})
		}
		return printJSON(s, out)
	}
	s.say("%s", p.sum(plan))
	return nil
}

// tellPlan says what goes, and why what stays does.
func tellPlan(s *screen, plan *store.Plan) {
	for _, m := range plan.Matrices {
		tellPath(s, "goes   ", m.Path, humanize.Bytes(uint64(m.Use.Bytes)))
	}
	for i := range plan.Go {
		e := &plan.Go[i]
		tellPath(s, "goes   ", e.Path, verdict(e)+", "+humanize.Bytes(uint64(e.Use.Bytes)))
	}
	for i := range plan.Stay {
		tellPath(s, "stays  ", plan.Stay[i].Path, plan.Stay[i].Because)
	}
}

// tellPath says something of a path, which is never broken: below it, where there is no
// room behind it.
func tellPath(s *screen, label, path, words string) {
	line, words := label+printable(path), printable(words)
	if utf8.RuneCountInString(line)+2+utf8.RuneCountInString(words) > s.columns() {
		line += "\n" + strings.Repeat(" ", len(label)-2)
	}
	s.say("%s  %s", line, words)
}

// sum is the last line.
func (p *storePrune) sum(plan *store.Plan) string {
	what := fmt.Sprintf("%d of %s", len(plan.Go), counting(plan.Tests, "test"))
	if n := len(plan.Matrices); n > 0 {
		what += " and " + counting(n, "matrix")
	}
	freed, left := humanize.Bytes(uint64(plan.Freed().Bytes)), humanize.Bytes(uint64(plan.After.Bytes))
	text := ""
	switch {
	case len(plan.Go)+len(plan.Matrices) == 0:
		text = fmt.Sprintf("nothing has to go; the store has %s in %s", left, counting(plan.Tests, "test"))
	case p.yes:
		text = fmt.Sprintf("removed %s: %s, %s are left", what, freed, left)
	default:
		text = fmt.Sprintf("%s would go: %s, %s would be left. Nothing was removed; --yes removes them", what, freed, left)
	}
	if plan.Over > 0 {
		text += fmt.Sprintf(". That is still %s more than --max-size; all else is kept by what protects it", humanize.Bytes(uint64(plan.Over)))
	}
	return text
}
