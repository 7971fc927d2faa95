package yamlfile_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"picklock/harness/yamlfile"
)

type wish struct {
	Name   string            `yaml:"name"`
	Number int               `yaml:"number"`
	List   []string          `yaml:"list"`
	Map    map[string]string `yaml:"map"`
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\nnumber: 3\nlist: [b]\nmap: {c: d}\n": "",
		"{\"name\": \"a\"}":                            "",
		"# said nothing\nname: a\n":                    "",
		"name: a\n---\n":                               "",
		"":                                             "EOF",
		"# nothing at all\n":                           "EOF",
		"nmae: a":                                      `[1:1] unknown field "nmae"`,
		"name: a\nnumber: many":                        "[2:9] cannot unmarshal",
		"name: [":                                      "[1:7] sequence end token",
		"name: a\nname: b":                             "[2:1] mapping key",
		"name: a\n---\nname: b\n":                      "one document",
		"name: a\n---\nname: [\n":                      "[3:7] sequence end token",
		"list: ! ":                                     "no YAML that can be read",
		"map: {a: \"\n\n\n":                            "[1:",
	} {
		err := yamlfile.Decode([]byte(text), new(wish))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.40q: got error %.200v, want %q", text, err, want)
		case want == "EOF" && !errors.Is(err, io.EOF):
			t.Errorf("%.40q: got error %v, want io.EOF", text, err)
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%.40q: the error has several lines: %q", text, err)
		}
	}
}
