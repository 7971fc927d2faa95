// Package historytest makes histories of any length for tests and benchmarks: clients
// that sell stock under a lock in virtual time, as picklock run would record them.
//
// In go a few sizes and a seed, out come the events in the order of a history file. All
// of them are correct: no two holds overlap, no update is lost. The package is for tests
// only; nothing that judges or records depends on it.
package historytest

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"

	"picklock/harness/history"
)

// Config says what to generate. The zero value of a field takes its default.
type Config struct {
	Operations int     // invocations in all; a few more, so that every sale is whole. 0: 1,000
	Clients    int     // of one worker each; 0: 20
	SKUs       int     // each with its own lock; 0: 4
	Unknown    float64 // share of the operations that have no completion
	Seed       uint64
}

func (c Config) withDefaults() Config {
	if c.Operations == 0 {
		c.Operations = 1000
	}
	if c.Clients == 0 {
		c.Clients = 20
	}
	if c.SKUs == 0 {
		c.SKUs = 4
	}
	return c
}

const (
	us            = int64(1000) // ns
	ms            = 1000 * us
	validity      = 1000 * ms
	timeout       = 20 * ms // after which a client gives an operation up as unknown
	patience      = 5 * ms  // of an acquire that fails
	ledgerEvery   = 250 * ms
	opsPerProcess = 1_000_000
	epoch         = int64(1_280_000_000_000) // when the load begins
)

// Write writes a generated history as the file at path, which must not exist.
func Write(path string, c Config) error {
	w, err := history.Create(path)
	if err != nil {
		return err
	}
	n := 0
	Generate(c, func(e *history.Event) {
		w.Append(e)
		if n++; n%4096 == 0 && err == nil {
			err = w.Flush()
		}
	})
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}

// Events gives a generated history in memory.
func Events(c Config) []history.Event {
	var events []history.Event
	Generate(c, func(e *history.Event) { events = append(events, *e) })
	return events
}

// Generate gives each event of a history to emit, in the order of their times. emit must
// not keep the pointer.
func Generate(c Config, emit func(*history.Event)) {
	c = c.withDefaults()
	s := &sales{Config: c, emit: emit, rand: rand.New(rand.NewPCG(c.Seed, 1)), now: epoch, read: epoch}
	s.shops = make([]shop, c.SKUs)
	for i := range s.shops {
		name := "sku-" + strconv.Itoa(i)
		s.shops[i] = shop{sku: name, lock: "lock:" + name, level: int64(c.Operations)}
		s.stock(i, false)
	}
	s.put(history.Event{Type: history.Begin, Client: -1, Note: "picklock history 1, run generated"})
	s.clients = make([]client, c.Clients)
	s.next = int64(c.Clients)
	for i := range s.clients {
		s.clients[i] = client{n: i, process: int64(i), at: s.now + s.upTo(ms), do: s.acquire}
	}
	s.run()
	s.carry()
	for i := range s.shops {
		s.stock(i, true)
	}
	s.put(history.Event{Type: history.End, Client: -1})
}

// sales is the simulation.
type sales struct {
	Config
	emit    func(*history.Event)
	rand    *rand.Rand
	now     int64
	read    int64 // when the ledger was carried over last
	next    int64 // unused process
	invoked int
	shops   []shop
	clients []client
	ledger  []history.Event
	seq     int64
}

type shop struct {
	sku, lock string
	level     int64
	held      bool
	queue     []*client
}

// client is one worker: what it does next and when; at is history.Never while it waits
// for a lock or has gone home.
type client struct {
	n       int
	process int64
	count   int64
	at      int64
	do      func(*client)
	shop    *shop
	grant   int64
	op      history.Event // under way
}

func (s *sales) upTo(d int64) int64 { return 1 + s.rand.Int64N(d) }

func (s *sales) put(e history.Event) {
	e.Time = s.now
	s.emit(&e)
}

func (s *sales) stock(i int, final bool) {
	s.now += us
	s.put(history.Event{Type: history.StockLevel, Client: -1, Object: s.shops[i].sku, Stock: &history.Stock{Final: final, Level: s.shops[i].level}})
}

func (s *sales) run() {
	for {
		var first *client
		for i := range s.clients {
			if c := &s.clients[i]; c.at != history.Never && (first == nil || c.at < first.at) {
				first = c
			}
		}
		if first == nil {
			return
		}
		s.now = max(s.now+1, first.at)
		if s.now-s.read > ledgerEvery {
			s.carry()
		}
		first.at = history.Never
		first.do(first)
	}
}

