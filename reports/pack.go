package reports

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
)

// deflated compresses b and gives it as base64: a quarter of the page, and letters that
// can end no script element, whatever servers and clients put into b.
func deflated(b []byte) ([]byte, error) {
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, z.Bytes()), nil
}

// digits are the characters of packed numbers: 64 that need no escape in JSON.
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// packed is a column of small whole numbers. In JSON it is one string: each number as
// base-64 digits of five bits each, lowest first, the sixth bit saying that more
// follow, and the lowest bit of all being the sign. That is the encoding of JavaScript's
// source maps; it halves the page. assets/data.js reads it.
type packed []int64

// MarshalText encodes the column.
func (p packed) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 3*len(p))
	for _, v := range p {
		u := uint64(v)<<1 ^ uint64(v>>63) // 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
		for u >= 32 {
			b = append(b, digits[u&31|32])
			u >>= 5
		}
		b = append(b, digits[u])
	}
	return b, nil
}
