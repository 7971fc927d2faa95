package grid_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// lint gives what actionlint has to say of a workflow.
func lint(t *testing.T, name string, content []byte) []*actionlint.Error {
	t.Helper()
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	errs, err := l.Lint(name, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return errs
}

const workflows = "../../.github/workflows"

// TestWorkflows: the workflows are such as GitHub runs.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(workflows + "/*.y*ml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows in %s: %v", workflows, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range lint(t, f, b) {
			t.Error(e)
		}
	}
}

// TestWorkflowIsLinted: mistakes that are made on purpose are found.
func TestWorkflowIsLinted(t *testing.T) {
	b, err := os.ReadFile(workflows + "/nightly.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"needs: shard", "needs: shards"}, {"${{ matrix.shard }}/8 --store", "${{ matrix.shrad }}/8 --store"},
		{"cron: \"17 2", "cron: \"77 2"}, {"persist-credentials: false", "persist-credential: false"},
		{"contents: read", "contents: reed"}, {"!cancelled()", "!canceled()"}, {"timeout-minutes: 40", "timeout_minutes: 40"},
		{"runs-on: ubuntu-24.04", "runs-on: ubuntu-24"},
	} {
		bad := strings.Replace(string(b), c[0], c[1], 1)
		if bad == string(b) {
			t.Fatalf("the workflow has no %q", c[0])
		}
		if len(lint(t, "nightly.yml", []byte(bad))) == 0 {
			t.Errorf("nothing is found wrong with %q", c[1])
		}
	}
}

// TestWorkflowShards: the shards that run are the shards that the matrix is divided into.
func TestWorkflowShards(t *testing.T) {
	b, err := os.ReadFile(workflows + "/nightly.yml")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`shard: \[([0-9, ]*)\]`).FindStringSubmatch(string(b))
	if list == nil || list[1] != "1, 2, 3, 4, 5, 6, 7, 8" {
		t.Errorf("the shards are %q, want 1 to 8", list)
	}
	of := regexp.MustCompile(`matrix\.shard \}\}/(\d+)`).FindAllStringSubmatch(string(b), -1)
	for _, m := range of {
		if m[1] != "8" {
			t.Errorf("a shard of %s, want 8", m[1])
		}
	}
	if len(of) < 2 {
		t.Errorf("the number of shards stands in %d places, want it in the name and in the command", len(of))
	}
}
