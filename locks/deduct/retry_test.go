package deduct_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

// writes is the command that a deduction's write goes by.
func writes(name string) string {
	if strings.HasPrefix(name, "watch") {
		return "exec"
	}
	return "evalsha"
}

// lose makes a counter whose client loses answers to writes.
func lose(t *testing.T, server *redistest.Server, name string, units int64, l *lossy) *counter {
	t.Helper()
	c := stock(t, server, name, units)
	c.sell() // the script is known from here on: EVALSHA is not followed by EVAL
	l.command = writes(name)
	c.client.AddHook(l)
	return c
}

// Row 3: the write was done, its answer is lost. Who sends it again blindly takes two
// units for one operation, and does not know.
func TestDoubleApply(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, c := range []struct {
		name    string
		entries int   // of the operation
		left    int64 // as the client sees it; -1: the outcome is unknown
		tries   int
	}{
		{"hincrby", 1, -1, 1},
		{"hincrby:retry=blind", 2, 2, 2},
		{"watch", 1, -1, 1},
		{"watch:retry=blind", 2, 2, 2},
		{"lua", 1, -1, 1},
		{"lua:id=yes", 1, -1, 1},
		{"lua:retry=blind", 2, 2, 2},
		{"lua:retry=blind,id=yes", 1, 3, 2},
	} {
		k := lose(t, server, c.name, 5, &lossy{left: 1})
		req := k.request(nil)
		r, err := k.handle(nil).Deduct(t.Context(), req)
		if c.left < 0 {
			if !errors.Is(err, io.EOF) || errors.Is(err, deduct.ErrNotDone) || r.Sold {
				t.Errorf("%s: %+v, %v; want an unknown outcome", c.name, r, err)
			}
		} else if err != nil || !r.Sold || *r.Left != c.left || r.Tries != c.tries {
			t.Errorf("%s: %+v leaving %s, %v; want a sale that leaves %d in %d tries", c.name, r, show(r.Left), err, c.left, c.tries)
		}
		var mine []deduct.Entry
		for _, e := range k.ledger() {
			if e.Op == req.ID {
				mine = append(mine, e)
			}
			if e.Basis != nil && *e.Basis != e.Found {
				t.Errorf("%s: entry %+v has a basis that it did not find", c.name, e)
			}
		}
		if len(mine) != c.entries {
			t.Errorf("%s: the operation took %d units, want %d", c.name, len(mine), c.entries)
		}
	}
}

// The last unit went with the try that was not answered: "nothing left" is not the truth.
func TestLastUnitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, name := range []string{"lua:retry=blind", "watch:retry=blind"} {
		k := lose(t, server, name, 2, &lossy{left: 1})
		r, err := k.handle(nil).Deduct(t.Context(), k.request(nil))
		if !errors.Is(err, io.EOF) || errors.Is(err, deduct.ErrNotDone) || r.Sold {
			t.Errorf("%s: %+v, %v; want an unknown outcome", name, r, err)
		}
		if level, _ := k.level(); level != 0 {
			t.Errorf("%s: level %d, want 0", name, level)
		}
	}
	// HINCRBY writes all the same, and what it wrote last is certain.
	k := lose(t, server, "hincrby:retry=blind", 2, &lossy{left: 1})
	r, err := k.handle(nil).Deduct(t.Context(), k.request(nil))
	if err != nil || r.Sold || r.Left == nil || *r.Left != -1 {
		t.Errorf("hincrby: %+v leaving %s, %v; want a refusal at -1", r, show(r.Left), err)
	}
	// With an id the operation is known: the second try hears of the first one's unit.
	k = lose(t, server, "lua:retry=blind,id=yes", 2, &lossy{left: 1})
	if r, err := k.handle(nil).Deduct(t.Context(), k.request(nil)); err != nil || !r.Sold || *r.Left != 0 {
		t.Errorf("lua with an id: %+v leaving %s, %v; want the sale of the last unit", r, show(r.Left), err)
	}
}

// refusal is a server's answer in place of doing anything.
type refusal struct{}

func (refusal) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (refusal) RedisError()   {}

