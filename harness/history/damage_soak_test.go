//go:build soak

package history_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
)

var damaged = flag.Int("damaged", 10_000_000, "damaged files that the soak test reads")

// TestSoakDamaged reads files that were cut, whose bits were flipped and whose bytes were
// lost, doubled, moved or overwritten. Each is refused, or read up to the damage with word
// of what was lost, or nothing of what matters was hit.
func TestSoakDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	refused, torn, unhurt := 0, 0, 0
	var whole []byte
	var want *history.History
	for i := range *damaged {
		if i%10_000 == 0 {
			whole = seal(historytest.Events(historytest.Config{Operations: 2 + r.IntN(6), Clients: 2, SKUs: 1, Unknown: 0.2, Seed: r.Uint64()}))
			var err error
			if want, err = history.LoadBytes(bytes.Clone(whole), "", 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		b := hurt(r, bytes.Clone(whole))
		got, err := history.LoadBytes(b, "", int64(64+r.IntN(4000)))
		switch {
		case err != nil && !errors.Is(err, history.ErrDamaged):
			t.Fatalf("file %d: %v\n%s", i, err, b)
		case err != nil:
			refused++
		case got.Broken != "" && !got.Complete:
			torn++
		case reflect.DeepEqual(got, want):
			unhurt++
		default:
			t.Fatalf("file %d reads as whole, but is not what was written\n%s", i, b)
		}
	}
	t.Logf("%d damaged files: %d refused, %d read up to the tear, %d hurt nowhere", *damaged, refused, torn, unhurt)
	if least := *damaged / 100; refused < least || torn < least {
		t.Errorf("one of the outcomes is too rare to say much")
	}
}

// hurt damages a file in one to three ways.
func hurt(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			break
		}
		from := r.IntN(len(b))
		to := min(len(b), from+1+r.IntN(200))
		switch r.IntN(8) {
		case 0, 1:
			b = b[:from]
		case 2, 3:
			b[from] ^= 1 << r.IntN(8)
		case 4:
			b = append(b[:from], b[to:]...)
		case 5:
			b = append(b[:to:to], b[from:]...)
		case 6:
			copy(b[r.IntN(len(b)):], bytes.Clone(b[from:to]))
		case 7:
			for i := from; i < to; i++ {
				b[i] = byte(r.Uint32())
			}
		}
	}
	return b
}
