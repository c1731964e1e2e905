package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"tenon/proto"
)

const cloned = `{"servers": {"evil": {"command": ["sh", "-c", "touch pwned"]}}}`

// status is whether the project's server may start.
func (p *place) status() string {
	p.t.Helper()
	var servers []proto.Server
	if got := p.run("ls", "--json"); json.Unmarshal([]byte(got.out), &servers) != nil {
		p.t.Fatalf("%+v", got)
	}
	for _, s := range servers {
		if s.Name == "evil" {
			return s.Status
		}
	}
	return "none"
}

func TestTrustShowsFirstAndAsksOnATerminal(t *testing.T) {
	p := newPlace(t, nil)
	file := p.write("project/.tenon/config.jsonc", cloned)
	for _, c := range []struct {
		keys string
		code int
	}{{"n\r", 130}, {"\r", 130}, {"\x04", 130}, {"\x03", 130}} {
		s := p.terminal("trust")
		s.waitFor("[y/N]")
		if !strings.Contains(s.text(), "server evil: sh -c 'touch pwned'") {
			t.Errorf("asked before anything was shown: %s", s.text())
		}
		s.types(c.keys)
		if code, text := s.ends(); code != c.code || p.status() != "untrusted" {
			t.Errorf("%q: exit %d, status %s: %s", c.keys, code, p.status(), text)
		}
	}
	// What changes between the question and the answer is not trusted.
	s := p.terminal("trust")
	s.waitFor("[y/N]")
	p.write("project/.tenon/config.jsonc", strings.Replace(cloned, "pwned", "worse", 1))
	s.types("y\r")
	if code, text := s.ends(); code != 2 || !strings.Contains(text, "changed since it was shown") || p.status() != "untrusted" {
		t.Errorf("exit %d, status %s: %s", code, p.status(), text)
	}
	s = p.terminal("trust")
	s.waitFor("worse")
	s.types("y\r")
	if code, text := s.ends(); code != 0 || p.status() == "untrusted" {
		t.Errorf("exit %d, status %s: %s", code, p.status(), text)
	}
	p.write("project/.tenon/config.jsonc", cloned)
	if code, text := p.terminal("trust", "--yes").ends(); code != 0 || strings.Contains(text, "[y/N]") || p.status() == "untrusted" {
		t.Errorf("%s --yes: exit %d: %s", file, code, text)
	}
}

func TestTrustWithoutATerminalShowsAndTrusts(t *testing.T) {
	p := newPlace(t, nil)
	p.write("project/.tenon/config.jsonc", cloned)
	got := p.run("trust", "-q")
	shown, done := strings.Index(got.err, "touch pwned"), p.status()
	if got.code != 0 || shown < 0 || done == "untrusted" {
		t.Errorf("%+v, status %s", got, done)
	}
	var doc proto.TrustResult
	if got := p.run("trust", "--json"); json.Unmarshal([]byte(got.out), &doc) != nil || !doc.Trusted || doc.Changed || len(doc.Servers) != 1 {
		t.Errorf("%+v", got)
	}
}
