package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"picklock/reports/web"
)

// TestHosts: an answer is given under addresses and under the names that it was told, and
// under no name that another site could have made to mean this machine; nothing of the store
// is in the refusal.
func TestHosts(t *testing.T) {
	root, name, start := guarded(t)
	for _, c := range []struct {
		what     string
		o        web.Options
		yes, not []string
	}{
		{"this machine only", web.Options{Loopback: true},
			[]string{"127.0.0.1", "127.0.0.1:8080", "127.8.9.1", "[::1]", "[::1]:80", "localhost", "LocalHost:9", "localhost."},
			[]string{"", "192.0.2.7:8080", "[2001:db8::1]", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "0.0.0.0", "[::]", "evil.example:127.0.0.1", "localhost@evil.example", "127.0.0.1 ", "2130706433", "0x7f.1"}},
		{"this machine behind a proxy", web.Options{Loopback: true, Hosts: []string{"Store.Example"}},
			[]string{"store.example", "STORE.example:443", "store.example.", "127.0.0.1"},
			[]string{"192.0.2.7", "a.store.example", "store.example.evil.example", "xstore.example", "example"}},
		{"everybody", web.Options{},
			[]string{"192.0.2.7", "192.0.2.7:8080", "[2001:db8::1]:8080", "127.0.0.1", "localhost"},
			[]string{"", "evil.example", "evil.example:8080", "192.0.2.7.evil.example", "store", "0.0.0.0:8080", "[::]"}},
		{"everybody, by name", web.Options{Hosts: []string{"store.example", "ci-1"}},
			[]string{"192.0.2.7", "store.example:8080", "ci-1"},
			[]string{"evil.example", "ci-1.evil.example", "ci-12", "ci"}},
	} {
		h, err := web.New(root, c.o)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(host string) (status int, body string) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/store/"+name+"/"+start+"/test.json", nil)
			r.Host = host
			h.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		for _, host := range c.yes {
			if status, body := ask(host); status != http.StatusOK {
				t.Errorf("%s, asked as %q: %d %s", c.what, host, status, body)
			}
		}
		for _, host := range c.not {
			if status, body := ask(host); status != http.StatusMisdirectedRequest || strings.Contains(body, "uuid-lua") || !strings.Contains(body, "--host") {
				t.Errorf("%s, asked as %q: %d, want 421 without anything of the store: %.300s", c.what, host, status, body)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{"", "*", "*.example", "a b", "http://store.example", "store.example:80", "-a", "a..b", "<b>", strings.Repeat("a", 254)} {
		if _, err := web.New(root, web.Options{Hosts: []string{wrong}}); !errors.Is(err, web.ErrHost) {
			t.Errorf("the name %.20q: %v, want ErrHost", wrong, err)
		}
	}
}
