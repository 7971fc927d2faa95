package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedCommands: each command that the documents and the workflows show is one,
// with flags that it has.
func TestDocumentedCommands(t *testing.T) {
	files := []string{"../../README.md", "../../CONTRIBUTING.md"}
	for _, more := range []string{"../../docs/*.md", "../../.github/workflows/*.yml"} {
		found, err := filepath.Glob(more)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", more, err)
		}
		files = append(files, found...)
	}
	// At the beginning of a line, after a prompt, in backquotes, or as a step of a job.
	command := regexp.MustCompile("(?:^\\s*(?:- )?(?:run: )?(?:\\$ )?(?:[./\\w]*/)?|`|; then |\\$\\()picklock ([a-z][^`#|>)]*)")
	continued := regexp.MustCompile(`\\\n\s*`)
	n := 0
	for _, file := range files {
		for _, line := range strings.Split(continued.ReplaceAllString(read(t, file), " "), "\n") {
			for _, m := range command.FindAllStringSubmatch(line, -1) {
				args := strings.Fields(strings.NewReplacer(`"`, "", "'", "", "[", "", "]", "").Replace(m[1]))
				cmd, rest, err := newRoot(new(int)).Find(args)
				if err != nil || !cmd.HasParent() {
					if len(args) > 1 && strings.HasPrefix(args[1], "-") {
						t.Errorf("%s: picklock %s: %v", file, m[1], err)
					}
					continue // prose: "picklock says so"
				}
				n++
				if err := cmd.ParseFlags(rest); err != nil {
					t.Errorf("%s: picklock %s: %v", file, m[1], err)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d commands were found: the test looks for them in the wrong way", n)
	}
	t.Logf("%d commands", n)
}
