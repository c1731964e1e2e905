package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// Guard protects a TCP listener: every request, to every route, needs the
// token, a Host that is ours and no foreign Origin, before anything is done
// for it. A web page can neither know the token nor choose these headers.
type Guard struct {
	server *Server
	token  [sha256.Size]byte
	hosts  []string
}

// NewGuard makes the handler of a TCP listener. addr is what it listens on,
// configured what the user wrote. Without a token it is a ConfigError: there
// is no open TCP.
func NewGuard(s *Server, configured string, addr net.Addr, token string) (*Guard, error) {
	if err := (config.Daemon{ListenAddress: configured, ListenToken: token}).Listens(); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, fault.New(fault.ConfigError, "listen.address %s: %w", configured, err)
	}
	g := &Guard{server: s, token: sha256.Sum256([]byte(token))}
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(configured); err == nil && host != "" {
		names = append(names, host)
	}
	for _, name := range names {
		g.hosts = append(g.hosts, strings.ToLower(net.JoinHostPort(name, port)))
	}
	return g, nil
}

func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := g.check(r); err != nil {
		g.server.hello(w.Header())
		w.Header().Set("Connection", "close")
		g.server.fail(w, r, err)
		return
	}
	g.server.ServeHTTP(w, r)
}

func (g *Guard) check(r *http.Request) error {
	if !slices.Contains(g.hosts, strings.ToLower(r.Host)) {
		return fault.New(fault.Unauthorized, "host %q is not one of this daemon", r.Host).
			WithHint("use the address that the daemon listens on")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" || !slices.Contains(g.hosts, strings.ToLower(u.Host)) {
			return fault.New(fault.Unauthorized, "origin %q may not use this daemon", origin)
		}
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	if !ok || subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
		return fault.New(fault.Unauthorized, "TCP needs the bearer token of listen.token").
			WithHint("send Authorization: Bearer … (tenon sends TENON_TOKEN), or use the unix socket")
	}
	return nil
}
