package models_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"picklock/models"
)

// Things in any order, in order, nearly so, or in several lists, are sorted and equals
// keep their order.
func TestSortBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, lists, off := rapid.IntRange(0, 300).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "lists"), rapid.Int64Range(1, 400).Draw(t, "off")
		keys := rapid.SliceOfN(rapid.Int64Range(0, off), n, n).Draw(t, "keys")
		s := make([][2]int64, n)
		for i := range s {
			s[i] = [2]int64{int64(i%(n/lists+1)) + keys[i], int64(i)}
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		models.SortBy(s, func(x *[2]int64) int64 { return x[0] })
		if !slices.Equal(s, want) {
			t.Fatalf("got %v, want %v", s, want)
		}
	})
}
