package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"picklock/harness/store"
)

func newStore() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "store",
		Short: "The stored tests: list, show, prune, export and import them",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.PersistentFlags().StringVar(&root, "store", "store", "folder that keeps the tests")
	cmd.AddCommand(newStoreList(&root), newStoreShow(&root), newStorePrune(&root), newStoreExport(&root), newStoreImport(&root))
	return cmd
}

// storeList are the flags of store list.
type storeList struct {
	options      store.Options
	verdicts     []string
	since, until string
	sort         string
	limit        int
	json         bool
}

func newStoreList(root *string) *cobra.Command {
	var l storeList
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored tests, newest first",
		Long: `List the stored tests, newest first. START is how the test's folder is named, in UTC;
picklock store show takes it. A "!" behind the verdict says that it is not what is
expected of the lock. Patterns are written as in a shell: 'uuid-*'.`,
		Example: `  picklock store list --since 24h --verdict violated
  picklock store list --lock 'uuid-*' --fault flush --sort size --limit 10
  picklock store list --json | jq -r '.[].dir'`,
		Args: exactly(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd, *root) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&l.options.Lock, "lock", "", "only tests of these locks (a pattern)")
	f.StringVar(&l.options.Name, "name", "", "only tests of these names (a pattern)")
	f.StringVar(&l.options.Topology, "topology", "", "only tests on these topologies (a pattern)")
	f.StringVar(&l.options.Fault, "fault", "", "only tests with such a fault (a pattern; none: without faults)")
	f.StringSliceVar(&l.verdicts, "verdict", nil, "only these: valid, violated, unknown, vacuous, unfinished, damaged")
	f.StringVar(&l.since, "since", "", "only tests started since: 24h, 7d, 2026-01-31, \"2026-01-31 18:00\"")
	f.StringVar(&l.until, "until", "", "only tests started until then; a day counts to its end")
	f.StringVar(&l.sort, "sort", "started", "the order: "+strings.Join(store.SortBy, ", "))
	f.IntVar(&l.limit, "limit", 0, "so many at most (0: all)")
	f.BoolVar(&l.json, "json", false, "print the list as JSON, with sizes in bytes and the matrices that refer to a test")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(store.SortBy, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("verdict", cobra.FixedCompletions(verdictWords(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func verdictWords() (words []string) {
	for _, w := range store.Words {
		words = append(words, string(w))
	}
	return words
}

func wordsOf(flags []string) (words []store.Word) {
	for _, f := range flags {
		words = append(words, store.Word(f))
	}
	return words
}

func (l *storeList) run(cmd *cobra.Command, root string) (err error) {
	now := time.Now()
	l.options.Words = wordsOf(l.verdicts)
	if l.options.Since, err = moment(l.since, now, false); err != nil {
		return &flagError{fmt.Errorf("--since: %w", err)}
	}
	if l.options.Until, err = moment(l.until, now, true); err != nil {
		return &flagError{fmt.Errorf("--until: %w", err)}
	}
	if err := errors.Join(l.options.Check(), store.Sort(nil, l.sort)); err != nil {
		return &flagError{err}
	}
	if l.limit < 0 {
		return &flagError{fmt.Errorf("--limit must be 0 (all) or more, not %d", l.limit)}
	}
	bySize := l.sort == "size"
	l.options.Use, l.options.Matrices = bySize, l.json
	all, err := store.List(root, l.options)
	if err != nil {
		return err
	}
	if err := store.Sort(all, l.sort); err != nil {
		return err
	}
	shown := all
	if l.limit > 0 && l.limit < len(all) {
		shown = all[:l.limit]
	}
	if !bySize && (l.json || len(shown) <= measured) {
		if err := store.Measure(shown); err != nil {
			return err
		}
	}
	s := newScreen(cmd, l.json)
	if l.json {
		return printJSON(s, append([]store.Entry{}, shown...))
	}
	return printEntries(s, shown, all)
}

// measured is how many tests a table has at most for which sizes are shown, unless it is
// sorted by them: each folder must be walked through, which takes longer than all else.
const measured = 1000

// printEntries prints the table, as wide as the terminal, within 80 and 100 columns.
func printEntries(s *screen, shown, all []store.Entry) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.out, "no such test is stored")
		return err
	}
	t := table{width: s.columns(), narrow: []int{2, 3, 4, 5}, head: []string{"START (UTC)", "VERDICT", "LOCK", "DEDUCTION", "TOPOLOGY", "FAULT", "SIZE"}}
	for i := range shown {
		e := &shown[i]
		size := ""
		if e.Use != nil {
			size = humanize.Bytes(uint64(e.Use.Bytes))
		}
		if e.Lock == "" { // a damaged folder tells no more than its name
			t.add(verdictColour(e), start(e), verdict(e), e.Name, "", "", "", size)
			continue
		}
		t.add(verdictColour(e), start(e), verdict(e), e.Lock, e.Deduct, e.Topology, e.Fault(), size)
	}
	if err := t.print(s); err != nil {
		return err
	}
	text := counted(shown, all)
	if shown[0].Use == nil {
		text += "; --limit or --sort size shows their sizes"
	}
	_, err := fmt.Fprintln(s.out, "\n"+text)
	return err
}

// start is how the test's folder is named, without the milliseconds.
func start(e *store.Entry) string {
	base := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	stamp, _, _ := strings.Cut(base, ".")
	return stamp
}

// verdict says in one word what became of the test; "!" if that is not expected.
func verdict(e *store.Entry) string {
	word := string(e.Word())
	if e.State == store.Running {
		word = string(store.Running)
	}
	if len(e.Unmet) > 0 {
		word += " !"
	}
	return word
}

func verdictColour(e *store.Entry) int {
	switch e.Word() {
	case store.WordValid:
		return 32
	case store.WordViolated, store.WordDamaged:
		return 31
	}
	return 33
}

// counted sums a list up: "12 tests: 10 valid, 2 violated".
func counted(shown, all []store.Entry) string {
	n := map[store.Word]int{}
	for i := range all {
		n[all[i].Word()]++
	}
	var parts []string
	for _, w := range store.Words {
		if n[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[w], w))
		}
	}
	text := fmt.Sprintf("%s: %s", counting(len(all), "test"), strings.Join(parts, ", "))
	if len(shown) < len(all) {
		text += fmt.Sprintf("; the first %d are shown", len(shown))
	}
	return text
}

