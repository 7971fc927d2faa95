package grid

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"picklock/harness/matrix"
	"picklock/reports/text"
)

// maxAnnotations is how many annotations of each kind GitHub shows for a step.
const maxAnnotations = 10

// Annotations writes the cells that are not as expected as GitHub's workflow commands, for
// the log of a step: an error for an unexpected violation and where picklock failed, a
// warning for what is not reproduced, unknown or vacuous, and one notice with the verdict.
// Of each kind there are ten at most; the tenth then tells how many more there are.
//
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
func Annotations(w io.Writer, m *matrix.Matrix, opts ...Option) error {
	m, o := gather(m, opts)
	b := bufio.NewWriter(w)
	var errs, warnings []string
	for _, c := range unmet(m) {
		switch c.Outcome {
		case matrix.Vacuous, matrix.Unknown, matrix.NotReproduced:
			warnings = append(warnings, command("warning", cellMark(c).Word+": "+c.Cell.ID(), annotation(o, c)))
		default:
			errs = append(errs, command("error", cellMark(c).Word+": "+c.Cell.ID(), annotation(o, c)))
		}
	}
	if s := missing(m); s != "" && m.Shard == "" || len(m.Cells) == 0 {
		if len(m.Cells) == 0 {
			s = "It has no cells, and proves nothing."
		}
		warnings = append([]string{command("warning", "the matrix is not whole", s)}, warnings...)
	}
	for _, kind := range []struct {
		name string
		all  []string
	}{{"error", errs}, {"warning", warnings}} {
		all := kind.all
		if more := len(all) - (maxAnnotations - 1); more > 1 {
			all = append(all[:maxAnnotations-1:maxAnnotations-1], command(kind.name, fmt.Sprintf("%d more cells", more), "They are in the summary of the job and in the JUnit file."))
		}
		for _, s := range all {
			b.WriteString(s)
		}
	}
	word, rest, _ := verdict(m)
	b.WriteString(command("notice", word+": "+rest, strings.TrimPrefix(m.String()+"; "+clock(m), "; ")))
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write the annotations: %w", err)
	}
	return nil
}

func annotation(o *options, c *matrix.Result) string {
	r := telling(c)
	lines := append([]string{why(c)}, reasons(c)...)
	if r != nil && r.Rerun != "" {
		lines = append(lines, "again: "+r.Rerun)
	}
	if path := o.report(r); path != "" {
		lines = append(lines, "report: "+text.Plain(path))
	}
	return strings.Join(lines, "\n")
}

// command is one workflow command on its line, with what foreign text could end it by
// written as GitHub reads it.
func command(kind, title, message string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s\n", kind, property.Replace(text.Plain(title)), data.Replace(text.Lines(message)))
}
