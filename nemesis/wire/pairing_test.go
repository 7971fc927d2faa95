package wire_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"picklock/nemesis/wire"
)

// seen is a rule that notes what replies were called: "GET k", "MESSAGE c push".
type seen struct {
	mu  sync.Mutex
	all []string
}

func (s *seen) rule(side wire.Side) wire.Rule {
	return wire.Rule{Match: wire.Match{Side: side}, Do: func(_ context.Context, f wire.Frame) wire.Verdict {
		s.mu.Lock()
		defer s.mu.Unlock()
		word := strings.TrimSpace(f.Name + " " + f.Key)
		if f.Script != "" {
			word += " " + f.Script[:6]
		}
		if f.Push {
			word += " push"
		}
		s.all = append(s.all, word)
		return wire.Verdict{}
	}}
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.all, ", ")
}

// TestRepliesArePaired talks to a real server. After each line of requests so many frames
// come back; at the end the connection is checked by an ECHO.
func TestRepliesArePaired(t *testing.T) {
	redis := startRedis(t)
	other := client(t, redis)
	const script = "return 1"
	sum := sha1.Sum([]byte(script))
	sha := hex.EncodeToString(sum[:])
	for name, c := range map[string]struct {
		sent string // "; " separates requests
		want string
	}{
		"pipeline":        {"SET a 1; GET a; INCR a; GET nobody", "SET a, GET a, INCR a, GET nobody"},
		"quotes":          {`set "a b" "\x41\n"; get 'a b'`, "SET a b, GET a b"},
		"nothing":         {"; *0; *-1; PING", "PING"},
		"transaction":     {"MULTI; SET a 1; GET a; EXEC; GET b", "MULTI, SET a, GET a, EXEC, GET b"},
		"nested":          {"MULTI; MULTI; NONSENSE; EXEC; GET b", "MULTI, MULTI, NONSENSE, EXEC, GET b"},
		"scripts":         {"EVAL 'return 1' 1 k; EVALSHA " + strings.ToUpper(sha) + " 2 k l; EVAL 'return 1' 0", "EVAL k " + sha[:6] + ", EVALSHA k " + sha[:6] + ", EVAL " + sha[:6]},
		"keys":            {"XREAD COUNT 1 STREAMS x 0; BITOP AND a b c; LMPOP 2 l m LEFT; BZMPOP 0.001 1 z MIN; MGET a b", "XREAD x, BITOP a, LMPOP l, BZMPOP z, MGET a"},
		"reply off":       {"CLIENT REPLY OFF; GET a; CLIENT REPLY SKIP; CLIENT REPLY ON; GET b", "CLIENT, GET b"},
		"reply skip":      {"CLIENT REPLY SKIP; GET a; GET b; CLIENT REPLY SKIP; CLIENT REPLY SKIP; GET c; GET d", "GET b, GET d"},
		"reply wrong":     {"CLIENT REPLY WHAT; GET a", "CLIENT, GET a"},
		"skip then on":    {"CLIENT REPLY SKIP; CLIENT REPLY ON; GET a", "CLIENT, GET a"},
		"reset":           {"CLIENT REPLY OFF; RESET; GET a; CLIENT REPLY SKIP; RESET; GET b", "RESET, GET a, GET b"},
		"hello":           {"HELLO 3; GET nobody; HELLO 2; GET nobody; HELLO 9; GET a", "HELLO, GET nobody, HELLO, GET nobody, HELLO, GET a"},
		"subscribe 2":     {"SUBSCRIBE c d; PSUBSCRIBE e*; PING; UNSUBSCRIBE; UNSUBSCRIBE; PUNSUBSCRIBE; PING", "SUBSCRIBE c, SUBSCRIBE c, PSUBSCRIBE e*, PING, UNSUBSCRIBE, UNSUBSCRIBE, UNSUBSCRIBE, PUNSUBSCRIBE, PING"},
		"subscribe 3":     {"HELLO 3; SUBSCRIBE c d; GET a; SSUBSCRIBE s; UNSUBSCRIBE; SUNSUBSCRIBE s; GET b", "HELLO, SUBSCRIBE c, SUBSCRIBE c, GET a, SSUBSCRIBE s, UNSUBSCRIBE, UNSUBSCRIBE, SUNSUBSCRIBE s, GET b"},
		"refused":         {"SUBSCRIBE; SUBSCRIBE c; GET a; RESET; GET a", "SUBSCRIBE, SUBSCRIBE c, GET a, RESET, GET a"},
		"messages 3":      {"HELLO 3; SUBSCRIBE c; PUBLISH c hi; LPUSH l message; LRANGE l 0 -1; DEL l", "HELLO, SUBSCRIBE c, MESSAGE c push, PUBLISH c, LPUSH l, LRANGE l, DEL l"},
		"messages 3 to 2": {"HELLO 3; SUBSCRIBE c; HELLO 2; PING", "HELLO, SUBSCRIBE c, HELLO, PING"},
		"off, subscribe":  {"CLIENT REPLY OFF; HELLO 3; SUBSCRIBE c d; GET a; CLIENT REPLY ON; GET b", "SUBSCRIBE c, SUBSCRIBE c, CLIENT, GET b"},
		"off, refused":    {"CLIENT REPLY OFF; SUBSCRIBE; GET a; CLIENT REPLY ON; GET b", "CLIENT, GET b"},
		"tracking":        {"HELLO 3; CLIENT TRACKING ON; GET a; SET a 1; PING", "HELLO, CLIENT, GET a, SET a, INVALIDATE push, PING"},
		"monitor":         {"MONITOR; PING; RESET; PING", "MONITOR, PING, MONITOR push, RESET, PING"},
		"blocking":        {"BLPOP nobody 0.01; LPUSH q 1; BLPOP q 1; GET a", "BLPOP nobody, LPUSH q, BLPOP q, GET a"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t)
			replies := new(seen)
			p.Add(replies.rule(wire.Reply))
			nc := dial(t, listen(t, p, 0, "lock", redis))
			frames := strings.Count(c.want, ",") + 1
			for request := range strings.SplitSeq(c.sent, "; ") {
				write(t, nc, request+"\r\n")
			}
			eventually(t, fmt.Sprintf("%d replies", frames), func() bool {
				replies.mu.Lock()
				defer replies.mu.Unlock()
				return len(replies.all) >= frames
			})
			if got := replies.String(); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.sent, got, c.want)
			}
			if n := p.NotUnderstood(); n != 0 {
				t.Errorf("%d connections were not understood", n)
			}
		})
	}
	if err := other.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("the server afterwards: %v", err)
	}
}

