package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// confirms: value is a confirmation of an (un)subscription by this command.
func confirms(value []byte, name string) bool {
	if value[0] != '*' && value[0] != '>' {
		return false
	}
	return strings.EqualFold(string(elements(value)[0]), name)
}

// isMessage: value is a message to a subscriber.
func isMessage(value []byte) bool {
	switch string(elements(value)[0]) {
	case "message", "pmessage", "smessage":
		return true
	}
	return false
}

// pushed labels a push by its kind; messages of pub/sub have their channel as key.
func pushed(value []byte) label {
	of := elements(value)
	l := label{Command: Command{Name: strings.ToUpper(string(of[0]))}, push: true}
	switch l.Name {
	case "MESSAGE", "SMESSAGE":
		l.key = string(of[1])
	case "PMESSAGE":
		l.key = string(of[2])
	}
	return l
}

// isMonitorLine: +1339518083.107412 [0 127.0.0.1:60866] "keys" "*".
func isMonitorLine(value []byte) bool {
	if value[0] != '+' {
		return false
	}
	stamp, _, found := bytes.Cut(value[1:], []byte(" ["))
	if !found {
		return false
	}
	_, err := strconv.ParseFloat(string(stamp), 64)
	return err == nil
}

// elements gives the first three strings of an aggregate; nil for what is none.
func elements(value []byte) (of [3][]byte) {
	if value[0] != '*' && value[0] != '>' {
		return of
	}
	n, rest, ok := header(value)
	for i := 0; i < len(of) && i < n && ok && len(rest) > 0; i++ {
		var size int
		var behind []byte
		if rest[0] != '$' {
			break
		}
		if size, behind, ok = header(rest); !ok || size < 0 || len(behind) < size+2 {
			break
		}
		of[i], rest = behind[:size], behind[size+2:]
	}
	return of
}

// skipAttributes gives the value that a frame's attributes belong to.
func skipAttributes(raw []byte) []byte {
	for len(raw) > 0 && raw[0] == '|' {
		n, rest, ok := header(raw)
		if !ok {
			return nil
		}
		if n > 0 {
			s := scanner{open: []int64{int64(2 * n)}}
			took, ended, err := s.scan(rest)
			if err != nil || !ended {
				return nil
			}
			rest = rest[took:]
		}
		raw = rest
	}
	return raw
}
