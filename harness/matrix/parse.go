package matrix

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"picklock/harness"
	"picklock/harness/setup"
	"picklock/harness/yamlfile"
)

// Source is a matrix file: what to run, before it is multiplied out (see Plan).
type Source struct {
	Name    string      `yaml:"name"`    // letters, digits and -_. : it becomes a folder
	About   string      `yaml:"about"`   // a line for lists
	Options setup.Setup `yaml:"options"` // of every test, where its group says nothing else
	Groups  []Group     `yaml:"groups"`

	file string    // as errors name it
	tree *ast.File // for the places in it
}

// Group is a product: each of its locks × deductions × topologies × nemeses × servers is a
// cell, but for those left out.
type Group struct {
	Name       string  `yaml:"name"`
	Locks      words   `yaml:"locks"`      // "all": every lock of the registry; so with the next three
	Deductions words   `yaml:"deductions"` // default: read-write
	Topologies words   `yaml:"topologies"` // default: single
	Nemeses    faults  `yaml:"nemeses"`    // not beside options: {faults: ...}, which are then the cells' nemesis
	Servers    words   `yaml:"servers"`    // default: what the runtime has
	Seeds      seeds   `yaml:"seeds"`      // default: one, from 1
	Variant    string  `yaml:"variant"`    // tells the cells from those of a group that differs in options alone
	Where      string  `yaml:"where"`      // "possible": what a lock or a topology cannot do is left out
	Except     []Match `yaml:"except"`
	// Expect replaces what is known of the lock, property by property; of several that fit
	// a cell the last one counts.
	Expect  []Override  `yaml:"expect"`
	Options setup.Setup `yaml:"options"`
}

// Match picks cells of a group. Each field is a name, or a pattern such as kill-*, or a
// list of which one must fit; a field that is not said fits everything. Nemesis is compared
// with Cell.Fault.
type Match struct {
	Lock     words `yaml:"lock"`
	Deduct   words `yaml:"deduct"`
	Topology words `yaml:"topology"`
	Nemesis  words `yaml:"nemesis"`
	Server   words `yaml:"server"`
}

// Override says what a property is expected to be in some cells.
type Override struct {
	Match    `yaml:",inline"`
	Property string `yaml:"property"`
	Verdict  string `yaml:"verdict"` // "valid", "violated" or "either"
	Why      string `yaml:"why"`
}

// words is a list of words, or one.
type words []string

func (w *words) UnmarshalYAML(decode func(any) error) (err error) {
	*w, err = listOrOne(decode, func(one string) string { return one })
	return err
}

// faults is a list of faults, or of lists of faults that a cell has together; or one.
type faults []words

func (f *faults) UnmarshalYAML(decode func(any) error) (err error) {
	*f, err = listOrOne(decode, func(one string) words { return words{one} })
	return err
}

// listOrOne reads a list, or the one word that stands for a list of what alone makes of it.
func listOrOne[T any](decode func(any) error, alone func(string) T) ([]T, error) {
	var all []T
	err := decode(&all)
	if err == nil {
		return all, nil
	}
	var one string
	if decode(&one) != nil {
		return nil, err
	}
	return []T{alone(one)}, nil
}

// seeds is how many seeds, and from where on: 3, or {count: 3, first: 7}.
type seeds struct {
	Count int
	First uint64
}

func (s *seeds) UnmarshalYAML(decode func(any) error) error {
	long := struct {
		Count int    `yaml:"count"`
		First uint64 `yaml:"first"`
	}{1, 1}
	var said any
	if err := decode(&said); err != nil {
		return err
	}
	var err error
	switch said.(type) {
	case int64, uint64:
		err = decode(&long.Count)
	case map[string]any:
		err = decode(&long)
	default:
		err = errors.New("seeds are how many there are, such as 3, or {count: 3, first: 7}")
	}
	*s = seeds{long.Count, long.First}
	return err
}

// fileError is a mistake in a matrix file, with its place. It wraps harness.ErrUsage.
type fileError struct{ text string }

func (e *fileError) Error() string { return e.text }

func (e *fileError) Unwrap() error { return harness.ErrUsage }

// Parse reads a matrix file; file is what errors call it. Unknown fields are errors. An
// error is one line that says where the mistake is, and wraps harness.ErrUsage.
func Parse(file string, text []byte) (*Source, error) {
	s := &Source{file: file}
	read := new(Source) // an error leaves what it decodes into in no particular state
	err := yamlfile.Guard(func() (err error) {
		if s.tree, err = parser.ParseBytes(text, 0); err != nil {
			return s.wrong(err, nil)
		}
		if docs := s.tree.Docs; len(docs) > 1 {
			return s.at(docs[1].GetToken(), "a matrix file is one document, this is a second one")
		}
		err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(read)
		switch {
		case errors.Is(err, io.EOF):
			return s.at(nil, "it is empty; it takes a name and groups (see picklock matrix show ladder --yaml)")
		case err != nil:
			return s.wrong(err, s.tree.Docs[0].Body)
		}
		return nil
	})
	if err != nil {
		if !errors.Is(err, harness.ErrUsage) {
			err = s.at(nil, "%s", err)
		}
		return nil, err
	}
	read.file, read.tree = s.file, s.tree
	return read, read.check()
}

