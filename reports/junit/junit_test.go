package junit_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"picklock/reports/junit"
	"picklock/reports/junit/junittest"
)

const hostile = "]]>\x00\x1b[2J</failure><testcase name=\"x\"/>&amp;\u202e\xff\ufffe"

func document(t *testing.T) []byte {
	t.Helper()
	d := junit.Suites{Name: hostile, Time: 12.3456, Suites: []junit.Suite{
		{Name: hostile, Time: 2, Timestamp: time.Date(2026, 3, 14, 15, 9, 26, 535e6, time.FixedZone("", 3600)),
			Properties: []junit.Pair{{Name: hostile, Value: hostile}},
			Cases: []junit.Case{
				{Class: "a.b", Name: "passed", Time: -1},
				{Class: "a.b", Name: hostile, Failure: &junit.Problem{Message: hostile, Type: "x", Text: hostile + "\n" + hostile}, Out: hostile},
				{Class: "a.c", Name: "passed", Error: &junit.Problem{Message: hostile, Type: hostile, Text: ""}},
			}},
		{Name: "empty"},
	}}
	var b bytes.Buffer
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteKeepsToTheSchema(t *testing.T) {
	if err := junittest.Validate(t, document(t)); err != nil {
		t.Errorf("%v\n%s", err, document(t))
	}
	if got := string(document(t)); !strings.Contains(got, `timestamp="2026-03-14T14:09:26"`) || !strings.Contains(got, `time="12.346" tests="3" failures="1" errors="1"`) {
		t.Errorf("moment, length or counts are wrong:\n%s", got)
	}
}

// TestTheSchemaRefuses: a check that takes everything proves nothing.
func TestTheSchemaRefuses(t *testing.T) {
	good := string(document(t))
	for name, change := range map[string][2]string{
		"an unknown element":              {`<testcase classname="a.c"`, `<case/><testcase classname="a.c"`},
		"an unknown attribute":            {`<testsuite name="empty"`, `<testsuite size="1" name="empty"`},
		"a missing attribute":             {`classname="a.c" `, ``},
		"a name twice":                    {`classname="a.c"`, `classname="a.b"`},
		"a time in words":                 {`time="2.000"`, `time="2s"`},
		"a negative time":                 {`time="2.000"`, `time="-2"`},
		"a wrong moment":                  {`26-03-14T`, `26-13-14T`},
		"properties of a case":            {`<system-out>`, `<properties><property name="a" value="b"/></properties><system-out>`},
		"a wrong count in a suite":        {`tests="3" failures="1" errors="1" skipped="0"`, `tests="4" failures="1" errors="1" skipped="0"`},
		"a wrong count in the document":   {`time="12.346" tests="3"`, `time="12.346" tests="2"`},
		"a control character":             {`name="empty"`, `name="&#1;"`},
		"text where there should be none": {`<testsuite name="empty"`, `x<testsuite name="empty"`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s: the document has no %q:\n%s", name, change[0], good)
		}
		if err := junittest.Validate(t, []byte(bad)); err == nil {
			t.Errorf("the schema takes %s", name)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{junit.Attachment("store/a+b/report.html"), "[[ATTACHMENT|store/a+b/report.html]]\n"},
		{junit.Attachment("a]]b"), ""}, {junit.Attachment("a\nb"), ""}, {junit.Attachment(""), ""},
		{junit.Property("why", "a\n[[b]]|c"), "[[PROPERTY|why=a·((b))/c]]\n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
