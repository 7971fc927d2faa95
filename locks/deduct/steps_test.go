package deduct_test

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

// What a deduction says of its steps is what it sends, once each in a sale of one try, the
// read before the write.
func TestStepsAreWhatIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	record := redistest.Record(t, server.Addr)
	all := deduct.All()
	for _, name := range []string{"watch:retry=blind", "lua:retry=blind", "lua:id=yes", "hincrby:retry=blind"} {
		s, _ := deduct.Find(name)
		all = append(all, s)
	}
	for _, s := range all {
		c := stock(t, server, s.Name, 5)
		c.sell() // the scripts are known from here on
		c.client = redistest.Client(t, record.Addr)
		record.Take()
		c.sell()
		var sent []locks.Command
		for _, args := range record.Take() {
			cmd := locks.Command{Name: strings.ToUpper(args[0])}
			switch cmd.Name {
			case "EVALSHA":
				cmd.Script = args[1]
			case "EVAL":
				sum := sha1.Sum([]byte(args[1]))
				cmd = locks.Command{Name: "EVALSHA", Script: hex.EncodeToString(sum[:])}
			}
			sent = append(sent, cmd)
		}
		at := map[locks.Step]int{}
		for step, commands := range s.Steps {
			at[step] = slices.Index(sent, commands[0])
			times := 0
			for _, c := range sent {
				if slices.Contains(commands, c) {
					times++
				}
			}
			if times != 1 || len(commands) != 1 {
				t.Errorf("%s: step %s %v was sent %d times in %v, want once", s.Name, step, commands, times, sent)
			}
		}
		_, writes := s.Steps[locks.StepStockWrite]
		if writes == (s.Form == deduct.Memory) {
			t.Errorf("%s: a write to the stock node: %v", s.Name, writes)
		}
		relative := strings.HasPrefix(s.Name, "lua") || strings.HasPrefix(s.Name, "hincrby")
		if _, reads := s.Steps[locks.StepStockRead]; reads == (relative || s.Form == deduct.Memory) {
			t.Errorf("%s: a read that the write is computed from: %v", s.Name, reads)
		} else if reads && at[locks.StepStockRead] >= at[locks.StepStockWrite] {
			t.Errorf("%s: the read comes at %d of %v, after the write", s.Name, at[locks.StepStockRead], sent)
		}
	}
}