// carry moves the new ledger entries over into the history.
func (s *sales) carry() {
	s.now += us
	for _, e := range s.ledger {
		s.put(e)
	}
	s.ledger, s.read = s.ledger[:0], s.now
}

func (s *sales) invoke(c *client, op history.Op, object string) {
	if c.count == opsPerProcess-1 {
		s.reborn(c)
	}
	c.count++
	s.invoked++
	c.op = history.Event{
		Type: history.Invoke, Op: op, ID: c.process*opsPerProcess + c.count, Process: c.process,
		Client: c.n, Object: object, Grant: c.grant,
	}
	s.put(c.op)
}

// reborn lets a client go on as a new process.
func (s *sales) reborn(c *client) {
	c.process, c.count = s.next, 0
	s.next++
}

func (s *sales) then(c *client, d int64, do func(*client)) { c.at, c.do = s.now+d, do }

// unknown draws whether the operation at hand stays without a completion.
func (s *sales) unknown() bool { return s.Unknown > 0 && s.rand.Float64() < s.Unknown }

func (s *sales) acquire(c *client) {
	if s.invoked >= s.Operations {
		return
	}
	c.shop, c.grant = &s.shops[s.rand.IntN(s.SKUs)], 0
	s.invoke(c, history.Acquire, c.shop.lock)
	switch {
	case s.unknown(): // it never reached the server
		s.reborn(c)
		s.then(c, timeout, s.acquire)
	case c.shop.held && s.rand.IntN(10) == 0:
		s.then(c, patience+s.upTo(ms), s.refused)
	case c.shop.held:
		c.shop.queue = append(c.shop.queue, c)
	default:
		c.shop.held = true
		s.then(c, 100*us+s.upTo(200*us), s.granted)
	}
}

func (s *sales) refused(c *client) {
	c.op.Type, c.op.Code, c.op.Attempts, c.op.From = history.Fail, history.CodeNotAcquired, 5, s.now-100*us
	s.put(c.op)
	s.then(c, ms, s.acquire)
}

func (s *sales) granted(c *client) {
	c.op.Type, c.op.Validity, c.op.From, c.op.Attempts = history.OK, validity, s.now-50*us, s.rand.Int64N(9)+1
	c.op.Token = s.token()
	c.grant = c.op.ID
	s.put(c.op)
	s.then(c, s.upTo(20*us), s.deduct)
}

func (s *sales) token() string {
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(s.rand.Uint32())
	}
	h := hex.EncodeToString(raw[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (s *sales) deduct(c *client) {
	s.invoke(c, history.Deduct, c.shop.sku)
	lost := s.unknown()
	if lost && s.rand.IntN(2) == 0 { // it never reached the server
		s.reborn(c)
		s.then(c, timeout, s.release)
		return
	}
	basis, left := c.shop.level, c.shop.level-1
	c.shop.level = left
	s.ledger = append(s.ledger, history.Event{Type: history.LedgerEntry, Client: -1, Object: c.shop.sku, Ledger: &history.Ledger{
		Seq: s.seq, Op: c.op.ID, Basis: &basis, Found: basis, Left: left,
	}})
	s.seq++
	if lost {
		s.reborn(c)
		s.then(c, timeout, s.release)
		return
	}
	c.op.Type, c.op.Attempts, c.op.Basis, c.op.Left, c.op.Sold = history.OK, 1, &basis, &left, true
	s.then(c, 200*us+s.upTo(200*us), func(c *client) {
		s.put(c.op)
		s.then(c, s.upTo(20*us), s.release)
	})
}

func (s *sales) release(c *client) {
	s.invoke(c, history.Release, c.shop.lock)
	s.then(c, 50*us+s.upTo(100*us), s.freed)
}

// freed: the release reaches the server, and the lock goes to the next in the queue.
func (s *sales) freed(c *client) {
	sh := c.shop
	if sh.held = len(sh.queue) > 0; sh.held {
		s.then(sh.queue[0], 100*us+s.upTo(200*us), s.granted)
		sh.queue = sh.queue[1:]
	}
	if s.unknown() {
		s.reborn(c)
		s.then(c, timeout, s.acquire)
		return
	}
	s.then(c, 10*us+s.upTo(30*us), func(c *client) {
		c.op.Type = history.OK
		s.put(c.op)
		s.then(c, s.upTo(ms), s.acquire)
	})
}
