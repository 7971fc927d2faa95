package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"picklock/harness/store"
	"picklock/nemesis/wire/record"
)

func TestMessages(t *testing.T) {
	d := store.Dir(t.TempDir())
	if log, err := d.Messages(0, 100); log != nil || err != nil {
		t.Errorf("of a test without a wire: %v, %v; want neither messages nor an error", log, err)
	}
	w, err := record.Create(d.Path(store.WireFile), record.Options{Now: func() int64 { return 90 }})
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(10); at < 60; at += 10 {
		w.Add([]record.Message{{At: at, Out: at + 5, Node: "lock", Name: "GET"}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := d.Messages(25, 40)
	if err != nil || !log.Whole || len(log.Messages) != 3 || log.Messages[0].At != 20 || log.Messages[2].At != 40 {
		t.Errorf("between 25 and 40: %+v, %v; want those of 20 (on its way to 25), 30 and 40", log, err)
	}
	if err := os.WriteFile(d.Path(store.WireFile), []byte("damage\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Messages(0, 100); !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), store.WireFile) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("of a damaged record: %v, want ErrDamaged with the file and the line", err)
	}
}
