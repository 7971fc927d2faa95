// Package yamlfile reads the YAML that people write: schedules, scenarios, matrices. In
// goes a text, out comes a value or an error of one line, whatever the text is: the YAML
// library panics on some.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
)

// Decode reads a text of one document into a value. Fields that the value does not have
// are errors. An empty text is io.EOF; any other error is one line, which begins with the
// place, "[line:column]", where there is one.
func Decode(text []byte, into any) error {
	return Guard(func() error {
		d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
		if err := d.Decode(into); errors.Is(err, io.EOF) {
			return io.EOF
		} else if err != nil {
			return oneLine(yaml.FormatError(err, false, false))
		}
		if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
			return errors.New("it is to be one document, and has more behind it")
		}
		return nil
	})
}

// Guard makes errors of the panics with which the YAML library answers some nonsense, such
// as "groups: ! ".
func Guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = oneLine(fmt.Sprintf("it is no YAML that can be read: %v", p))
		}
	}()
	return do()
}

func oneLine(text string) error { return errors.New(strings.Join(strings.Fields(text), " ")) }
