package foreign_test

import (
	"fmt"
	"strings"
	"testing"

	"picklock/harness/foreign"
	"picklock/models/spec"
)

// edn writes a history in few words, an event each: "0i:acquire" is process 0 invoking, o
// ok, f fail, n info; behind the next colon stands the value, with _ for a space, and
// behind a ! the error.
func ednOf(text string) string {
	var b strings.Builder
	types := map[byte]string{'i': "invoke", 'o': "ok", 'f': "fail", 'n': "info"}
	for _, word := range strings.Fields(text) {
		head, err, failed := strings.Cut(word, "!")
		part := strings.SplitN(head, ":", 3)
		n := len(part[0]) - 1
		fmt.Fprintf(&b, "{:process %s, :type :%s, :f :%s", part[0][:n], types[part[0][n]], part[1])
		if len(part) == 3 {
			fmt.Fprintf(&b, ", :value %s", strings.ReplaceAll(part[2], "_", " "))
		}
		if failed {
			fmt.Fprintf(&b, ", :error %s", strings.ReplaceAll(err, "_", " "))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func showLocks(locks []foreign.LockOps) string {
	var b strings.Builder
	for _, l := range locks {
		fmt.Fprintf(&b, "[%s]", l.Key)
		for _, o := range l.Ops {
			end := fmt.Sprint(o.End())
			if o.End() == spec.Never {
				end = "*"
			}
			fmt.Fprintf(&b, " %d %s %d-%s", o.Owner, o.Step, o.Call, end)
			if o.Fence != 0 {
				fmt.Fprintf(&b, " fence %d", o.Fence)
			}
			b.WriteString(";")
		}
		if len(l.Unowned) > 0 {
			fmt.Fprintf(&b, " unowned %v", l.Unowned)
		}
	}
	return b.String()
}

func TestLocks(t *testing.T) {
	for name, c := range map[string]struct{ model, text, want string }{
		"ok, fail, info": {foreign.OwnerMutex, "0i:acquire 1i:lock 0o:acquire 1f:lock 2i:acquire 2n:acquire 0i:release 0o:release 3i:release 3n:release 4i:release 4f:release!:timeout 5i:acquire",
			"[nil] 1 acquires 0-2; 2 may acquire 4-*; 1 releases 6-7; 3 may release 8-*; 4 may acquire 12-*;"},
		"not held, where the error says so": {foreign.OwnerMutex, "0i:release 0f:release!:not-held 1i:release 1f:release![:not-lock-owner_3] 2i:release 2f:release!\"not-owner\" 3i:release 3f:release!{:type_:not-permit-owner} 4i:release 4f:release",
			"[nil] 1 does not hold 0-1; 2 does not hold 2-3; 3 does not hold 4-5; 4 does not hold 6-7;"},
		"a mutex without owners has nobody to not hold": {foreign.Mutex, "0i:release 0f:release!:not-held", "[nil]"},
		"the fence as a number":                         {foreign.FencedMutex, "0i:acquire 0o:acquire:7 0i:release 0o:release:7", "[nil] 1 acquires 0-1 fence 7; 1 releases 2-3;"},
		"no fence for who does not ask":                 {foreign.OwnerMutex, "0i:acquire 0o:acquire:7", "[nil] 1 acquires 0-1;"},
		"Hazelcast: the client is the owner, known of a process or of a uid": {foreign.FencedMutex,
			`0i:acquire:"u" 0o:acquire:{:client_"c"_:fence_3_:uid_"u"} 0i:release:"v" 0n:release:"v" 5i:acquire:"u" 5n:acquire:"u" 6i:acquire:"x" 6n:acquire:"x" 7i:release:"y" 7f:release:"y"!:not-lock-owner`,
			"[nil] 1 acquires 0-1 fence 3; 1 may release 2-*; 1 may acquire 4-*; unowned [3]"},
		"a mutex without owners needs none": {foreign.Mutex, `0i:acquire:"u" 0o:acquire:{:client_"c"} 6i:acquire:"x" 6n:acquire:"x"`, "[nil] 1 acquires 0-1; 2 may acquire 2-*;"},
		"fence 0 is none":                   {foreign.FencedMutex, `0i:acquire 0o:acquire:{:client_"c"_:fence_0}`, "[nil] 1 acquires 0-1;"},
		"tuples name the lock":              {foreign.FencedMutex, `0i:acquire:[:a_nil] 1i:acquire:[:b_nil] 0o:acquire:[:a_4] 1o:acquire:[:b_{:fence_5}]`, "[:a] 1 acquires 0-2 fence 4;[:b] 2 acquires 1-3 fence 5;"},
		"a map names the lock":              {foreign.OwnerMutex, `0i:acquire:{:lock_"a"} 0o:acquire 1i:acquire 1n:acquire:{:lock_"b"}`, `["a"] 1 acquires 0-1;["b"] 2 may acquire 2-*;`},
		"what leases do is passed over":     {foreign.OwnerMutex, "0i:extend 0o:extend 0i:deduct 0o:deduct", ""},
	} {
		locks, err := read(t, foreign.EDN, ednOf(c.text)).Locks(foreign.Model{Name: c.model})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := showLocks(locks); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
	}
}

func showRegisters(ops []spec.RegisterOp) string {
	var b strings.Builder
	for _, o := range ops {
		end := fmt.Sprint(o.End())
		if o.End() == spec.Never {
			end = "*"
		}
		fmt.Fprintf(&b, "%s%s %s", o.Key, map[bool]string{true: ":"}[o.Key != ""], o.Step)
		if o.Step == spec.CAS || o.Step == spec.CASFailed || o.Step == spec.MayCAS {
			fmt.Fprintf(&b, " %s for", o.Expect)
		}
		fmt.Fprintf(&b, " %s %d-%s;", o.Value, o.Call, end)
	}
	return b.String()
}

func TestRegisters(t *testing.T) {
	all := "0i:read 0o:read:3 0i:read 0o:read 0i:read 0f:read 0i:read 0n:read 1i:write:2 1o:write:2 1i:write:2 1f:write:2 1i:write:2 1n:write:2 " +
		"2i:cas:[1_nil] 2o:cas:[1_nil] 2i:cas:[1_2] 2f:cas:[1_2] 2i:cas:[1_2] 2f:cas:[1_2]!:cas-failed 2i:cas:[1_2] 2n:cas:[1_2]"
	some := foreign.Rules{NilRead: true, FailedCAS: foreign.IfItSays}
	every := foreign.Rules{NilRead: true, FailedCAS: foreign.Something}
	for name, c := range map[string]struct {
		model, text string
		rules       *foreign.Rules
		want        string
	}{
		"as Knossos counts": {foreign.CASRegister, all, nil,
			" reads 3 0-1; writes 2 8-9; may write 2 12-*; swaps 1 for nil 14-15; may swap 1 for 2 20-*;"},
		"nil was read, and failures that say so": {foreign.CASRegister, all, &some,
			" reads 3 0-1; reads nil 2-3; writes 2 8-9; may write 2 12-*; swaps 1 for nil 14-15; does not swap 1 for 2 18-19; may swap 1 for 2 20-*;"},
		"as porcupine's etcd model counts": {foreign.CASRegister, all, &every,
			" reads 3 0-1; reads nil 2-3; writes 2 8-9; may write 2 12-*; swaps 1 for nil 14-15; does not swap 1 for 2 16-17; does not swap 1 for 2 18-19; may swap 1 for 2 20-*;"},
		"tuples": {foreign.CASRegister, "0i:read:[7_nil] 0o:read:[7_3] 1i:cas:[8_[1_2]] 1n:cas:[8_[1_2]] 2i:write:[7_4]", nil,
			"7: reads 3 0-1;8: may swap 1 for 2 2-*;7: may write 4 4-*;"},
		"vectors that are no tuples":             {foreign.Register, "0i:read 0o:read:[7_3] 1i:write:[7_3]", nil, " reads [7 3] 0-1; may write [7 3] 2-*;"},
		"a completion need not repeat the value": {foreign.Register, "1i:write:2 1o:write", nil, " writes 2 0-1;"},
		"nil can be written":                     {foreign.Register, "1i:write 1o:write", nil, " writes nil 0-1;"},
		"a text is not a number":                 {foreign.Register, `1i:write:2 1o:write:2 1i:write:"2"`, nil, ` writes 2 0-1; may write "2" 2-*;`},
		"keys with texts":                        {foreign.KV, `1i:put:["a"_"x"] 1o:put:["a"_"x"] 1i:append:["a"_"y"] 1o:append:["a"_"y"] 1i:get:["a"_nil] 1o:get:["a"_"xy"]`, nil, `"a": writes x 0-1;"a": appends y 2-3;"a": reads xy 4-5;`},
	} {
		h := read(t, foreign.EDN, ednOf(c.text))
		if c.rules != nil {
			h.Rules = *c.rules
		}
		ops, err := h.Registers(foreign.Model{Name: c.model})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := showRegisters(ops); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
	}
}

// What a model does not understand is told with its line.
func TestModelsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		model, text string
		line        int
		reason      string
	}{
		"a register's read of a lock":   {foreign.Mutex, "0i:acquire 0o:acquire 0i:read", 3, "unknown :f read"},
		"a lock's acquire of registers": {foreign.Register, "0i:acquire", 1, "unknown :f acquire"},
		"a cas of a register without":   {foreign.Register, "0i:cas:[1_2]", 1, "unknown :f cas"},
		"an append of a register":       {foreign.CASRegister, "0i:append:1", 1, "unknown :f append"},
		"a cas of one value":            {foreign.CASRegister, "0i:read 0o:read:1 0i:cas:1", 3, "[expected new]"},
		"another value written":         {foreign.Register, "0i:write:1 0o:write:2", 2, "invoked with 1, but completed with 2"},
		"another key":                   {foreign.Register, "0i:read:[1_nil] 0o:read:[2_5]", 2, "no tuple of the key 1"},
		"a number in a map of texts":    {foreign.KV, `0i:put:["a"_3]`, 1, "a string, not 3"},
		"tuples and others":             {foreign.Mutex, "0i:acquire:[1_nil] 1i:acquire", 2, "no tuple"},
		"two locks in one":              {foreign.Mutex, "0i:acquire:{:lock_1} 0o:acquire:{:lock_2}", 1, "of the lock 1 and of 2"},
		"a fence in words":              {foreign.FencedMutex, "0i:acquire 0o:acquire:{:fence_:high}", 2, "fence :high"},
		"a fence beyond numbers":        {foreign.FencedMutex, "0i:acquire 0o:acquire:123456789012345678901", 2, "fence 123"},
		"an acquire of nobody":          {foreign.OwnerMutex, `0i:acquire 0o:acquire:{:client_"c"} 1i:acquire 1o:acquire`, 3, "owner cannot be told"},
		"a process with two clients":    {foreign.OwnerMutex, `0i:acquire 0o:acquire:{:client_"c"} 0i:release 0o:release:{:client_"d"} 0i:acquire 0o:acquire`, 5, "owner cannot be told"},
	} {
		h := read(t, foreign.EDN, ednOf(c.text))
		m := foreign.Model{Name: c.model}
		var err error
		if _, ok := m.Lock(); ok {
			_, err = h.Locks(m)
		} else {
			_, err = h.Registers(m)
		}
		e, ok := err.(*foreign.Error)
		if !ok || e.Line != c.line || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: got %v, want line %d and %q", name, err, c.line, c.reason)
		}
	}
	for _, m := range []foreign.Model{{}, {Name: "mutexx"}, {Name: foreign.Semaphore}, {Name: foreign.ReentrantMutex, Holds: -1}} {
		if m.Check() == nil {
			t.Errorf("the model %+v is none", m)
		}
	}
	for _, name := range foreign.ModelNames() {
		m := foreign.Model{Name: name, Permits: 1}
		_, lock := m.Lock()
		if _, register := m.Register(); lock == register || m.Check() != nil {
			t.Errorf("%s: is a lock %v, is a register %v, %v", name, lock, register, m.Check())
		}
	}
}

func TestParseValue(t *testing.T) {
	for text, want := range map[string]foreign.Value{"0": "0", " nil ": "", `"a"`: `"a"`, "[1, 2]": "[1 2]"} {
		if got, err := foreign.ParseValue(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1 2", "[", "1/2", "]"} {
		if got, err := foreign.ParseValue(text); err == nil {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}
