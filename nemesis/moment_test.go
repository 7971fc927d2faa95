package nemesis_test

import (
	"strings"
	"testing"

	"picklock/nemesis"
)

func TestRepliesThatGrant(t *testing.T) {
	for reply, want := range map[string]bool{
		"+OK\r\n": true, ":1\r\n": true, ":17\r\n": true, "*2\r\n:1\r\n:0\r\n": true, "#t\r\n": true, "$2\r\nOK\r\n": true,
		"$-1\r\n": false, ":0\r\n": false, ":-1\r\n": false, "_\r\n": false, "*-1\r\n": false, "*0\r\n": false, "#f\r\n": false,
		"*2\r\n:0\r\n:250\r\n": false, "-NOSCRIPT No matching script\r\n": false, "!5\r\nERR x\r\n": false, "": false,
	} {
		if got := nemesis.Grants([]byte(reply)); got != want {
			t.Errorf("%q grants: %t, want %t", reply, got, want)
		}
	}
}

// TestRepliesAfterAStep: an EXEC that was aborted, or a decrement that found too little,
// wrote nothing: a trigger "after stock-write" waits for one that did.
func TestRepliesAfterAStep(t *testing.T) {
	for _, c := range []struct {
		step, reply string
		done        bool
	}{
		{"stock-write", "*1\r\n:7\r\n", true}, {"stock-write", ":0\r\n", true},
		{"stock-write", "*-1\r\n", false}, {"stock-write", "$-1\r\n", false}, {"stock-write", "_\r\n", false},
		{"stock-write", "-ERR no\r\n", false},
		{"compare", "$-1\r\n", true}, {"release", ":0\r\n", true}, {"release", "-NOSCRIPT\r\n", false},
		{"acquire", "$-1\r\n", false}, {"acquire", "+OK\r\n", true},
	} {
		if got := nemesis.Done(c.step, c.reply); got != c.done {
			t.Errorf("after %s, %q: counts %t, want %t", c.step, c.reply, got, c.done)
		}
	}
}

func FuzzReplyThatGrants(f *testing.F) {
	for _, s := range []string{"+OK\r\n", ":0\r\n", "*1\r\n*1\r\n:1\r\n", "*", "$\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		if nemesis.Grants(reply) && (reply[0] == '-' || reply[0] == '_' || reply[0] == '!') {
			t.Errorf("%q is an error or nothing, and grants no lock", reply)
		}
	})
}

func FuzzTrigger(f *testing.F) {
	for _, s := range []string{"before acquire", "after stock-write", "granted", "", " before  x ", "during x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, on string) {
		once, err := nemesis.ReadMoment(on)
		if err != nil {
			return
		}
		if want := strings.Join(strings.Fields(on), " "); once != want {
			t.Errorf("%q was read as %q", on, once)
		}
		if again, err := nemesis.ReadMoment(once); err != nil || again != once {
			t.Errorf("%q was read as %q, and that as %q (%v)", on, once, again, err)
		}
	})
}