// Writes are sent four times at most, and a later answer does not deny an earlier try.
func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	unsent := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, name := range []string{"hincrby:retry=blind", "lua:retry=blind", "watch:retry=blind", "lua:retry=blind,id=yes"} {
		for _, c := range []struct {
			what     string
			lost     int
			after    error
			sent     int
			definite bool
		}{
			{"no answer at all", 100, nil, 4, false},
			{"nobody there, ever", 0, unsent, 4, true},
			{"nobody there after a lost answer", 1, unsent, 4, false},
			{"refused after a lost answer", 1, refusal{}, 2, false},
		} {
			l := &lossy{left: c.lost, after: c.after}
			k := lose(t, server, name, 20, l)
			r, err := k.handle(nil).Deduct(t.Context(), k.request(nil))
			if err == nil || errors.Is(err, deduct.ErrNotDone) != c.definite || r.Sold || l.sent != c.sent {
				t.Errorf("%s, %s: %+v, %v after %d tries; want definite: %v after %d", name, c.what, r, err, l.sent, c.definite, c.sent)
			}
		}
	}
}

// What the business breaks off is not tried again.
func TestBrokenOffIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cause := errors.New("the customer went away")
	for _, name := range []string{"hincrby:retry=blind", "lua:retry=blind", "watch:retry=blind"} {
		k, thoughts := stock(t, server, name, 5), 0
		_, err := k.handle(nil).Deduct(t.Context(), k.request(func(context.Context) error { thoughts++; return cause }))
		if !errors.Is(err, deduct.ErrNotDone) || !errors.Is(err, cause) || thoughts != 1 {
			t.Errorf("%s: %v after %d thoughts, want ErrNotDone after one", name, err, thoughts)
		}
	}
	// Not even when a first try was done: watch thinks again, and that is unknown then.
	k, thoughts := lose(t, server, "watch:retry=blind", 5, &lossy{left: 1}), 0
	_, err := k.handle(nil).Deduct(t.Context(), k.request(func(context.Context) error {
		if thoughts++; thoughts == 2 {
			return cause
		}
		return nil
	}))
	if errors.Is(err, deduct.ErrNotDone) || !errors.Is(err, io.EOF) || thoughts != 2 {
		t.Errorf("broken off in the second try: %v after %d thoughts, want it unknown", err, thoughts)
	}
}

// The stock remembers operations of this run only.
func TestPrepareForgets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := stock(t, server, "lua:id=yes", 5)
	req := c.request(nil)
	for range 2 {
		if r, err := c.handle(nil).Deduct(t.Context(), req); err != nil || *r.Left != 4 {
			t.Errorf("the same operation: %+v, %v; want the same answer", r, err)
		}
	}
	f := stock(t, server, "fenced", 5)
	f.sell()
	for _, k := range []*counter{c, f} {
		if err := deduct.Keys("").Prepare(t.Context(), k.client, k.spec.Form, []string{k.sku}, 9); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := c.handle(nil).Deduct(t.Context(), req); err != nil || *r.Left != 8 {
		t.Errorf("an operation of the next run: %+v, %v; want a sale that leaves 8", r, err)
	}
	if r, err := f.handle(nil).Deduct(t.Context(), deduct.Request{ID: 2, Fence: 1}); err != nil || !r.Sold {
		t.Errorf("a token of the next run: %+v, %v; want a sale", r, err)
	}
}

func TestVariantsOfDeductions(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range deduct.All() {
		if (len(s.Options) == 0) != (s.With == nil) {
			t.Errorf("%s: options without a deduction that is made of them, or the other way round", s.Name)
		}
		for _, o := range s.Options {
			for _, value := range o.Values[1:] {
				name := s.Name + ":" + o.Name + "=" + value
				v, ok, err := deduct.Lookup(name)
				if err != nil || !ok || v.Name != name || o.Summary == "" || v.Form != s.Form || v.NeedsLock != s.NeedsLock {
					t.Errorf("%s: %+v, %v, %v", name, v, ok, err)
				}
				got = append(got, name)
			}
		}
	}
	want := []string{"watch:retry=blind", "lua:retry=blind", "lua:id=yes", "hincrby:retry=blind"}
	if !slices.Equal(got, want) {
		t.Errorf("variants %v, want %v", got, want)
	}
	for name, doubles := range map[string]bool{
		"watch": false, "watch:retry=blind": true, "hincrby": false, "hincrby:retry=blind": true,
		"lua": false, "lua:retry=blind": true, "lua:id=yes": false, "lua:retry=blind,id=yes": false,
	} {
		s, ok := deduct.Find(name)
		found := false
		for _, w := range s.Expect {
			found = found || (w.Fault == "drop-reply" && w.Property == "no-oversell" && w.May && w.Why != "")
		}
		if !ok || found != doubles {
			t.Errorf("%s is expected to take two units for one operation: %v, want %v", name, found, doubles)
		}
	}
}
