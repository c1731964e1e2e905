package threats

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/proto"
)

// caller is whom the daemon takes the sender of these headers for.
func (x *target) caller(header ...string) proto.CallerInfo {
	x.t.Helper()
	a := x.get("/v1/caller", header...)
	var c proto.CallerInfo
	if a.status != 200 || json.Unmarshal([]byte(a.body), &c) != nil {
		x.t.Fatalf("%d %s", a.status, a.body)
	}
	return c
}

const (
	ticketHeader  = proto.HeaderTicket + ": "
	sessionHeader = proto.HeaderSession + ": "
)

func TestATicketOpensItsOwnSessionOnly(t *testing.T) {
	x := attack(t, nil)
	mine, other := x.session("mine"), x.session("other")
	if c := x.caller(ticketHeader + mine); c.Class != "session" || c.Session != "mine" {
		t.Fatalf("its own: %+v", c)
	}
	refused := map[string][]string{
		"another session's":    {ticketHeader + mine, sessionHeader + "other"},
		"cut":                  {ticketHeader + mine[:len(mine)-1]},
		"longer":               {ticketHeader + mine + "A"},
		"padded":               {ticketHeader + mine + "="},
		"no ticket":            {ticketHeader + "x", sessionHeader + "mine"},
		"signed for another":   {ticketHeader + swapSignature(mine, other)},
		"renamed":              {ticketHeader + strings.Replace(mine, ".session.", ".host.", 1)},
		"of a directory":       {ticketHeader + strings.Replace(mine, ".session.", ".directory.", 1)},
		"a mark of a shell":    {ticketHeader + strings.Repeat("x", 4000)},
		"two tickets in a row": {ticketHeader + mine + "," + other},
	}
	for i := range mine { // each byte by itself
		c := byte('A')
		if mine[i] == c {
			c = 'B'
		}
		refused["changed at "+string(mine[i])+" "+mine[:i]] = []string{ticketHeader + mine[:i] + string(c) + mine[i+1:]}
	}
	for what, headers := range refused {
		if c := x.caller(headers...); c.Class != "stranger" || c.Session != "" {
			t.Errorf("a ticket that is %.60s is taken for %+v", what, c)
		}
	}
	// In a query string it is no ticket: addresses end up in logs and histories.
	if a := x.get("/v1/caller?ticket=" + mine); a.status == 200 && strings.Contains(a.body, "mine") {
		t.Errorf("a ticket in the address is believed: %s", a.body)
	}
	// What a session may not do it may not with its ticket either.
	for _, do := range [][3]string{
		{"POST", "/v1/approvals/ask_1", `{"decision":"approve"}`}, {"POST", "/v1/trust", `{}`}, {"POST", "/v1/stop", `{}`},
		{"POST", "/v1/presets", `{"name":"yolo"}`}, {"POST", "/v1/servers/fake/restart", ``}, {"DELETE", "/v1/sessions/other", ``},
	} {
		if a := x.ask("", do[0], do[1], do[2], ticketHeader+mine); a.status != 403 {
			t.Errorf("a session may %s %s: %d %s", do[0], do[1], a.status, a.body)
		}
	}
	// It ends with its session, and stays ended when the daemon starts anew.
	if a := x.ask("", "DELETE", "/v1/sessions/mine", ""); a.status/100 != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if c := x.caller(ticketHeader + mine); c.Class != "stranger" {
		t.Errorf("after the end of its session: %+v", c)
	}
	x.stop()
	x = attackIn(t, x.dir, nil)
	if c := x.caller(ticketHeader + mine); c.Class != "stranger" {
		t.Errorf("after a restart: %+v", c)
	}
	if c := x.caller(ticketHeader + other); c.Class != "session" || c.Session != "other" {
		t.Errorf("one whose session lives is good after a restart: %+v", c)
	}
}

// swapSignature is the body of one ticket with the signature of another.
func swapSignature(a, b string) string {
	return a[:strings.LastIndexByte(a, '.')] + b[strings.LastIndexByte(b, '.'):]
}

func TestATicketExpires(t *testing.T) {
	x := attack(t, map[string]any{"tickets": map[string]any{"ttl": "1s"}})
	ticket := x.session("s")
	deadline := time.Now().Add(patience)
	for x.caller(ticketHeader+ticket).Class != "stranger" {
		if time.Now().After(deadline) {
			t.Fatal("it is still believed")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAStrangerChangesNothing(t *testing.T) {
	x := attack(t, nil)
	x.session("s")
	for _, do := range [][3]string{
		{"POST", "/v1/call", `{"server":"fake","tool":"echo","arguments":{"text":"x"}}`},
		{"POST", "/v1/approvals/ask_1", `{"decision":"approve"}`}, {"POST", "/v1/trust", `{}`}, {"POST", "/v1/stop", `{}`},
		{"POST", "/v1/presets", `{"name":"yolo"}`}, {"DELETE", "/v1/sessions/s", ``}, {"POST", "/v1/scripts", `{"name":"a","code":"1","where":"user"}`},
	} {
		if a := x.ask("", do[0], do[1], do[2], ticketHeader+"not one of ours", proto.HeaderDir+": "+x.dir); a.status != 403 {
			t.Errorf("a stranger may %s %s: %d %s", do[0], do[1], a.status, a.body)
		}
	}
	if found, err := x.client("").Leases(context.Background()); err != nil || len(found) > 0 {
		t.Errorf("something was started: %v, %v", found, err)
	}
}
