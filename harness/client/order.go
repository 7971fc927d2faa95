package client

import (
	"context"
	"fmt"
	"time"
)

// Hang makes a worker stay in its section, or in the next one that it enters, while the
// rest of its process goes on. It returns what the client said when the worker hung.
func (p *Pool) Hang(ctx context.Context, client, worker int) (proof string, err error) {
	return p.order(ctx, client, "hang", fmt.Sprint(worker))
}

// Unhang lets the worker go on.
func (p *Pool) Unhang(ctx context.Context, client, worker int) (proof string, err error) {
	return p.order(ctx, client, "unhang", fmt.Sprint(worker))
}

// SetClock moves the clock that the client's locks go by.
func (p *Pool) SetClock(ctx context.Context, client int, offset time.Duration, rate float64) (proof string, err error) {
	return p.order(ctx, client, "clock", fmt.Sprintf("%d %g", offset.Nanoseconds(), rate))
}

// Mark makes all clients vouch for their journals (history.Mark), and does not wait: one
// that is stopped answers once it goes on.
func (p *Pool) Mark() {
	for i := range p.procs {
		if p.alive(i) {
			_ = p.tell(i, "mark\n") // one that just ended needs no telling
		}
	}
}

// order gives a client an order and waits until it has confirmed it in the record.
func (p *Pool) order(ctx context.Context, client int, verb, args string) (string, error) {
	p.mu.Lock()
	p.orders++
	serial := p.orders
	p.mu.Unlock()
	c := p.at(client)
	if err := p.tell(client, fmt.Sprintf("%s %d %s\n", verb, serial, args)); err != nil && !p.toldToStop(c) {
		return "", err
	}
	for {
		if err := p.collector.Poll(); err != nil {
			return "", err
		}
		if words, ok := p.holders.confirmed(fmt.Sprintf("order %d", serial)); ok {
			return fmt.Sprintf("client %d confirms: %s", client, words), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("client %d has not carried out %q: %w", client, verb, ctx.Err())
		case <-c.exited:
			if p.toldToStop(c) {
				return fmt.Sprintf("client %d has ended, as it was told to", client), nil
			}
			return "", fmt.Errorf("client %d ended before it carried out %q", client, verb)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// toldToStop: the process was told to end, so that its end is no answer missed.
func (p *Pool) toldToStop(c *proc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping || c.killed
}

// Reconfigure lets client i finish what it is doing, and starts it again with another
// lock; empty: the test's own.
func (p *Pool) Reconfigure(ctx context.Context, i int, lock string) (proof string, err error) {
	if p.alive(i) {
		if err := p.tell(i, "stop\n"); err != nil {
			return "", err
		}
	}
	select {
	case <-p.at(i).exited:
	case <-ctx.Done():
		return "", fmt.Errorf("client %d did not stop: %w", i, ctx.Err())
	}
	p.mu.Lock()
	p.locks[i] = lock
	p.mu.Unlock()
	proof, err = p.Restart(ctx, i)
	if lock == "" {
		lock = p.cfg.Lock
	}
	return proof + ", with lock " + lock, err
}
