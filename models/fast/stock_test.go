package fast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// stockSays gives porcupine's verdict on a small history.
func stockSays(s spec.Stock, ops []spec.StockOp) Verdict {
	if porcupine.CheckOperations(s.Model(), spec.StockOperations(ops)) {
		return Legal
	}
	return Illegal
}

func showStock(s spec.Stock, ops []spec.StockOp) string {
	var b strings.Builder
	fmt.Fprintf(&b, "start %d, free %v\n", s.Start, s.Free)
	for i := range ops {
		o := &ops[i]
		fmt.Fprintf(&b, "  %2d: [%d, %d] %s\n", i, o.Call, o.Return, o)
	}
	return b.String()
}

// stockDiffer makes histories until the checker and porcupine disagree, n at most. asked
// is how many operations the checker left to porcupine.
func stockDiffer(seed uint64, n int) (found string, verdicts [2]int, asked map[string]int) {
	r := rand.New(rand.NewPCG(seed, 4))
	asked = map[string]int{}
	for i := range n {
		m := makeStock(r, 2+r.IntN(7))
		want := stockSays(m.stock, m.ops)
		got := Stock(m.stock, m.ops, Limits{})
		verdicts[want]++
		if got.Asked > 0 {
			asked[m.shape]++
		}
		switch {
		case got.Verdict != want:
			found = fmt.Sprintf("history %d of seed %d (%s) is %s, but the checker says %s %v\n%s", i, seed, m.shape, want, got.Verdict, got.Ops, showStock(m.stock, m.ops))
		case want == Illegal && len(got.Ops) == 0:
			found = fmt.Sprintf("history %d of seed %d (%s): nothing is named that is illegal\n%s", i, seed, m.shape, showStock(m.stock, m.ops))
		case !m.mutated && want == Illegal:
			found = fmt.Sprintf("history %d of seed %d (%s): a counter did it, but it is illegal\n%s", i, seed, m.shape, showStock(m.stock, m.ops))
		}
		if found != "" {
			return found, verdicts, asked
		}
	}
	return "", verdicts, asked
}

// TestStockAgrees compares the checker with porcupine on random histories.
func TestStockAgrees(t *testing.T) {
	found, verdicts, asked := stockDiffer(1, *histories)
	if found != "" {
		t.Fatal(found)
	}
	t.Logf("%d legal, %d illegal, left to porcupine: %v", verdicts[Legal], verdicts[Illegal], asked)
	if least := *histories / 5; verdicts[Legal] < least || verdicts[Illegal] < least {
		t.Errorf("%d legal and %d illegal histories: too one-sided to show anything", verdicts[Legal], verdicts[Illegal])
	}
}

// TestStockPlanted plants mistakes; the comparison with porcupine must find each.
func TestStockPlanted(t *testing.T) {
	for name, q := range map[string]quirk{
		"open interval":   stockOpenInterval,
		"unknown ignored": stockUnknownIgnored,
		"gap skipped":     stockGapSkipped,
		"deadline off":    stockDeadlineOff,
		"refuse ignored":  stockRefuseIgnored,
		"refuse low":      stockRefuseLow,
		"tie wrong":       stockTieWrong,
		"first read only": stockFirstReadOnly,
		"took optional":   stockTookOptional,
		"took anytime":    stockTookAnytime,
		"below zero":      stockBelowZero,
		"refuse no fill":  stockRefuseNoFill,
		"head closed":     stockHeadClosed,
		"dominance":       stockDominance,
		"eager wrong":     stockEagerWrong,
		"some order":      stockSomeOrder,
		"ways few":        stockWaysFew,
		"spare":           stockSpare,
	} {
		t.Run(name, func(t *testing.T) {
			planted = q
			defer func() { planted = 0 }()
			const most = 20_000
			found, verdicts, _ := stockDiffer(2, most)
			if found == "" {
				t.Fatalf("not found within %d histories", most)
			}
			t.Logf("found after %d histories", verdicts[Legal]+verdicts[Illegal])
		})
	}
}

