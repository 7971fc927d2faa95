// Package junit writes JUnit XML, the form in which CI systems take test results.
//
// In go suites of cases; out comes a document that keeps to the elements and attributes
// that JUnit's Ant task began with and GitHub's actions, GitLab and Jenkins read. It knows
// nothing of locks. Foreign text is cleaned here, so that no name or error of a server can
// make the document invalid.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"picklock/reports/text"
)

// Suites is one document.
type Suites struct {
	Name   string
	Time   float64 // seconds
	Suites []Suite
}

// Suite is a group of cases.
type Suite struct {
	Name       string
	Time       float64   // seconds
	Timestamp  time.Time // zero: not known
	Properties []Pair
	Cases      []Case
}

// Pair is a property of a suite.
type Pair struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one test. Without Failure and Error it passed.
//
// Cases have no <properties>: strict readers, such as Jenkins' xUnit plugin, refuse them
// there. Out takes them as lines of their own, "[[PROPERTY|name=value]]", a form that the
// lenient ones read and people do too.
type Case struct {
	Class   string   // GitLab calls it the suite; Jenkins takes what stands before the last dot for a package
	Name    string   // together with Class unique: GitLab drops cases whose names it has seen
	Time    float64  // seconds
	Failure *Problem // what was asserted is not so
	Error   *Problem // it could not be asserted
	Out     string   // standard output
}

// Problem is why a case did not pass. GitLab shows the text alone, Jenkins both.
type Problem struct {
	Message string // one line
	Type    string
	Text    string
}

// Attachment is the line of Case.Out that GitLab and Jenkins' attachments plugin make a
// link from: a path relative to the project's folder, or an absolute one. GitLab takes
// the first of a case only, and reads it only where the case did not pass. A path that
// cannot be written so gives an empty string.
func Attachment(path string) string {
	if path == "" || strings.ContainsAny(path, "[]|") || text.Plain(path) != path {
		return ""
	}
	return "[[ATTACHMENT|" + path + "]]\n"
}

// Property is the line of Case.Out that names a property of the case.
func Property(name, value string) string {
	return "[[PROPERTY|" + name + "=" + strings.NewReplacer("[", "(", "]", ")", "|", "/").Replace(text.Plain(value)) + "]]\n"
}

type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr,omitempty"`
		Time     string   `xml:"time,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name       string      `xml:"name,attr"`
		Tests      int         `xml:"tests,attr"`
		Failures   int         `xml:"failures,attr"`
		Errors     int         `xml:"errors,attr"`
		Skipped    int         `xml:"skipped,attr"` // always 0: what did not pass is never shown as skipped
		Time       string      `xml:"time,attr"`
		Timestamp  string      `xml:"timestamp,attr,omitempty"`
		Properties *properties `xml:"properties,omitempty"`
		Cases      []testCase  `xml:"testcase"`
	}
	properties struct {
		Pairs []Pair `xml:"property"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Failure *problem `xml:"failure,omitempty"`
		Error   *problem `xml:"error,omitempty"`
		Out     *out     `xml:"system-out,omitempty"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
	out struct {
		Text string `xml:",cdata"`
	}
)

// Write writes the document, with the counts of its cases.
func (d *Suites) Write(w io.Writer) error {
	all := suites{Name: text.Plain(d.Name), Time: seconds(d.Time)}
	for _, s := range d.Suites {
		x := suite{Name: text.Plain(s.Name), Tests: len(s.Cases), Time: seconds(s.Time)}
		if !s.Timestamp.IsZero() {
			x.Timestamp = s.Timestamp.UTC().Format("2006-01-02T15:04:05")
		}
		if len(s.Properties) > 0 {
			x.Properties = new(properties)
			for _, p := range s.Properties {
				x.Properties.Pairs = append(x.Properties.Pairs, Pair{text.Plain(p.Name), text.Plain(p.Value)})
			}
		}
		for _, c := range s.Cases {
			y := testCase{Class: text.Plain(c.Class), Name: text.Plain(c.Name), Time: seconds(c.Time), Failure: clean(c.Failure), Error: clean(c.Error)}
			if c.Out != "" {
				y.Out = &out{text.Lines(c.Out)}
			}
			if c.Failure != nil {
				x.Failures++
			}
			if c.Error != nil {
				x.Errors++
			}
			x.Cases = append(x.Cases, y)
		}
		all.Tests, all.Failures, all.Errors = all.Tests+x.Tests, all.Failures+x.Failures, all.Errors+x.Errors
		all.Suites = append(all.Suites, x)
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode JUnit XML: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, b); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

func clean(p *Problem) *problem {
	if p == nil {
		return nil
	}
	return &problem{text.Plain(p.Message), text.Plain(p.Type), text.Lines(p.Text)}
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", max(0, s)) }
