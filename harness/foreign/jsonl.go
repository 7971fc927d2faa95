package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The line format for everybody. Each line is one JSON object, an event of a client:
//
//	{"process":0,"type":"invoke","f":"acquire","key":"lock-1"}
//	{"process":0,"type":"ok","f":"acquire","key":"lock-1","value":{"fence":7}}
//	{"process":0,"type":"invoke","f":"cas","value":[1,2],"time":1500}
//	{"process":0,"type":"fail","f":"cas","value":[1,2],"error":"cas-failed"}
//
// process is a number or a name: who does one thing after the other. type is invoke, ok,
// fail or info. f is acquire or release (lock, unlock), read, write or cas, get, put or
// append. key, if there is one, says which lock or register. value is what is written, or
// was found; of cas it is [expected, new]; of an acquire it can be the fence, or an object
// with "fence", and "client" for the owner where that is not the process. Reading null
// found nothing. error says why an operation failed, in one word where it counts (Rules).
// The order of the lines is the order in time; time (ns), index, client, node and note are
// free. Other fields are refused: they may be misspelt.
type jsonLine struct {
	Process json.RawMessage `json:"process"`
	Type    string          `json:"type"`
	F       string          `json:"f"`
	Key     json.RawMessage `json:"key"`
	Value   json.RawMessage `json:"value"`
	Error   json.RawMessage `json:"error"`
	Client  json.RawMessage `json:"client"`
	Index   json.RawMessage `json:"index"`
	Time    json.RawMessage `json:"time"`
	Node    json.RawMessage `json:"node"`
	Note    json.RawMessage `json:"note"`
}

func readJSONL(in *bufio.Reader, b *builder) error {
	return eachLine(in, b.h, func(line []byte, n int, whole bool) error {
		var l jsonLine
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		err := d.Decode(&l)
		if err == nil {
			if _, more := d.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("something follows the object")
			}
		}
		if err != nil {
			if !whole {
				return b.h.errorf(n, "the file ends within this line: it was cut")
			}
			return b.h.errorf(n, "not a line of JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
		}
		e := event{line: n, typ: b.word([]byte(l.Type)), f: b.word([]byte(l.F))}
		for _, one := range []struct {
			name string
			from json.RawMessage
			to   *Value
		}{
			{"process", l.Process, &e.process}, {"key", l.Key, &e.key}, {"value", l.Value, &e.value},
			{"error", l.Error, &e.err}, {"client", l.Client, &e.client}, {"index", l.Index, &e.index},
		} {
			if *one.to, err = b.json(one.from); err != nil {
				return b.h.errorf(n, "%s: %v", one.name, err)
			}
		}
		return b.add(&e)
	})
}

// json gives the Value of JSON: an object is a map with keywords for keys.
func (b *builder) json(raw json.RawMessage) (Value, error) {
	if len(raw) == 0 {
		return "", nil
	}
	if plainAtom(raw) && raw[0] != ':' {
		return Value(b.word([]byte(nilJSON(raw)))), nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return "", err
	}
	out, err := appendJSON(nil, x, 0)
	if err != nil {
		return "", err
	}
	return Value(b.word([]byte(nilValue(string(out))))), nil
}

func nilJSON(raw []byte) string {
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func appendJSON(out []byte, x any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch x := x.(type) {
	case nil:
		return append(out, "nil"...), nil
	case bool:
		return strconv.AppendBool(out, x), nil
	case string:
		return appendText(out, x), nil
	case json.Number:
		return appendAtom(out, []byte(x))
	case []any:
		parts := make([]string, len(x))
		for i := range x {
			one, err := appendJSON(nil, x[i], depth+1)
			if err != nil {
				return nil, err
			}
			parts[i] = string(one)
		}
		return bracket(out, "[", parts, "]"), nil
	case map[string]any:
		pairs := make([][2]string, 0, len(x))
		for k, v := range x {
			one, err := appendJSON(nil, v, depth+1)
			if err != nil {
				return nil, err
			}
			key := ":" + k
			if !plainAtom([]byte(key)) {
				key = string(appendText(nil, k))
			}
			pairs = append(pairs, [2]string{key, string(one)})
		}
		slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		parts := make([]string, 0, 2*len(pairs))
		for _, p := range pairs {
			parts = append(parts, p[0], p[1])
		}
		return bracket(out, "{", parts, "}"), nil
	}
	return nil, fmt.Errorf("unexpected %T", x)
}
