package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// readEDN reads Jepsen's form.
func readEDN(in *bufio.Reader, b *builder) error {
	s := &scanner{in: in, line: 1, b: b}
	for {
		form, line, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := b.addEDN(form, line); err != nil {
			return err
		}
	}
}

// addEDN takes one operation map, tagged or not.
func (b *builder) addEDN(form []byte, line int) error {
	inside, err := untag(form)
	if err != nil {
		return b.h.errorf(line, "%v", err)
	}
	var raw [len(ednKeys)][]byte
	p := parser{in: inside}
	for {
		key, err := p.next()
		if errors.Is(err, errEnd) {
			break
		}
		if err != nil {
			return b.h.errorf(line, "%v", err)
		}
		value, err := p.next()
		if errors.Is(err, errEnd) {
			return b.h.errorf(line, "the key %.40s has no value", key)
		}
		if err != nil {
			return b.h.errorf(line, "%v", err)
		}
		for i, known := range ednKeys {
			if string(key) != known {
				continue
			}
			if raw[i] != nil {
				return b.h.errorf(line, "the key %s stands twice", key)
			}
			raw[i] = value
		}
	}
	e := event{line: line}
	if e.process, err = b.value(raw[keyProcess]); err != nil {
		return b.h.errorf(line, ":process: %v", err)
	}
	if e.nemesis() {
		return nil
	}
	for _, one := range []struct {
		key int
		to  *string
	}{{keyType, &e.typ}, {keyF, &e.f}} {
		word := raw[one.key]
		if len(word) > 1 && word[0] == ':' {
			*one.to = b.word(word[1:])
		} else if word != nil {
			return b.h.errorf(line, "%s is %.40s, not a keyword", ednKeys[one.key], word)
		}
	}
	for _, one := range []struct {
		key int
		to  *Value
	}{{keyValue, &e.value}, {keyKey, &e.key}, {keyClient, &e.client}} {
		if *one.to, err = b.value(raw[one.key]); err != nil {
			return b.h.errorf(line, "%s: %v", ednKeys[one.key], err)
		}
	}
	if raw[keyIndex] != nil {
		if e.index, err = canonical(raw[keyIndex]); err != nil { // each is new: there is no use in keeping them
			return b.h.errorf(line, ":index: %v", err)
		}
	}
	e.err = b.lenient(raw[keyError])
	if e.client == "" {
		e.client = b.lenient(raw[keyDebug]).field("client")
	}
	return b.add(&e)
}

// ednKeys are the keys that count; others are passed over.
var ednKeys = [...]string{":process", ":type", ":f", ":value", ":key", ":error", ":client", ":debug", ":index"}

const (
	keyProcess = iota
	keyType
	keyF
	keyValue
	keyKey
	keyError
	keyClient
	keyDebug
	keyIndex
)

func (b *builder) value(raw []byte) (Value, error) {
	if raw == nil {
		return "", nil
	}
	v, err := canonical(raw)
	if err != nil {
		return "", err
	}
	return Value(b.word([]byte(v))), nil
}

// lenient reads what Clojure's printer may have written in a form that is not EDN. What
// cannot be read is taken for nil: nothing is concluded from it.
func (b *builder) lenient(raw []byte) Value {
	v, err := b.value(raw)
	if err != nil {
		return ""
	}
	return v
}

// untag gives what stands between the braces of a map.
func untag(form []byte) ([]byte, error) {
	p := parser{in: form}
	for p.at < len(form) && form[p.at] == '#' {
		p.at++
		if len(p.atom()) == 0 {
			return nil, errors.New("an operation is not a map") // but a set
		}
		if err := p.skip(0); err != nil {
			return nil, err
		}
	}
	rest := bytes.TrimSpace(form[p.at:])
	if len(rest) < 2 || rest[0] != '{' {
		return nil, errors.New("an operation is not a map")
	}
	return rest[1 : len(rest)-1], nil
}
