package history

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the event as one JSON object, without a newline: fixed order of
// fields, zero values left out. It is written by hand because clients run it on their
// hot path, between the commands that are being timed.
func (e *Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, e.Time, 10)
	b = append(b, `,"type":"`...)
	b = append(b, e.Type...)
	b = append(b, '"')
	switch e.Type {
	case Invoke, OK, Fail, Info, Lost, ClientUp, ClientDown, ClientDeath, ClientTold:
		b = appendString(b, "op", string(e.Op))
		b = appendInt(b, "id", e.ID)
		b = append(b, `,"p":`...)
		b = strconv.AppendInt(b, e.Process, 10)
		b = append(b, `,"c":`...)
		b = strconv.AppendInt(b, int64(e.Client), 10)
		b = append(b, `,"w":`...)
		b = strconv.AppendInt(b, int64(e.Worker), 10)
	}
	b = appendString(b, "obj", e.Object)
	b = appendInt(b, "grant", e.Grant)
	b = appendInt(b, "srv", int64(e.Server))
	b = appendString(b, "token", e.Token)
	b = appendInt(b, "fence", e.Fence)
	b = appendInt(b, "from", e.From)
	b = appendInt(b, "validity", e.Validity)
	b = appendInt(b, "attempts", e.Attempts)
	b = appendString(b, "belief", e.Belief)
	b = appendPointer(b, "count", e.Count)
	b = appendPointer(b, "basis", e.Basis)
	b = appendPointer(b, "left", e.Left)
	if e.Sold {
		b = append(b, `,"sold":true`...)
	}
	b = appendString(b, "code", e.Code)
	b = appendString(b, "error", e.Error)
	if e.Fault != nil {
		b = append(b, `,"fault":`...)
		b = appendMarshal(b, e.Fault)
	}
	if l := e.Ledger; l != nil {
		b = append(b, `,"ledger":{"seq":`...)
		b = strconv.AppendInt(b, l.Seq, 10)
		b = append(b, `,"op":`...)
		b = strconv.AppendInt(b, l.Op, 10)
		b = appendPointer(b, "basis", l.Basis)
		b = append(b, `,"found":`...)
		b = strconv.AppendInt(b, l.Found, 10)
		b = append(b, `,"left":`...)
		b = strconv.AppendInt(b, l.Left, 10)
		b = appendInt(b, "fence", l.Fence)
		b = append(b, '}')
	}
	if e.Stock != nil {
		b = append(b, `,"stock":`...)
		b = appendMarshal(b, e.Stock)
	}
	b = appendString(b, "node", e.Node)
	b = appendString(b, "note", e.Note)
	return append(b, '}')
}

func appendInt(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(appendKey(b, key), v, 10)
}

func appendPointer(b []byte, key string, v *int64) []byte {
	if v == nil {
		return b
	}
	return strconv.AppendInt(appendKey(b, key), *v, 10)
}

func appendString(b []byte, key, v string) []byte {
	if v == "" {
		return b
	}
	b = appendKey(b, key)
	for i := range len(v) {
		if c := v[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendMarshal(b, v) // rare: needs escapes
		}
	}
	b = append(b, '"')
	b = append(b, v...)
	return append(b, '"')
}

func appendKey(b []byte, key string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

func appendMarshal(b []byte, v any) []byte {
	out, err := json.Marshal(v)
	if err != nil { // strings, integers and booleans only: cannot happen
		panic(err)
	}
	return append(b, out...)
}
