package api

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
)

// always is a Callers that notes nothing.
type always struct{ c *peer.Caller }

func (a always) FromHTTP(*http.Request) (*peer.Caller, error) { return a.c, nil }

const token = "0123456789abcdef0123"

var addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7777}

// reticlehq/reticle#3. Every route of the table, and paths of none.
func TestTCPRefusesWebPagesOnEveryRouteBeforeAnyWork(t *testing.T) {
	paths := []Route{{Method: "GET", Path: "/"}, {Method: "POST", Path: "/mcp"}, {Method: "GET", Path: "/ui/"}}
	for _, r := range append(paths, Routes()...) {
		path := strings.NewReplacer("{name}", "x", "{id}", "x").Replace(r.Path)
		for name, headers := range map[string][]string{
			"foreign origin": {"Host", "localhost:7777", "Authorization", "Bearer " + token, "Origin", "https://evil.example"},
			"null origin":    {"Host", "localhost:7777", "Authorization", "Bearer " + token, "Origin", "null"},
			"foreign host":   {"Host", "evil.example:7777", "Authorization", "Bearer " + token},
			"other port":     {"Host", "localhost:80", "Authorization", "Bearer " + token},
			"no token":       {"Host", "localhost:7777"},
			"wrong token":    {"Host", "localhost:7777", "Authorization", "Bearer " + token + "x"},
			"empty token":    {"Host", "localhost:7777", "Authorization", "Bearer "},
			"websocket":      {"Host", "localhost:7777", "Connection", "Upgrade", "Upgrade", "websocket", "Origin", "http://evil.example"},
		} {
			d := &double{}
			g, err := NewGuard(newServer(d), "127.0.0.1:7777", addr, token)
			if err != nil {
				t.Fatal(err)
			}
			p := problemOf(t, askHost(t, g, r.Method, path, headers))
			if p.Kind != string(fault.Unauthorized) {
				t.Errorf("%s %s, %s: %+v", r.Method, path, name, p)
			}
			if got := d.seen(); len(got) != 0 {
				t.Errorf("%s %s, %s: work %q", r.Method, path, name, got)
			}
		}
	}
}

func TestTCPServesWhoHoldsTheToken(t *testing.T) {
	d := &double{}
	g, err := NewGuard(newServer(d), "127.0.0.1:7777", addr, token)
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []string{"", "http://localhost:7777"} {
		headers := []string{"Host", "LOCALHOST:7777", "Authorization", "Bearer " + token}
		if origin != "" {
			headers = append(headers, "Origin", origin)
		}
		if w := askHost(t, g, "GET", "/v1/servers", headers); w.Code != 200 {
			t.Errorf("origin %q: status %d: %s", origin, w.Code, w.Body)
		}
	}
}

func TestTCPDoesNotStartWithoutAToken(t *testing.T) {
	for _, bad := range []string{"", "short"} {
		_, err := NewGuard(newServer(&double{}), "127.0.0.1:7777", addr, bad)
		if fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), "listen.token") {
			t.Errorf("token %q: %v", bad, err)
		}
	}
}