func TestMessagesReachSubscribers(t *testing.T) {
	redis := startRedis(t)
	publisher := client(t, redis)
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			p := newProxy(t)
			replies := new(seen)
			p.Add(replies.rule(wire.Reply))
			nc := dial(t, listen(t, p, 0, "lock", redis))
			write(t, nc, "HELLO "+protocol+"\r\nSUBSCRIBE c\r\nPSUBSCRIBE d*\r\nSSUBSCRIBE s\r\n")
			want := "HELLO, SUBSCRIBE c, PSUBSCRIBE d*, SSUBSCRIBE s"
			eventually(t, "subscribed", func() bool { return replies.String() == want })
			for _, err := range []error{
				publisher.Publish(t.Context(), "c", "message").Err(), publisher.Publish(t.Context(), "dd", "x").Err(),
				publisher.SPublish(t.Context(), "s", "x").Err(),
			} {
				if err != nil {
					t.Fatalf("publish: %v", err)
				}
			}
			write(t, nc, "PING\r\n")
			want += ", MESSAGE c push, PMESSAGE dd push, SMESSAGE s push, PING"
			eventually(t, "all messages, then the reply; got "+replies.String(), func() bool { return replies.String() == want })
		})
	}
}

// What the pairing gives up, rather than calling replies by wrong names.
func TestPairingGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		requests, replies []string
		want              error
	}{
		"subscription in a transaction": {[]string{"MULTI", "SUBSCRIBE a", "EXEC"}, []string{"+OK\r\n", "+QUEUED\r\n", "*1\r\n*1\r\n"}, wire.ErrUpset},
		"replies off in a transaction":  {[]string{"MULTI", "CLIENT REPLY OFF", "EXEC"}, []string{"+OK\r\n", "+QUEUED\r\n", "*0\r\n"}, wire.ErrUpset},
		"a reply to nothing":            {nil, []string{"+OK\r\n"}, wire.ErrUnasked},
	} {
		t.Run(name, func(t *testing.T) {
			var p wire.Pairing
			for _, r := range c.requests {
				p.Request([]byte(r + "\r\n"))
			}
			var err error
			for _, r := range c.replies {
				_, err = p.Reply([]byte(r))
			}
			if !errors.Is(err, c.want) {
				t.Errorf("the last reply: %v, want %v", err, c.want)
			}
		})
	}
}

func TestAttributesBelongToTheReplyBehindThem(t *testing.T) {
	var p wire.Pairing
	p.Request([]byte("GET k\r\n"))
	l, err := p.Reply([]byte("|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n"))
	if err != nil || l.Name != "GET" || l.Key != "k" || l.Push {
		t.Errorf("got %+v, %v; want the reply to GET k", l, err)
	}
	l, err = p.Reply([]byte("|1\r\n+a\r\n*1\r\n:1\r\n>2\r\n$10\r\ninvalidate\r\n*0\r\n"))
	if err != nil || l.Name != "INVALIDATE" || !l.Push {
		t.Errorf("got %+v, %v; want a push", l, err)
	}
}