// TestStockOdd gives the checker what it does not decide itself.
func TestStockOdd(t *testing.T) {
	const far = math.MaxInt64
	for _, c := range []struct {
		name  string
		stock spec.Stock
		ops   []spec.StockOp
		want  Verdict
		asked int
	}{
		{"nothing", spec.Stock{Start: 1}, nil, Legal, 0},
		{"a quantity of zero", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Left: 5, Step: spec.Take}}, Legal, 1},
		{"a restock below zero", spec.Stock{Start: 5}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: -2, Left: 7, Step: spec.Restock}}, Illegal, 1},
		{"levels at the end of all numbers", spec.Stock{Start: far}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1, Left: far - 1, Step: spec.Take},
			{Call: 3, Return: 4, Qty: far, Left: -1, Step: spec.Take}}, Legal, 2},
		{"quantities that overflow", spec.Stock{}, []spec.StockOp{
			{Call: 1, Return: 2, Qty: 1 << 59, Step: spec.TookSome},
			{Call: 1, Return: 2, Qty: 1 << 59, Step: spec.TookSome},
			{Call: 1, Return: 2, Qty: 1 << 59, Step: spec.TookSome},
			{Call: 3, Return: 4, Left: -3 << 59, Step: spec.Level}}, Legal, 4},
		{"levels far apart", spec.Stock{Start: 1 << 59}, []spec.StockOp{
			{Call: 3, Return: 4, Qty: 1, Left: 4, Step: spec.Take},
			{Call: 1, Return: 2, Qty: 1<<59 - 5, Left: 5, Step: spec.Take},
			{Call: 5, Return: 6, Qty: 1, Left: 3, Step: spec.Take}}, Legal, 0},
		{"and one from before", spec.Stock{Start: 1 << 59}, []spec.StockOp{
			{Call: 3, Return: 4, Qty: 1<<59 - 5, Left: 5, Step: spec.Take},
			{Call: 1, Return: 2, Qty: 1, Left: 4, Step: spec.Take}}, Illegal, 0},
	} {
		got := Stock(c.stock, c.ops, Limits{})
		if got.Verdict != c.want || got.Asked != c.asked {
			t.Errorf("%s: %s with %d operations left to porcupine, want %s with %d", c.name, got.Verdict, got.Asked, c.want, c.asked)
		}
		if said := stockSays(c.stock, c.ops); said != c.want {
			t.Errorf("%s: porcupine says %s, want %s", c.name, said, c.want)
		}
	}
}

// TestStockUndecided gives it more than it and porcupine can decide in the time: which of
// many quantities, all even, fill an odd gap?
func TestStockUndecided(t *testing.T) {
	var ops []spec.StockOp
	for i := range int64(24) {
		ops = append(ops, spec.StockOp{Qty: 1000 + 2*i*i, Step: spec.MayTake})
	}
	ops = append(ops, spec.StockOp{Call: 1, Return: 2, Left: -15001, Step: spec.Level})
	got := Stock(spec.Stock{}, ops, Limits{Timeout: 10 * time.Millisecond})
	if got.Verdict != Undecided || got.Asked != len(ops) {
		t.Errorf("%s with %d operations left to porcupine, want undecided with all %d", got.Verdict, got.Asked, len(ops))
	}
}

// TestStockSearchAgrees lets the search decide all that it can, also what the chain would,
// and with bounds so low that it has to give up, and hands over to porcupine.
func TestStockSearchAgrees(t *testing.T) {
	for _, b := range []stockBounds{usualStock, {states: 1, ways: 64, work: 1000}, {states: 2, ways: 1, work: 1000}, {states: 1024, ways: 2, work: -3100}} {
		r := rand.New(rand.NewPCG(3, 4))
		var asked, parts int
		for i := range *histories / 4 {
			m := makeStock(r, 2+r.IntN(7))
			h := surveyStock(m.stock, m.ops)
			if h.odd || m.stock.Free && h.refuses > 0 {
				continue
			}
			want, got := stockSays(m.stock, m.ops), h.search(b, Limits{})
			if got.Verdict != want {
				t.Fatalf("history %d (%s) is %s, but the search within %v says %s %v\n%s", i, m.shape, want, b, got.Verdict, got.Ops, showStock(m.stock, m.ops))
			}
			if got.Asked > 0 {
				asked++
			}
			if 0 < got.Asked && got.Asked < len(m.ops) {
				parts++
			}
		}
		t.Logf("within %v: %d left to porcupine, %d of them in part", b, asked, parts)
		if (parts == 0) != (b == usualStock) {
			t.Errorf("within %v %d histories are left to porcupine in part", b, parts)
		}
	}
}

// TestStockChainAgrees compares the chain with the search, on histories that are too long
// for porcupine.
func TestStockChainAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	var verdicts [2]int
	for i := range *histories / 20 {
		m := makeStock(r, 20+r.IntN(60))
		h := surveyStock(m.stock, m.ops)
		if h.restocks > 0 || m.stock.Free && h.refuses > 0 {
			continue
		}
		s := newStockSearch(h, usualStock)
		at, ok := s.run(len(m.ops))
		if !ok && s.cut {
			continue
		}
		want := Legal
		if !ok {
			want = Illegal
		}
		got, sure := h.chain()
		if sure && got.Verdict != want {
			t.Fatalf("history %d (%s): the search says %s %v, but the chain %s %v\n%s", i, m.shape, want, at, got.Verdict, got.Ops, showStock(m.stock, m.ops))
		}
		if sure {
			verdicts[want]++
		}
		if sure && !m.mutated && want == Illegal {
			t.Fatalf("history %d (%s): a counter did it, but it is illegal\n%s", i, m.shape, showStock(m.stock, m.ops))
		}
	}
	t.Logf("%d legal, %d illegal", verdicts[Legal], verdicts[Illegal])
	if least := *histories / 200; verdicts[Legal] < least || verdicts[Illegal] < least {
		t.Errorf("%d legal and %d illegal histories: too one-sided to show anything", verdicts[Legal], verdicts[Illegal])
	}
}