func (s *Source) check() error {
	if !isName(s.Name) {
		return s.place("$.name", "the name of the matrix must be of letters, digits and -_. to become a folder, not %q", s.Name)
	}
	if len(s.Groups) == 0 {
		return s.place("$.groups", "it has no groups; one is written like this: - {locks: [uuid-lua], nemeses: [none, pause-client]}")
	}
	if err := s.checkOptions("$.options", s.Options); err != nil {
		return err
	}
	if len(s.Options.Faults) > 0 {
		return s.place("$.options.faults", "faults are said by a group, under its own options")
	}
	for i, g := range s.Groups {
		if err := s.checkOptions(group(i, "options"), g.Options); err != nil {
			return err
		}
	}
	return nil
}

// checkOptions refuses options that are the columns of a matrix.
func (s *Source) checkOptions(path string, o setup.Setup) error {
	for field, value := range map[string]string{"lock": o.Lock, "deduct": o.Deduct, "topology": o.Topology} {
		if value != "" {
			return s.place(path+"."+field, "%s is no option of a matrix: list it under %s of a group", field,
				map[string]string{"lock": "locks", "deduct": "deductions", "topology": "topologies"}[field])
		}
	}
	return nil
}

// isName: it can be a folder, and a part of a cell's ID.
func isName(s string) bool {
	return s != "" && !strings.HasPrefix(s, ".") && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// group is the path of a field of a group, or of an item of it.
func group(i int, field string, item ...int) string {
	path := fmt.Sprintf("$.groups[%d].%s", i, field)
	for _, n := range item {
		path += fmt.Sprintf("[%d]", n)
	}
	return path
}

// at is an error at a place; nil: of the file as a whole.
func (s *Source) at(t *token.Token, format string, args ...any) error {
	where := s.file
	if t != nil && t.Position != nil {
		where = fmt.Sprintf("%s:%d:%d", s.file, t.Position.Line, t.Position.Column)
	}
	return &fileError{where + ": " + strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")}
}

// place is an error at the node of that path, or at the nearest above it that the file has.
func (s *Source) place(path, format string, args ...any) error {
	var t *token.Token
	for p := path; p != "$" && t == nil; p = p[:strings.LastIndexAny(p, ".[")] {
		_ = yamlfile.Guard(func() error { // what is not found there is looked for above
			where, err := yaml.PathString(p)
			if err != nil {
				return err
			}
			node, err := where.FilterFile(s.tree)
			if err == nil {
				t = begin(node)
			}
			return err
		})
	}
	return s.at(t, format, args...)
}

// begin is the first token of a node: of a mapping its first key.
func begin(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return begin(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

// wrong gives an error of the YAML library its place. Errors of values (a duration without
// a unit) come without one: the place is that of the smallest part of root that has it.
func (s *Source) wrong(err error, root ast.Node) error {
	var kind *yaml.TypeError
	if errors.As(err, &kind) {
		return s.at(kind.GetToken(), "%s is wanted here, not %s", inWords(kind.DstType), inWords(kind.SrcType))
	}
	var y yaml.Error
	if errors.As(err, &y) {
		return s.at(y.GetToken(), "%s", y.GetMessage())
	}
	if root == nil {
		return s.at(nil, "%s", err)
	}
	return s.at(begin(smallest(root, new(Source))), "%s", err)
}

// inWords tells what a YAML value is for that type. YAML takes what has a colon in it for a
// mapping, also where it is meant as text.
func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text (in quotes, if it has signs of YAML in it)"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.Interface:
		return "nothing"
	}
	return "a whole number"
}

// smallest is the first entry of a mapping that cannot be decoded into the field of to that
// it names, or of what is below it.
func smallest(n ast.Node, to any) ast.Node {
	for _, entry := range entries(n) {
		if yaml.NodeToValue(entry, to) == nil {
			continue
		}
		switch entry.Key.String() {
		case "options":
			return smallest(entry.Value, new(setup.Setup))
		case "groups":
			list, ok := entry.Value.(*ast.SequenceNode)
			if !ok {
				return entry
			}
			for _, g := range list.Values {
				if yaml.NodeToValue(g, new(Group)) != nil {
					return smallest(g, new(Group))
				}
			}
		}
		return entry
	}
	return n
}

func entries(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}
