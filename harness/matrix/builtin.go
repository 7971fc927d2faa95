package matrix

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtins are the names of the matrices that are part of the program, smallest first.
func Builtins() []string { return []string{"ladder", "nightly", "full"} }

// Builtin is the file of a matrix that is part of the program.
func Builtin(name string) (text []byte, ok bool) {
	if !slices.Contains(Builtins(), name) {
		return nil, false
	}
	text, err := builtin.ReadFile("builtin/" + name + ".yaml")
	return text, err == nil
}

// Load reads the matrix of that name, or in that file. An error wraps harness.ErrUsage and
// is one line.
func Load(name string) (*Source, error) {
	if text, ok := Builtin(name); ok {
		return Parse(name, text)
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, misuse("there is no matrix file %s, and built in are: %s", name, strings.Join(Builtins(), ", "))
	case err != nil:
		return nil, misuse("matrix file: %s", err)
	}
	return Parse(name, text)
}
