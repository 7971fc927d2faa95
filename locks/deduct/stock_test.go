package deduct_test

import (
	"fmt"
	"slices"
	"testing"

	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	ctx := t.Context()
	if err := c.MSet(ctx, "mine", "stays", "stock:c", "9").Err(); err != nil {
		t.Fatal(err)
	}
	for form, want := range map[deduct.Form]bool{deduct.String: true, deduct.Hash: true, deduct.Memory: false} {
		if err := c.RPush(ctx, deduct.Keys("").Ledger(), "of an earlier run").Err(); err != nil {
			t.Fatal(err)
		}
		if err := deduct.Keys("").Prepare(ctx, c, form, []string{"a", "b"}, 12); err != nil {
			t.Fatal(err)
		}
		for _, sku := range []string{"a", "b"} {
			level, known, err := deduct.Keys("").Level(ctx, c, form, sku)
			if err != nil || known != want || (known && level != 12) {
				t.Errorf("form %d: level of %s is %d (known %v), %v; want 12, known: %v", form, sku, level, known, err, want)
			}
		}
		if _, known, err := deduct.Keys("").Level(ctx, c, form, "nobody's"); known || err != nil {
			t.Errorf("form %d: the level of a SKU that is not there: known %v, %v", form, known, err)
		}
		if got, err := deduct.Keys("").ReadLedger(ctx, c, 0, 10); err != nil || len(got) != 0 {
			t.Errorf("form %d: the ledger begins with %v, %v; want it empty", form, got, err)
		}
	}
	if got := c.MGet(ctx, "mine", "stock:c").Val(); fmt.Sprint(got) != "[stays 9]" {
		t.Errorf("other keys are %v now, want [stays 9]: only the named stock may be touched", got)
	}
	for _, bad := range [][]string{{"a|b"}, {""}} {
		if err := deduct.Keys("").Prepare(ctx, c, deduct.String, bad, 1); err == nil {
			t.Errorf("SKU %q was taken, but the ledger cannot hold it", bad)
		}
	}
	if err := deduct.Keys("").Prepare(ctx, c, deduct.String, []string{"a"}, -1); err == nil {
		t.Error("-1 units were taken")
	}
}

func TestReadLedgerInPieces(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	ctx := t.Context()
	for i := range 7 {
		if err := c.RPush(ctx, deduct.Keys("").Ledger(), fmt.Sprintf("a|%d|-|%d|%d|0", i+1, 7-i, 6-i)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var ops []int64
	for from := int64(0); ; {
		piece, err := deduct.Keys("").ReadLedger(ctx, c, from, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range piece {
			if e.Seq != from+int64(i) {
				t.Errorf("entry %d has Seq %d", from+int64(i), e.Seq)
			}
			ops = append(ops, e.Op)
		}
		if from += int64(len(piece)); len(piece) < 3 {
			break
		}
	}
	if !slices.Equal(ops, []int64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("operations %v, want 1 to 7 once each", ops)
	}
	for _, r := range []struct {
		from  int64
		limit int
	}{{-1, 1}, {0, 0}} {
		if _, err := deduct.Keys("").ReadLedger(ctx, c, r.from, r.limit); err == nil {
			t.Errorf("%d entries from %d were read: a negative index would count from the end", r.limit, r.from)
		}
	}
	if err := c.RPush(ctx, deduct.Keys("").Ledger(), "garbage").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := deduct.Keys("").ReadLedger(ctx, c, 0, 100); err == nil {
		t.Error("garbage in the ledger was read over")
	}
}

func TestParseEntry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"sku-0|17000005|10|10|9|0": "sku-0 17000005 10 10 9 0",
		"a b|1|-|0|-1|42":          "a b 1 - 0 -1 42",
		"a|1|-3|4|-5|0":            "a 1 -3 4 -5 0",
	} {
		e, err := deduct.ParseEntry(text)
		got := fmt.Sprint(e.SKU, " ", e.Op, " ", show(e.Basis), " ", e.Found, " ", e.Left, " ", e.Fence)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, bad := range []string{
		"", "a", "a|1|1|1|1", "a|1|1|1|1|1|1", "|1|1|1|0|0", "a||1|1|0|0", "a|1||1|0|0", "a|-|1|1|0|0", "a|1|1|-|0|0",
		"a|+1|1|1|0|0", "a|01|1|1|0|0", "a|1|1|1|-0|0", "a|1|1|1e3|0|0", "a|1|1|1|0| 0", "a|1|1|1|0|0\n",
		"a|9223372036854775808|1|1|0|0", "a|0x1|1|1|0|0", "a|1_0|1|1|0|0",
	} {
		if e, err := deduct.ParseEntry(bad); err == nil {
			t.Errorf("%q was read as %+v: the ledger decides what happened, so nothing is guessed", bad, e)
		}
	}
}

// Whatever is accepted is exactly what would be written for it.
func FuzzParseEntry(f *testing.F) {
	for _, seed := range []string{"sku-0|17000005|10|10|9|0", "a|1|-|0|-1|42", "a|1|-|0", "||||||", "a|1|-|--1|0|0", "a|00|-|0|0|0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := deduct.ParseEntry(text)
		if err != nil {
			return
		}
		if again := fmt.Sprintf("%s|%d|%s|%d|%d|%d", e.SKU, e.Op, show(e.Basis), e.Found, e.Left, e.Fence); again != text {
			t.Errorf("%q was read as %+v, which is written %q", text, e, again)
		}
	})
}
