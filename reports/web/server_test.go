package web_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"picklock/harness/store"
	"picklock/models"
)

// TestSlow: who sends its request byte by byte is sent away, and who reads a large file
// slowly gets all of it, while others are answered.
func TestSlow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := put(t, root, made{lock: "uuid-lua", verdict: models.Valid})
	large := strings.Repeat("0123456789abcde\n", 1<<20) // 16 MiB, more than any buffer between
	write(t, d.Path(store.LogFile), large)
	s := started(t, root)
	dial := func(text string) net.Conn {
		c, err := net.DialTimeout("tcp", s.Listener.Addr().String(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		return c
	}
	began := time.Now()
	idle := dial("GET / HTTP/1.1\r\nHost: local")
	defer func() { _ = idle.Close() }()
	slow := dial("GET " + at("store", d, store.LogFile) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	defer func() { _ = slow.Close() }()
	time.Sleep(2 * time.Second) // it reads nothing
	want(t, s.Config.Handler, "/", "1 test")
	got, err := io.ReadAll(slow)
	if err != nil || !strings.HasSuffix(string(got), large) {
		t.Errorf("the file was not sent as a whole: %d bytes, %v", len(got), err)
	}
	_, _ = io.Copy(io.Discard, idle) // until it is sent away
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("half a request was waited for for %v", took)
	}
}

// TestMany: many at once, of whom some break off, while tests are stored and removed: each
// answer is whole, and nothing is a server's error.
func TestMany(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	many(t, root, 60)
	matrices(t, root, "nightly", 2)
	r := run(t, root, time.Second)
	s := started(t, root)
	d := put(t, root, made{lock: "uuid-lua", verdict: models.Violated, seed: 5000, after: time.Hour * 500})
	pages := []string{"/", "/?sort=-took&q=lock", "/matrices", "/trend/nightly", at("tests", d), at("tests", r.dir), at("tests", r.dir, "live.json"), at("store", d, store.ResultFile), "/?verdict=valid&page=1"}
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			x := put(t, root, made{lock: "gone", verdict: models.Valid, after: time.Duration(i) * time.Minute})
			r.sell(1, time.Second, time.Millisecond)
			if err := os.RemoveAll(string(x)); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	var asking sync.WaitGroup
	for i := range 16 {
		asking.Go(func() {
			for n := range 15 {
				page := pages[(i+n)%len(pages)]
				if n%5 == 4 { // breaks off
					c, err := net.Dial("tcp", s.Listener.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", page)
					_ = c.Close()
					continue
				}
				a, err := http.Get(s.URL + page)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(a.Body)
				_ = a.Body.Close()
				if err != nil || a.StatusCode != http.StatusOK || len(b) == 0 {
					t.Errorf("%s: %d, %d bytes, %v", page, a.StatusCode, len(b), err)
				}
			}
		})
	}
	asking.Wait()
	close(stop)
	all.Wait()
}

// TestBounded: more clients than are served at once wait until others are sent away.
func TestBounded(t *testing.T) {
	t.Parallel()
	s := started(t, t.TempDir())
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			_ = c.Close()
		}
	}()
	for range 300 {
		c, err := net.DialTimeout("tcp", s.Listener.Addr().String(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	began := time.Now()
	if got := raw(t, s.Listener.Addr().String(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); got != "HTTP/1.1 200 OK" {
		t.Fatalf("behind 300 who say nothing: %q after %v", got, time.Since(began))
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("more were served at once than are to be: answered after %v", took)
	}
}
