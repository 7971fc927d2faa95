// Package junittest checks in tests that a document is JUnit XML: by a schema, and by the
// counts, which a schema cannot see.
package junittest

import (
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed junit.xsd
var schema []byte

// Validate says what is wrong with the document; nil if nothing is. It needs xmllint,
// which "make deps" installs, and fails the test without it.
func Validate(t testing.TB, document []byte) error {
	t.Helper()
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Fatalf("the schema is checked by xmllint, which is not installed (make deps installs it): %v", err)
	}
	xsd := filepath.Join(t.TempDir(), "junit.xsd")
	if err := os.WriteFile(xsd, schema, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), lint, "--nonet", "--noout", "--schema", xsd, "-")
	cmd.Stdin = strings.NewReader(string(document))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return counts(document)
}

type numbers struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

// counts compares the counts that the document states with its cases.
func counts(document []byte) error {
	var doc struct {
		numbers
		Suites []struct {
			numbers
			Name  string `xml:"name,attr"`
			Cases []struct {
				Failure *string `xml:"failure"`
				Error   *string `xml:"error"`
				Skipped *string `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(document, &doc); err != nil {
		return err
	}
	var errs []error
	var all numbers
	for _, s := range doc.Suites {
		n := numbers{Tests: len(s.Cases)}
		for _, c := range s.Cases {
			if c.Failure != nil {
				n.Failures++
			}
			if c.Error != nil {
				n.Errors++
			}
			if c.Skipped != nil {
				n.Skipped++
			}
		}
		if n != s.numbers {
			errs = append(errs, fmt.Errorf("suite %q states %+v and has %+v", s.Name, s.numbers, n))
		}
		all.Tests, all.Failures, all.Errors = all.Tests+n.Tests, all.Failures+n.Failures, all.Errors+n.Errors
	}
	if all != doc.numbers {
		errs = append(errs, fmt.Errorf("the document states %+v and has %+v", doc.numbers, all))
	}
	return errors.Join(errs...)
}
