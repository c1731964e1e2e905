// Package outbound makes the HTTP requests of programs: the list of hosts that
// they may reach, the check of every address that a name resolves to, and the
// client, which has no proxy, keeps no cookie and follows a redirect only to
// where a request could have gone by itself. It decides nothing about
// permissions; its caller asks for them before each request that goes out.
package outbound

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"tenon/daemon/internal/fault"
)

// Allow is where programs may go. It is not changed once it is made.
type Allow struct {
	patterns  []Pattern
	private   bool
	elsewhere bool // never on this machine, whatever is named
}

// ParseAllow reads net.allow. With private, names written in full may resolve to
// addresses of private networks and of the machine itself. The error, a
// ConfigError, is the first entry's that cannot be read.
func ParseAllow(list []string, private bool) (*Allow, error) {
	a := &Allow{private: private}
	for _, text := range list {
		p, err := ParsePattern(text)
		if err != nil {
			return nil, fault.New(fault.ConfigError, "net.allow: %w", err).
				WithHint(`entries are hosts: "api.example.com", "*.example.com", "http://localhost:3000", "10.0.0.0/8"`)
		}
		a.patterns = append(a.patterns, p)
	}
	return a, nil
}

// Empty is whether nothing at all may be reached.
func (a *Allow) Empty() bool { return len(a.patterns) == 0 }

// String names the patterns, each as it may be written; equal ones allow the same.
func (a *Allow) String() string {
	words := make([]string, 0, len(a.patterns)+1)
	for _, p := range a.patterns {
		words = append(words, p.String())
	}
	slices.Sort(words)
	if words = slices.Compact(words); a.private {
		words = append(words, "private")
	}
	if a.elsewhere {
		words = append(words, "elsewhere")
	}
	return strings.Join(words, " ")
}

// Check refuses a URL whose host no pattern admits: PermissionDenied, or
// InvalidToolInput where it cannot be asked for at all.
func (a *Allow) Check(u *url.URL) error {
	t, err := targetOf(u)
	if err != nil {
		return fault.New(fault.InvalidToolInput, "fetch: %w", err)
	}
	return a.check(t)
}

// check refuses a request whose host no pattern admits.
func (a *Allow) check(t target) error {
	if slices.ContainsFunc(a.patterns, func(p Pattern) bool { return p.admits(t) }) {
		return nil
	}
	e := fault.New(fault.PermissionDenied, "fetch may not reach %s: net.allow does not name it", t.origin())
	if t.addr.IsValid() && classOf(t.addr) == nowhere {
		return e.WithHint("%s is the address of no host", t.host)
	}
	return e.WithHint("the user adds %q to net.allow in their own configuration", t.pattern())
}

// may is whether a connection for t may go to addr, which a name has resolved to
// or which is t itself. What is not public must have been named: by an address or
// a range that lies within a private one, by the machine's own name, or by a name
// in full where private networks are allowed.
func (a *Allow) may(t target, addr netip.Addr) bool {
	class, within := rangeOf(addr)
	if class == public || class == nowhere {
		return class == public
	}
	addr = inner(addr)
	if a.elsewhere && addr.IsLoopback() {
		return false
	}
	for _, p := range a.patterns {
		if !p.speaks(t) {
			continue
		}
		switch {
		case p.name == "":
			if p.prefix.Contains(addr) && within.Contains(p.prefix.Addr()) && p.prefix.Bits() >= within.Bits() {
				return true
			}
		case p.below || p.name != t.host || class != private:
		case a.private, t.local() && addr.IsLoopback():
			return true
		}
	}
	return false
}

// refused says that none of the addresses of t may be reached.
func (a *Allow) refused(t target) *fault.Error {
	e := fault.New(fault.PermissionDenied, "fetch may not reach %s: it is an address of this machine or of a private network", t.origin())
	if t.addr.IsValid() {
		return e.WithHint("the user adds %q to net.allow in their own configuration", t.pattern())
	}
	return e.WithHint("the user names its address in net.allow, or the name in full together with net.private: true")
}
