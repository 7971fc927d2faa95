package web

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
)

// The page of another site cannot read what this server answers, except by a trick: it makes
// its own name mean the server's address, and asks for that name, which the browser then
// takes for the same site. The name is in the Host header, where no page can change it. So
// an answer is given under addresses, which cannot be made to mean another one, and under
// names that are known to be this server's, and under no other name.

// answersTo says whether a Host header names this server.
func (h *Handler) answersTo(host string) bool {
	name := hostName(host)
	if name == "localhost" || slices.Contains(h.hosts, name) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && !ip.IsUnspecified() && (ip.IsLoopback() || !h.local)
}

// names tells under what it answers.
func (h *Handler) names() string {
	all := "127.0.0.1, [::1] or localhost"
	if !h.local {
		all = "the IP address of this machine"
	}
	if len(h.hosts) > 0 {
		all += ", or as " + strings.Join(h.hosts, ", ")
	}
	return all
}

// hostName is the name in a Host header: without port, brackets and the dot at the end.
func hostName(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

var hostPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$`)

// ErrHost is a name in Options that no host can have.
var ErrHost = errors.New("not the name of a host")

// hostNames checks names that a server is to answer to.
func hostNames(all []string) ([]string, error) {
	var names []string
	for _, s := range all {
		name := strings.ToLower(strings.TrimSuffix(s, "."))
		if len(name) > 253 || !hostPattern.MatchString(name) {
			return nil, fmt.Errorf("%q is %w: a name is written like store.example, without port and protocol", clip(s, 80), ErrHost)
		}
		names = append(names, name)
	}
	return names, nil
}
