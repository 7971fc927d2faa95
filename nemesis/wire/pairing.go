package wire

import (
	"bytes"
	"errors"
	"strings"
	"sync"
)

// label is what a frame is called.
type label struct {
	Command
	key  string
	push bool
}

// pending is a request that the node owes replies for.
type pending struct {
	label
	role  role
	owed  int   // of (un)subscriptions: confirmations to come; 0: one for each channel that there is
	maybe bool  // it was sent with replies switched off, and may be answered all the same
	lost  error // from here on replies cannot be told apart
}

var (
	// errReplica: the connection is that of a replica, which speaks RESP no more.
	errReplica = errors.New("a replica's connection")
	errUpset   = errors.New("a transaction with replies that are not RESP")
	errUnasked = errors.New("a reply without a request")
)

// pairing finds out, for one connection, which request each reply answers. The lane of
// requests writes it, the lane of replies reads it.
//
// What the server does was observed (7.0): confirmations of subscriptions come even with
// replies switched off, before those of later requests; within a transaction they upset
// the frames of RESP itself; requests without arguments are not answered.
type pairing struct {
	requests struct { // only of the lane of requests
		multi bool // within a transaction
		upset bool // its replies will not be RESP
		off   bool // CLIENT REPLY OFF
		skip  bool // the next request is not answered
	}

	mu    sync.Mutex
	queue []pending // from first on
	first int
	done  bool // nobody takes out any more

	replies struct { // only of the lane of replies
		resp3    bool
		monitor  bool
		channels map[string]map[string]bool // by the command that subscribed to them
	}
}

// request notes a request that goes to the node.
func (p *pairing) request(r *request) {
	if r.Name == "" {
		return // no arguments, no reply
	}
	s := &p.requests
	next := pending{label: label{Command: r.Command, key: r.key}, role: r.role}
	muted := s.off || s.skip
	s.skip = false
	switch r.role {
	case multi:
		s.multi = true
	case exec:
		if s.upset && r.Name == "EXEC" {
			next.lost = errUpset
		}
		s.multi, s.upset = false, false
	case reset:
		muted = muted && !s.off
		s.multi, s.upset, s.off = false, false, false
	case subscribe, unsubscribe:
		s.upset = s.upset || s.multi
		next.owed = r.n - 1
		next.maybe = muted
		muted = false
	case clientReply:
		muted = p.clientReply(r, muted)
	case replicate:
		next.lost = errReplica
		muted = false
	}
	if !muted {
		p.push(next)
	}
}

// clientReply notes a CLIENT request, and says whether it is answered.
func (p *pairing) clientReply(r *request, muted bool) bool {
	if len(r.args) != 3 || !bytes.EqualFold(r.args[1], []byte("REPLY")) {
		return muted
	}
	s := &p.requests
	mode := strings.ToUpper(string(r.args[2]))
	switch {
	case s.multi:
		s.upset = s.upset || mode == "OFF" || mode == "SKIP"
		return muted
	case mode == "ON":
		s.off = false
		return false
	case mode == "OFF":
		s.off = true
		return true
	case mode == "SKIP":
		s.skip = !s.off
		return true
	}
	return muted
}

// lose notes that the requests from here on are not understood.
func (p *pairing) lose(why error) { p.push(pending{lost: why}) }

// stop says that replies are not paired any more.
func (p *pairing) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.queue, p.first = true, nil, 0
}

func (p *pairing) push(next pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	if len(p.queue) == cap(p.queue) && p.first > len(p.queue)/2 { // rather than grow
		n := copy(p.queue, p.queue[p.first:])
		clear(p.queue[n:])
		p.queue, p.first = p.queue[:n], 0
	}
	p.queue = append(p.queue, next)
}

// head gives the request that is to be answered next.
func (p *pairing) head() (pending, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == len(p.queue) {
		return pending{}, false
	}
	return p.queue[p.first], true
}

// settle takes away one of the replies that the head is owed.
func (p *pairing) settle(owed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == len(p.queue) {
		return // stopped
	}
	if owed > 1 {
		p.queue[p.first].owed = owed - 1
		return
	}
	p.queue[p.first] = pending{}
	if p.first++; p.first == len(p.queue) {
		p.queue, p.first = p.queue[:0], 0
	}
}

// reply labels a frame from the node by its first bytes. An error says why it and what
// follows cannot be paired.
func (p *pairing) reply(raw []byte) (label, error) {
	s := &p.replies
	value := skipAttributes(raw)
	if len(value) == 0 {
		return label{}, errProtocol
	}
	if s.monitor && isMonitorLine(value) {
		return label{Command: Command{Name: "MONITOR"}, push: true}, nil
	}
	head, waiting := p.head()
	for waiting && head.maybe && !confirms(value, head.Name) {
		if value[0] == '>' || isMessage(value) { // it may come before the confirmation
			break
		}
		p.settle(1)
		head, waiting = p.head()
	}
	switch {
	case waiting && head.lost != nil:
		return label{}, head.lost
	case waiting && (head.role == subscribe || head.role == unsubscribe) && confirms(value, head.Name):
		p.confirmed(head, value)
		return head.label, nil
	case value[0] == '>', value[0] == '*' && !s.resp3 && p.subscribed() && isMessage(value):
		return pushed(value), nil
	case !waiting && value[0] == '-': // the server refuses the connection, or ends it
		return label{push: true}, nil
	case !waiting:
		return label{}, errUnasked
	}
	p.answered(head, value)
	return head.label, nil
}

// answered takes the reply to the head, and what it changes on the connection.
func (p *pairing) answered(head pending, value []byte) {
	p.settle(1)
	s := &p.replies
	switch {
	case value[0] == '-':
	case head.role == hello:
		s.resp3 = value[0] == '%' || s.resp3 && value[0] != '*'
	case head.role == monitor:
		s.monitor = true
	case head.role == reset:
		s.resp3, s.monitor, s.channels = false, false, nil
	}
}

// confirmed takes a confirmation that the head waits for.
func (p *pairing) confirmed(head pending, value []byte) {
	s := &p.replies
	by := strings.Replace(head.Name, "UNSUB", "SUB", 1)
	owed := head.owed
	if owed == 0 {
		owed = max(1, len(s.channels[by]))
	}
	channel := string(elements(value)[1])
	if head.role == unsubscribe {
		delete(s.channels[by], channel)
	} else {
		if s.channels == nil {
			s.channels = make(map[string]map[string]bool)
		}
		if s.channels[by] == nil {
			s.channels[by] = make(map[string]bool)
		}
		s.channels[by][channel] = true
	}
	p.settle(owed)
}

// subscribed: messages may come.
func (p *pairing) subscribed() bool {
	for _, channels := range p.replies.channels {
		if len(channels) > 0 {
			return true
		}
	}
	return false
}