// counting is "1 test" or "2 tests".
func counting(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "x") {
		return fmt.Sprintf("%d %sces", n, strings.TrimSuffix(what, "x"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// table is printed in columns. What is too wide for the terminal is cut in the columns
// narrow, the widest first.
type table struct {
	width  int
	narrow []int
	head   []string
	rows   []row
}

type row struct {
	colour int
	cells  []string
}

func (t *table) add(colour int, cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	t.rows = append(t.rows, row{colour, cells})
}

func (t *table) print(s *screen) error {
	widths := make([]int, len(t.head))
	for _, r := range append([]row{{0, t.head}}, t.rows...) {
		for i, c := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > t.width; total-- {
		widest := slices.MaxFunc(t.narrow, func(a, b int) int { return widths[a] - widths[b] })
		if widths[widest] <= len("...x") {
			break
		}
		widths[widest]--
	}
	for _, r := range append([]row{{1, t.head}}, t.rows...) {
		var b strings.Builder
		for i, c := range r.cells {
			if runes := []rune(c); len(runes) > widths[i] {
				c = string(runes[:widths[i]-1]) + "…"
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			switch {
			case i == len(r.cells)-1: // figures stand to the right
				c = pad + c
			default:
				c += pad + "  "
			}
			if s.color && (i == 1 || r.colour == 1) {
				c = fmt.Sprintf("\x1b[%dm%s\x1b[0m", r.colour, c)
			}
			b.WriteString(c)
		}
		if _, err := io.WriteString(s.out, strings.TrimRight(b.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// printable takes out what could move the cursor or forge a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}
