package peer_test

import (
	"context"
	"os"
	"testing"

	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// claims is the header by which a test's request also claims a session.
const claims = "Test-Claims"

// Resolve makes the double a host that knows one session besides those it has
// attached.
func (b *bridge) Resolve(_ context.Context, id string) (proto.Resolved, error) {
	return proto.Resolved{Known: id == "unattached", Directory: "/d"}, nil
}

func TestAHostsProcessOrItsChildSpeaksForItsSessions(t *testing.T) {
	self := os.Getpid()
	for name, one := range map[string]struct {
		bridge  int // the process that holds it
		env     map[string]string
		claim   string
		ticket  bool
		believe bool
	}{
		"its process":                     {bridge: self, claim: "S", believe: true},
		"its child":                       {bridge: shell, claim: "S", believe: true},
		"a session it has yet to attach":  {bridge: shell, claim: "unattached", believe: true},
		"one that it does not know":       {bridge: shell, claim: "made-up"},
		"its grandchild":                  {bridge: host, claim: "S"},
		"another process":                 {bridge: 77, claim: "S"},
		"another process with its ticket": {bridge: 77, claim: "S", ticket: true, believe: true},
		"from an agent's shell":           {bridge: shell, claim: "S", env: map[string]string{"TENON_TICKET": "x"}},
		"from its terminal":               {bridge: shell, claim: "S", env: map[string]string{"TENON_SESSION_ID": "T"}},
	} {
		w := newWorld(t, os.Getuid())
		w.procs.set(func(p *processes) {
			p.start[77] = "t7"
			if one.env != nil {
				p.env[self] = one.env
			}
		})
		b := w.bridge(one.bridge)
		w.attach(b, "S", "")
		headers := []string{claims, one.claim}
		if one.ticket {
			headers = append(headers, proto.HeaderTicket, w.sessions.Issue(session.HostTicket, b.ID(), 0))
		}
		c := w.fresh(headers...)
		believed := c.Class == peer.Agent && c.Session != nil && c.Session.ID == one.claim && c.Host && c.Dir == "/d"
		if believed != one.believe {
			t.Errorf("%s: %+v", name, c)
		}
		if !believed && c.Session != nil {
			t.Errorf("%s: in session %s all the same", name, c.Session.ID)
		}
	}
}

func TestAClaimOutlivesALostBridgeButNotItsProcess(t *testing.T) {
	w := newWorld(t, os.Getuid())
	b := w.bridge(shell)
	w.attach(b, "S", "")
	w.sessions.RemoveBridge(b, "reloading")
	if c := w.fresh(claims, "S"); c.Session == nil {
		t.Errorf("while its bridge is renewed: %+v", c)
	}
	w.procs.set(func(p *processes) { p.start[shell] = "another" })
	if c := w.fresh(claims, "S"); c.Session != nil {
		t.Errorf("a process of the same number: %+v", c)
	}
}
