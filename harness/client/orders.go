package client

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The orders of the harness, a line each. Those with a serial number are confirmed in the
// record (history.ClientTold) when they have been carried out.
//
//	go                             begin to work
//	stop                           finish the sale at hand and end
//	mark                           vouch for the journals: see history.Mark
//	addr NODE HOST:PORT            the node is reached there from now on
//	hang SERIAL WORKER             the worker stays in its section
//	unhang SERIAL WORKER           it goes on
//	clock SERIAL OFFSET_NS RATE    the clock that locks go by

// obey carries out the harness's orders until its pipe ends.
func (p *process) obey(lines *bufio.Scanner, begin chan<- struct{}, stop func()) error {
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		var err error
		switch {
		case len(f) == 1 && f[0] == "go":
			close(begin)
		case len(f) == 1 && f[0] == "stop":
			stop()
		case len(f) == 1 && f[0] == "mark":
			for _, r := range p.recs {
				r.mark()
			}
		case len(f) == 3 && f[0] == "addr":
			p.addrs.Store(f[1], f[2])
		case len(f) == 3 && (f[0] == "hang" || f[0] == "unhang"):
			err = p.hangOrder(f[0], f[1], f[2])
		case len(f) == 4 && f[0] == "clock":
			err = p.clockOrder(f[1], f[2], f[3])
		default:
			err = fmt.Errorf("there is no such order")
		}
		if err != nil {
			return fmt.Errorf("order %q of the harness: %w", lines.Text(), err)
		}
	}
	return ErrHarnessGone
}

func (p *process) hangOrder(verb, serial, worker string) error {
	i, err := strconv.Atoi(worker)
	if err != nil || i < 0 || i >= len(p.hangs) {
		return fmt.Errorf("no worker %q", worker)
	}
	rec := p.recs[i]
	if verb == "hang" {
		p.hangs[i].order(func(where string) { rec.told(serial, fmt.Sprintf("worker %d hangs in its section, %s", i, where)) })
		return nil
	}
	p.hangs[i].end()
	rec.told(serial, fmt.Sprintf("worker %d goes on", i))
	return nil
}

func (p *process) clockOrder(serial, offset, rate string) error {
	ns, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return err
	}
	r, err := strconv.ParseFloat(rate, 64)
	if err != nil {
		return err
	}
	p.clock.set(time.Duration(ns), r)
	p.recs[0].told(serial, fmt.Sprintf("the clock of the client's locks is %s from the true time and runs at rate %g",
		p.clock.ahead().Round(time.Millisecond), r))
	return nil
}

// hang is where one worker can be made to stay.
type hang struct {
	mu      sync.Mutex
	ordered func(where string) // to be called when it hangs; nil: no order
	over    chan struct{}
}

func (h *hang) order(confirm func(where string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ordered, h.over = confirm, make(chan struct{})
}

func (h *hang) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		close(h.over)
	}
	h.ordered, h.over = nil, nil
}

// stay is called by the worker in its section; it returns at once unless it shall hang. A
// hung worker hears nothing, not even that its lock is lost.
func (h *hang) stay(where string) {
	h.mu.Lock()
	confirm, over := h.ordered, h.over
	h.ordered = nil
	h.mu.Unlock()
	if confirm != nil {
		confirm(where)
		<-over
	}
}

// skewed is the client's own clock, which the nemesis can move: the true time plus an
// offset, running at a rate from when it was set. It is safe for concurrent use.
type skewed struct {
	mu     sync.Mutex
	since  time.Time
	offset time.Duration
	rate   float64
}

func newSkewed() *skewed { return &skewed{since: time.Now(), rate: 1} }

func (c *skewed) set(offset time.Duration, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since, c.offset, c.rate = time.Now(), offset, rate
}

// ahead is how far the clock is ahead of the true time now.
func (c *skewed) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset + time.Duration((c.rate-1)*float64(time.Since(c.since)))
}

// Now is the wall clock as the client sees it. It has no monotonic reading: differences of
// two of them show every step.
func (c *skewed) Now() time.Time { return time.Now().Round(0).Add(c.ahead()) }

// Sleep waits in true time: a step of the wall clock does not shorten a timer.
func (c *skewed) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
