package web_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"picklock/harness/store"
)

// mix is what is asked for, one after the other: mostly lists, as people look for something,
// and the pages that they find.
func mix(t testing.TB, root string) []string {
	t.Helper()
	all, err := store.List(root, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var pages []string
	for range 40 {
		one := func() *store.Entry { return &all[r.IntN(len(all))] }
		a, b := one(), one()
		pages = append(pages, "/", fmt.Sprintf("/?page=%d", 1+r.IntN(len(all)/50)), "/?sort=verdict", "/?sort=-lock&page=2", "/?q=redlock+kill-node", "/?lock=re*&verdict=violated&unmet=1",
			"/?q="+url.QueryEscape(a.Path), "/?since=2026-02-01&until=2026-02-03&sort=took", "/?fault=pause-client&per=100", "/matrices", "/assets/page.css",
			at("tests", a.Dir), at("tests", b.Dir), at("store", a.Dir, store.ResultFile), at("store", a.Dir, store.LogFile),
			"/compare?"+url.Values{"t": {a.Path, b.Path}}.Encode())
	}
	return pages
}

// spent is the processor time that this process has used.
func spent(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// each gives the processor time of each page, asked for one after the other on one thread,
// smallest first. It does not depend on what else the machine does.
func each(t testing.TB, h http.Handler, pages []string) []time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	all := make([]time.Duration, len(pages))
	for i, p := range pages {
		before := used()
		if w := get(t, h, p); w.Code != http.StatusOK {
			t.Fatalf("%s: %d", p, w.Code)
		}
		all[i] = used() - before
	}
	slices.Sort(all)
	return all
}

// TestCost: a page costs little processor time, and not ten times as much for ten times as many
// tests. Time on the clock says nothing on a machine that others use; make bench-serve tells it.
func TestCost(t *testing.T) {
	cost := func(n int) time.Duration {
		root := t.TempDir()
		many(t, root, n)
		matrices(t, root, "nightly", 3)
		h := serve(t, root)
		pages := mix(t, root)
		for _, p := range pages {
			want(t, h, p)
		}
		all := each(t, h, pages)
		t.Logf("processor time of a page of %d tests: median %v, p99 %v, at most %v", n, all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
		return all[len(all)/2]
	}
	few, lots := cost(100), cost(1000)
	if lots > 10*few+20*time.Millisecond {
		t.Errorf("a page of 1,000 tests costs %v of processor time, one of 100 %v", lots, few)
	}
}

// BenchmarkServe asks a server of 10,000 tests for 200 pages a second, at moments that do not
// wait for earlier answers, for ten seconds, and tells how long the answers took, counted
// from when they were due.
func BenchmarkServe(b *testing.B) {
	const perSecond, length = 200, 10 * time.Second
	root := b.TempDir()
	many(b, root, 10_000)
	matrices(b, root, "nightly", 30)
	r := run(b, root, 5*time.Second)
	r.sell(1000, 0, 5*time.Millisecond)
	h := serve(b, root)
	s := listening(b, h).URL
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: 20 * time.Second}
	pages := append(mix(b, root), at("tests", r.dir, "live.json"), "/trend/nightly")
	ask := func(page string) (int, error) {
		a, err := client.Get(s + page)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
		return a.StatusCode, err
	}
	if code, err := ask("/"); err != nil || code != http.StatusOK { // the first reads the store
		b.Fatal(code, err)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	alone := each(b, h, pages)
	for b.Loop() {
		total := int(perSecond * length / time.Second)
		took := make([]time.Duration, total)
		var all sync.WaitGroup
		before, begin := spent(b), time.Now()
		for i := range total {
			due := begin.Add(time.Duration(i) * time.Second / perSecond)
			time.Sleep(time.Until(due))
			all.Go(func() {
				page := pages[i%len(pages)]
				if code, err := ask(page); err != nil || code != http.StatusOK {
					b.Errorf("%s: %d %v", page, code, err)
				}
				took[i] = time.Since(due)
			})
		}
		all.Wait()
		cpu := spent(b) - before
		wall := time.Since(begin)
		slices.Sort(took)
		b.ReportMetric(ms(alone[len(alone)*99/100]), "cpu-p99-ms")
		b.ReportMetric(ms(took[total/2]), "p50-ms")
		b.ReportMetric(ms(took[total*99/100]), "p99-ms")
		b.ReportMetric(ms(took[total-1]), "max-ms")
		b.ReportMetric(ms(cpu)/float64(total), "cpu-ms/page")
		b.ReportMetric(float64(total)/wall.Seconds(), "pages/s")
	}
}
