package topology

import (
	"errors"
	"strings"
	"testing"
)

func TestParseServer(t *testing.T) {
	for s, want := range map[string]wanted{
		"":             {},
		"redis:7.0":    {"redis", "7.0"},
		"redis:7.0.15": {"redis", "7.0.15"},
		"valkey:8":     {"valkey", "8"},
	} {
		if got, err := parseServer(s); got != want || err != nil {
			t.Errorf("parseServer(%q): got %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"redis", "redis:", "valkey:x", "keydb:6", ":7", "redis:7.0 ", "redis:7:0", "redis:7."} {
		if got, err := parseServer(s); !errors.Is(err, ErrServer) || strings.Contains(err.Error(), "\n") {
			t.Errorf("parseServer(%q): got %v, %v; want ErrServer in one line", s, got, err)
		}
	}
}

func TestWantedCheck(t *testing.T) {
	for _, tc := range []struct {
		want string
		is   server
		ok   bool
	}{
		{"", server{name: "redis", version: "6.0.16"}, true},
		{"redis:7.0", server{name: "redis", version: "7.0.15"}, true},
		{"redis:7", server{name: "redis", version: "7.0.15"}, true},
		{"redis:7.0.15", server{name: "redis", version: "7.0.15"}, true},
		{"redis:7.0.1", server{name: "redis", version: "7.0.15"}, false},
		{"redis:7.2", server{name: "redis", version: "7.0.15"}, false},
		{"redis:8", server{name: "valkey", version: "8.0.1"}, false},
		{"valkey:8", server{name: "valkey", version: "8.0.1"}, true},
	} {
		w, err := parseServer(tc.want)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.check(tc.is, "/bin/x"); (err == nil) != tc.ok || (err != nil && !errors.Is(err, ErrServer)) {
			t.Errorf("%q with %s %s: got %v, want it fit: %t", tc.want, tc.is.name, tc.is.version, err, tc.ok)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d81b8ff71cfb150e\n")
	f.Add("Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0")
	f.Add("v=1")
	f.Fuzz(func(t *testing.T, said string) {
		got, err := parseVersion(said)
		if (err == nil) != (got.name != "" && got.version != "") {
			t.Errorf("parseVersion(%q): got %+v, %v; want a name and a version, or an error", said, got, err)
		}
		if err == nil && !strings.Contains(said, "v="+got.version) {
			t.Errorf("parseVersion(%q): got version %q, which it does not say", said, got.version)
		}
	})
}

func TestParseVersion(t *testing.T) {
	got, err := parseVersion("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d81b8ff71cfb150e\n")
	if want := (server{name: "redis", version: "7.0.15"}); got != want || err != nil {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
