package deduct_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks/deduct"
	"picklock/locks/internal/redistest"
)

// What ends before the write leaves the stock untouched for certain.
func TestBrokenOffBeforeTheWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cause := errors.New("the customer went away")
	for _, s := range deduct.All() {
		c := stock(t, server, s.Name, 5)
		ctx, cancel := context.WithCancel(t.Context())
		for name, think := range map[string]func(context.Context) error{
			"think fails":        func(context.Context) error { return cause },
			"ctx ends in think":  func(context.Context) error { cancel(); return ctx.Err() },
			"ctx ends unnoticed": func(context.Context) error { cancel(); return nil },
		} {
			r, err := c.handle(nil).Deduct(ctx, c.request(think))
			if s.Name == "local-var" && name == "ctx ends unnoticed" {
				continue // nothing asks the context: the write is in memory
			}
			if !errors.Is(err, deduct.ErrNotDone) || r.Sold || r.Left != nil {
				t.Errorf("%s, %s: %+v, %v; want ErrNotDone and no sale", s.Name, name, r, err)
			}
		}
		if s.Form == deduct.Memory {
			continue
		}
		if level, _ := c.level(); level != 5 || len(c.ledger()) != 0 {
			t.Errorf("%s: level %d with %d ledger entries, want 5 and none", s.Name, level, len(c.ledger()))
		}
	}
}

// A write that gets no answer is unknown, one that the server refused is not.
func TestWriteWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const shaMissing = "-NOSCRIPT No matching script. Please use EVAL."
	for _, s := range deduct.All() {
		if s.Form == deduct.Memory {
			continue
		}
		for _, c := range []struct {
			name     string
			eval     string // the answer to the write
			definite bool
		}{
			{"no answer", redistest.Hold, false},
			{"the server hangs up", redistest.HangUp, false},
			{"loading", "-LOADING Redis is loading the dataset in memory", true},
			{"a failure within the script", "-ERR wrong kind of value script: 0123, on @user_script:12.", false},
		} {
			watches := strings.HasPrefix(s.Name, "watch")
			addr := redistest.Fake(t, func(args []string) string {
				switch strings.ToLower(args[0]) {
				case "hello", "client":
					return ""
				case "get", "hget":
					return "$1\r\n5"
				case "evalsha":
					return shaMissing
				case "eval":
					if !strings.Contains(args[1], "rpush") { // fenced's read
						return "$1\r\n5"
					}
					if watches && c.definite {
						return c.eval // refused when it was to be queued
					}
					if watches {
						return "+QUEUED"
					}
					return c.eval
				case "exec":
					switch {
					case c.definite:
						return "-EXECABORT Transaction discarded because of previous errors."
					case strings.HasPrefix(c.eval, "-"):
						return "*1\r\n" + c.eval
					}
					return c.eval
				}
				return "+OK" // watch, unwatch, multi
			})
			client := redistest.Client(t, addr, func(o *redis.Options) { o.ReadTimeout = 50 * time.Millisecond })
			d := s.Open()(deduct.Config{Stock: client, SKU: "a", Initial: 5})
			r, err := d.Deduct(t.Context(), deduct.Request{ID: 1, Fence: 7})
			if err == nil || errors.Is(err, deduct.ErrNotDone) != c.definite || r.Sold {
				t.Errorf("%s, %s: %+v, %v; want an error that is definite: %v", s.Name, c.name, r, err, c.definite)
			}
		}
	}
}

