package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"picklock/reports/text"
)

// paragraphs writes paragraphs as wide as the terminal; the first error stays.
type paragraphs struct {
	s   *screen
	err error
}

func (p *paragraphs) say(indent, words string) {
	if p.err == nil {
		p.err = text.Paragraph(p.s.out, p.s.columns(), indent, words)
	}
}

// labelled writes a paragraph behind a label, later lines below its first word.
func (p *paragraphs) labelled(label, words string) {
	for i, line := range text.Wrap(words, p.s.columns()-len(label)) {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		p.line(label + line)
	}
}

// step is the number of a step, or the dash of an item.
var step = regexp.MustCompile(`^(\d+\.|-) `)

// steps writes paragraphs that may be numbered steps: a step that is broken goes on below
// its first word.
func (p *paragraphs) steps(words string) {
	label, rest := "", ""
	end := func() {
		if rest == "" {
			return
		}
		p.labelled(label, rest)
		label, rest = "", ""
	}
	for line := range strings.Lines(strings.TrimSpace(words)) {
		line = strings.TrimSpace(line)
		if number := step.FindString(line); number != "" || line == "" {
			end()
			label, line = number, line[len(number):]
			if number == "" {
				p.line("")
			}
		}
		rest += " " + line
		rest = strings.TrimSpace(rest)
	}
	end()
}

func (p *paragraphs) line(s string) {
	if p.err == nil {
		_, p.err = p.s.out.Write([]byte(s + "\n"))
	}
}

// helpColumns is how wide help texts are.
const helpColumns = 80

// narrowHelp breaks the help texts of a command and of all below it, flags included, so
// that they fit.
func narrowHelp(cmd *cobra.Command) {
	blocks := strings.Split(cmd.Long, "\n\n")
	for i, b := range blocks {
		if b != "" {
			blocks[i] = strings.Join(text.Wrap(b, helpColumns), "\n")
		}
	}
	cmd.Long = strings.Join(blocks, "\n\n")
	for _, c := range cmd.Commands() {
		narrowHelp(c)
	}
}

// narrowFlags is a usage template with flags that are broken at helpColumns.
func narrowFlags(template string) string {
	return strings.NewReplacer(".LocalFlags.FlagUsages ", ".LocalFlags.FlagUsagesWrapped 80 ", ".InheritedFlags.FlagUsages ", ".InheritedFlags.FlagUsagesWrapped 80 ").Replace(template)
}
