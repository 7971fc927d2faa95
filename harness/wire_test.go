package harness_test

import (
	"testing"

	"picklock/harness"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis/wire/record"
)

// TestStepsOnTheWire: a message is called by the step that it is to the lock or to the
// deduction, also where both have the same commands and the same node.
func TestStepsOnTheWire(t *testing.T) {
	lock, ok := locks.Find("uuid-get-del")
	if !ok {
		t.Fatal("there is no lock uuid-get-del")
	}
	release := lock.Steps[locks.StepRelease][0]
	compare := lock.Steps[locks.StepCompare][0]
	readWrite, _, err := deduct.Lookup("read-write")
	if err != nil {
		t.Fatal(err)
	}
	watch, _, err := deduct.Lookup("watch")
	if err != nil {
		t.Fatal(err)
	}
	write := readWrite.Steps[locks.StepStockWrite][0]
	for _, c := range []struct {
		sale       deduct.Spec
		stock      string
		node, name string
		script     string
		key, want  string
	}{
		{readWrite, "stock", "lock", "SET", "", "p:lock:sku-0", "acquire"},
		{readWrite, "stock", "lock", compare.Name, "", "p:lock:sku-0", "compare"},
		{readWrite, "stock", "lock", release.Name, "", "p:lock:sku-0", "release"},
		{readWrite, "stock", "stock", "GET", "", "p:stock:sku-0", "stock-read"},
		{readWrite, "stock", "stock", "EVALSHA", write.Script, "p:stock:sku-0", "stock-write"},
		{readWrite, "stock", "stock", "EVALSHA", "another", "p:stock:sku-0", ""},
		{readWrite, "lock", "lock", "GET", "", "p:stock:sku-0", "stock-read"}, // both on one node: the key tells
		{readWrite, "lock", "lock", "GET", "", "p:lock:sku-0", "compare"},
		{watch, "stock", "stock", "EXEC", "", "", "stock-write"},
		{watch, "stock", "lock", "EXEC", "", "", ""},
		{readWrite, "stock", "lock", "HELLO", "", "", ""},
		{readWrite, "stock", "lock", "", "", "", ""},
	} {
		m := record.Message{Node: c.node, Name: c.name, Script: c.script, Key: c.key}
		if got := harness.StepOf(lock, c.sale, c.stock, "p:")(&m); got != c.want {
			t.Errorf("%s %s on %s (the stock is on %s) is the step %q, want %q", c.name, c.key, c.node, c.stock, got, c.want)
		}
	}
}