// A read that fails is no write, whatever became of it; nor is a write that cannot be sent.
func TestStockOutOfReach(t *testing.T) {
	t.Parallel()
	silent := redistest.Fake(t, func(args []string) string {
		if args[0] == "get" || args[0] == "hget" || args[0] == "watch" {
			return redistest.Hold
		}
		return ""
	})
	dead := redistest.DeadAddr(t)
	for _, s := range deduct.All() {
		for _, addr := range []string{silent, dead} {
			client := redistest.Client(t, addr, func(o *redis.Options) { o.ReadTimeout = 50 * time.Millisecond })
			r, err := s.Open()(deduct.Config{Stock: client, SKU: "a", Initial: 5}).Deduct(t.Context(), deduct.Request{ID: 1, Fence: 7})
			switch {
			case s.Form == deduct.Memory:
				// What the memory did is certain, even when the ledger cannot be told.
				if err != nil || !r.Sold || *r.Left != 4 {
					t.Errorf("%s: %+v, %v; want the sale that memory made", s.Name, r, err)
				}
			case !errors.Is(err, deduct.ErrNotDone) || r.Sold:
				// Against the silent server hincrby and lua get "unknown command", a refusal.
				if addr == silent && (s.Name == "hincrby" || s.Name == "lua") && errors.Is(err, deduct.ErrNotDone) {
					continue
				}
				t.Errorf("%s at %s: %+v, %v; want ErrNotDone", s.Name, addr, r, err)
			}
		}
	}
}

// Scripts survive SCRIPT FLUSH, also within MULTI, where there is no falling back.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, s := range deduct.All() {
		c := stock(t, server, s.Name, 5)
		for range 2 {
			if err := c.client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if r := c.sell(); !r.Sold {
				t.Errorf("%s: no sale after SCRIPT FLUSH", s.Name)
			}
		}
		if n := len(c.ledger()); n != 2 {
			t.Errorf("%s: %d ledger entries, want 2", s.Name, n)
		}
	}
}

// A stock that is gone (its server lost its memory) is not sold from, except by hincrby,
// whose source does not look.
func TestMissingStock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, s := range deduct.All() {
		c := stock(t, server, s.Name, 5)
		if err := c.client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		r, err := c.handle(nil).Deduct(t.Context(), c.request(nil))
		if s.Form == deduct.Memory {
			if err != nil || !r.Sold {
				t.Errorf("%s: %+v, %v; its stock is in memory", s.Name, r, err)
			}
			continue
		}
		if thrown := s.Name == "hash-check-decr"; r.Sold || errors.Is(err, deduct.ErrNotDone) != thrown || (err != nil) != thrown {
			t.Errorf("%s: %+v, %v; want no sale, and an error only from hash-check-decr (a null pointer in S2)", s.Name, r, err)
		}
		if wrote := s.Name == "hincrby"; (len(c.ledger()) == 1) != wrote {
			t.Errorf("%s: ledger %+v; wrote: %v", s.Name, c.ledger(), wrote)
		}
	}
}

// read-write is a blind SET: the ledger tells what it overwrote, and does not keep it.
func TestBlindSetOverAMissingStock(t *testing.T) {
	t.Parallel()
	c := stock(t, redistest.Start(t), "read-write", 5)
	_, err := c.handle(nil).Deduct(t.Context(), c.request(func(ctx context.Context) error {
		return c.client.Del(ctx, "stock:"+c.sku).Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := c.ledger()
	if len(got) != 1 || *got[0].Basis != 5 || got[0].Found != 0 || got[0].Left != 4 {
		t.Errorf("ledger %+v, want one entry: from 5, found 0, left 4", got)
	}
	if level, known := c.level(); level != 4 || !known {
		t.Errorf("level %d, want 4: nothing stops a blind SET", level)
	}
}

// Each think comes once per try, after the check where there is one.
func TestThinkComesBetweenCheckAndWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, s := range deduct.All() {
		c := stock(t, server, s.Name, 0)
		thoughts := 0
		if _, err := c.handle(nil).Deduct(t.Context(), c.request(func(context.Context) error { thoughts++; return nil })); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		want := 0 // the check found nothing, so the business never began
		if slices.Contains([]string{"lua", "hincrby"}, s.Name) {
			want = 1
		}
		if thoughts != want {
			t.Errorf("%s: thought %d times over an empty stock, want %d", s.Name, thoughts, want)
		}
	}
}
