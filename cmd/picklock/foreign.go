package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"picklock/harness"
	"picklock/harness/foreign"
	"picklock/harness/store"
	"picklock/models"
	"picklock/models/fast"
)

// foreignFlags say how a history of another harness is read and judged.
type foreignFlags struct {
	format, model, initial string
	permits, holds         int
	timeout                time.Duration
}

func (x *foreignFlags) add(f *pflag.FlagSet) {
	f.StringVar(&x.format, "format", "", "judge a history of another harness, in this form: "+strings.Join(formats(), ", ")+"\n(FILE in place of DIR; - is standard input)")
	f.StringVar(&x.model, "model", "", "with --format: what the history is judged by: "+strings.Join(foreign.ModelNames(), ", "))
	f.IntVar(&x.permits, "permits", 0, "with --model permits: how many there are")
	f.IntVar(&x.holds, "holds", 0, "with --model reentrant-...: how often one owner can hold at once (0: without end)")
	f.StringVar(&x.initial, "initial", "", "with --model register or cas-register: what is there at first, as EDN (default: nothing)")
	f.DurationVar(&x.timeout, "check-timeout", 30*time.Second, "with --format: how long the check may take in all")
}

func formats() (names []string) {
	for _, f := range foreign.Formats() {
		names = append(names, string(f))
	}
	return names
}

// asked says whether a foreign history is meant, and refuses its flags where none is.
func (x *foreignFlags) asked(f *pflag.FlagSet) (bool, error) {
	if x.format != "" {
		return true, nil
	}
	for _, name := range []string{"model", "permits", "holds", "initial", "check-timeout"} {
		if f.Changed(name) {
			return false, &flagError{fmt.Errorf("--%s is for histories of other harnesses: --format must say which form the file has (%s)", name, strings.Join(formats(), ", "))}
		}
	}
	return false, nil
}

// settled checks the flags and gives the model.
func (x *foreignFlags) settled() (foreign.Format, foreign.Model, error) {
	m := foreign.Model{Name: x.model, Permits: x.permits, Holds: x.holds}
	known := false
	for _, f := range foreign.Formats() {
		known = known || string(f) == x.format
	}
	switch {
	case !known:
		return "", m, &flagError{fmt.Errorf("--format must be one of %s, not %q", strings.Join(formats(), ", "), x.format)}
	case x.model == "":
		return "", m, &flagError{fmt.Errorf("--format needs --model, which is one of %s", strings.Join(foreign.ModelNames(), ", "))}
	case x.timeout <= 0:
		return "", m, &flagError{fmt.Errorf("--check-timeout must be longer than 0, for example 30s, not %s", x.timeout)}
	}
	if x.initial != "" {
		v, err := foreign.ParseValue(x.initial)
		if err != nil {
			return "", m, &flagError{fmt.Errorf("--initial: %w", err)}
		}
		m.Initial = v
	}
	if err := m.Check(); err != nil {
		return "", m, &flagError{err}
	}
	return foreign.Format(x.format), m, nil
}

// judge reads and judges one file.
func (x *foreignFlags) judge(cmd *cobra.Command, file string, asJSON bool) (status int, err error) {
	format, model, err := x.settled()
	if err != nil {
		return 0, err
	}
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return 0, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	h, err := foreign.Read(in, file, format)
	if err != nil {
		return 0, err
	}
	j, err := foreign.Judge(h, model, fast.Limits{Timeout: x.timeout})
	if err != nil {
		return 0, err
	}
	status = exitUnknown
	switch {
	case j.Verdict == fast.Illegal:
		status = exitViolated
	case j.Verdict == fast.Legal && !j.Vacuous:
		status = exitValid
	}
	if asJSON {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		return status, e.Encode(told(file, model, j))
	}
	return status, tell(cmd.OutOrStdout(), file, model, j)
}

// foreignResult is what --json prints.
type foreignResult struct {
	File       string           `json:"file"`
	Model      string           `json:"model"`
	Verdict    models.Verdict   `json:"verdict"`
	Vacuous    bool             `json:"vacuous"`
	Operations int              `json:"operations"`
	Keys       []foreignVerdict `json:"keys"`
	Notes      []string         `json:"notes,omitempty"`
}

type foreignVerdict struct {
	Key        string         `json:"key,omitempty"`
	Verdict    models.Verdict `json:"verdict"`
	Operations int            `json:"operations"`
	Line       int            `json:"line,omitempty"`
	Reason     string         `json:"reason,omitempty"`
}

func told(file string, m foreign.Model, j *foreign.Judgement) foreignResult {
	r := foreignResult{File: file, Model: m.Name, Verdict: words(j.Verdict), Vacuous: j.Vacuous, Operations: j.Operations, Notes: j.Notes, Keys: []foreignVerdict{}}
	if j.Vacuous {
		r.Verdict = models.Unknown
	}
	for _, k := range j.Keys {
		name := ""
		if k.Key != "" {
			name = k.Key.String()
		}
		r.Keys = append(r.Keys, foreignVerdict{Key: name, Verdict: words(k.Verdict), Operations: k.Operations, Line: k.Line, Reason: k.Reason})
	}
	return r
}

// words gives a checker's verdict as picklock tells it.
func words(v fast.Verdict) models.Verdict {
	return map[fast.Verdict]models.Verdict{fast.Legal: models.Valid, fast.Illegal: models.Violated, fast.Undecided: models.Unknown}[v]
}

func tell(w io.Writer, file string, m foreign.Model, j *foreign.Judgement) error {
	r := told(file, m, j)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s as %s (%d operations judged", file, r.Verdict, m.Name, r.Operations)
	if len(r.Keys) > 1 {
		fmt.Fprintf(&b, ", %d keys", len(r.Keys))
	}
	b.WriteString(")\n")
	for _, k := range r.Keys {
		if k.Verdict == models.Valid {
			continue
		}
		name := ""
		if k.Key != "" {
			name = k.Key + ": "
		}
		fmt.Fprintf(&b, "  %s%s: %s\n", name, k.Verdict, k.Reason)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newExport() *cobra.Command {
	var format, to string
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the history of a stored test for other tools",
		Long: `Write the history of a stored test in the form of another harness: EDN as Jepsen writes
it, one operation a line, so that Knossos, Elle and Jepsen's own checkers can read it.`,
		Example: "  picklock export store/latest > history.edn\n  picklock export --output history.edn store/latest",
		Args:    exactly(1, "the folder of one stored test"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != string(foreign.EDN) {
				return &flagError{fmt.Errorf("--format must be %s, not %q", foreign.EDN, format)}
			}
			h, err := harness.History(store.Dir(args[0]))
			if err != nil {
				return err
			}
			if to == "" {
				return foreign.WriteEDN(cmd.OutOrStdout(), h)
			}
			f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				if errors.Is(err, os.ErrExist) {
					return &flagError{fmt.Errorf("--output: %s is there already, and would be lost", to)}
				}
				return err
			}
			return errors.Join(foreign.WriteEDN(f, h), f.Close())
		},
	}
	cmd.Flags().StringVar(&format, "format", string(foreign.EDN), "the form: edn")
	cmd.Flags().StringVarP(&to, "output", "o", "", "a new file to write to (default: standard output)")
	return cmd
}
