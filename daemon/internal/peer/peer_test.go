package peer_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	shell = 1001 // the test's pretend parent
	host  = 1002 // the shell's parent
)

func TestSomebodyAtATerminalIsAUser(t *testing.T) {
	w := newWorld(t, os.Getuid())
	env, _ := json.Marshal(map[string]string{"PATH": "/bin"})
	c := w.fresh(proto.HeaderConfig, "/c.json", proto.HeaderEnv, base64.URLEncoding.EncodeToString(env))
	if c.Class != peer.User || c.PID != os.Getpid() || c.UID != os.Getuid() || c.Session != nil {
		t.Errorf("%+v", c)
	}
	if c.Dir != "/q" || c.Config != "/c.json" || c.Env["PATH"] != "/bin" {
		t.Errorf("dir %q, config %q, env %v", c.Dir, c.Config, c.Env)
	}
	for _, a := range everyAction {
		if err := c.May(a); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

var everyAction = []peer.Action{peer.Approve, peer.Trust, peer.Auth, peer.Install, peer.Presets, peer.Stop, peer.Restart, peer.Hello, peer.Release, peer.EndRun, peer.EndSess}

func TestAnotherUsersProcessIsRefused(t *testing.T) {
	w := newWorld(t, os.Getuid()+1)
	if _, err := w.call(); fault.KindOf(err) != fault.Unauthorized {
		t.Fatalf("got %v", err)
	}
}

func TestBelowAHostWithoutATicketOneIsAStranger(t *testing.T) {
	w := newWorld(t, os.Getuid())
	b := w.bridge(host)
	ticket := w.attach(b, "S", "")
	w.attach(b, "other", "")

	for name, headers := range map[string][]string{
		"no ticket":           {proto.HeaderSession, "S"},
		"a forged one":        {proto.HeaderSession, "S", proto.HeaderTicket, ticket + "x"},
		"of another session":  {proto.HeaderSession, "other", proto.HeaderTicket, ticket},
		"neither":             {},
		"a name of its own":   {proto.HeaderSession, "mine"},
		"somebody's host one": {proto.HeaderSession, "S", proto.HeaderTicket, w.sessions.Issue(session.HostTicket, "b9", 0)},
	} {
		c := w.fresh(headers...)
		if c.Class != peer.Stranger || c.Session != nil || c.Why == "" {
			t.Errorf("%s: %+v", name, c)
		}
		for _, a := range everyAction {
			err := c.MayTouch(a, "S")
			if a == peer.Hello && c.Host {
				continue
			}
			if fault.KindOf(err) != fault.PermissionDenied || fault.From(err).Hint == "" {
				t.Errorf("%s may %s: %v", name, a, err)
			}
		}
	}
	if _, made := w.sessions.Get("mine"); made {
		t.Error("a stranger made a named session")
	}
}

func TestTheTicketMakesOneTheSession(t *testing.T) {
	w := newWorld(t, os.Getuid())
	b := w.bridge(host)
	ticket := w.attach(b, "S", "")
	w.attach(b, "child", "S")
	w.attach(b, "other", "")
	c := w.fresh(proto.HeaderSession, "S", proto.HeaderTicket, ticket)
	if c.Class != peer.Agent || c.Session.ID != "S" {
		t.Fatalf("%+v", c)
	}
	for _, a := range everyAction {
		if err := c.May(a); fault.KindOf(err) != fault.PermissionDenied {
			t.Errorf("a session may %s", a)
		}
		own := c.MayTouch(a, "S") == nil && c.MayTouch(a, "child") == nil
		if want := a == peer.Release || a == peer.EndRun || a == peer.EndSess; own != want {
			t.Errorf("%s on its own: %v", a, own)
		}
		if c.MayTouch(a, "other") == nil || c.MayTouch(a, "") == nil {
			t.Errorf("%s on what belongs to others", a)
		}
	}
}

func TestMarkersInTheEnvironmentMakeAStranger(t *testing.T) {
	for name, v := range map[string]string{"OPENCODE": "1", "OPENCODE_PID": "7", "OPENCODE_TERMINAL": "1", "AGENT": "1"} {
		w := newWorld(t, os.Getuid())
		w.procs.set(func(p *processes) { p.env[os.Getpid()] = map[string]string{name: v} })
		if c := w.fresh(); c.Class != peer.Stranger || !strings.Contains(c.Why, name) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	w := newWorld(t, os.Getuid())
	w.procs.set(func(p *processes) { p.env[os.Getpid()] = map[string]string{"AGENT": "0", "OPENCODE": ""} })
	if c := w.fresh(); c.Class != peer.User {
		t.Errorf("%+v", c)
	}
}

func TestAReusedPidAboveIsNoHost(t *testing.T) {
	w := newWorld(t, os.Getuid())
	w.bridge(host)
	w.procs.set(func(p *processes) { p.start[host] = "later" })
	if c := w.fresh(); c.Class != peer.User {
		t.Errorf("%+v", c)
	}
}

func TestATerminalsTicketGivesAUserWithTheDirectorysSession(t *testing.T) {
	w := newWorld(t, os.Getuid())
	w.bridge(host)
	s, ticket, err := w.sessions.Directory("/d", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := w.fresh(proto.HeaderSession, s.ID, proto.HeaderTicket, ticket)
	if c.Class != peer.User || c.Session != s || c.May(peer.Approve) != nil {
		t.Errorf("%+v", c)
	}
}

func TestAUserNamesOrJoinsASessionWithoutATicket(t *testing.T) {
	w := newWorld(t, os.Getuid())
	if c := w.fresh(proto.HeaderSession, "work", proto.HeaderDir, "/w"); c.Session == nil || c.Session.State() != session.Named || c.Session.Dir() != "/w" {
		t.Errorf("%+v", c)
	}
	b := w.bridge(4242) // not above the caller
	w.attach(b, "S", "")
	if c := w.fresh(proto.HeaderSession, "S"); c.Class != peer.User || c.Session == nil || c.Session.State() != session.Attached {
		t.Errorf("%+v", c)
	}
}

func TestAHostsTicketSpeaksForItsOwnSessionsOnly(t *testing.T) {
	w := newWorld(t, os.Getuid())
	b := w.bridge(host)
	w.attach(b, "S", "")
	if _, err := w.sessions.Named("other", "", nil); err != nil {
		t.Fatal(err)
	}
	ticket := w.sessions.Issue(session.HostTicket, b.id, 0)
	if c := w.fresh(proto.HeaderSession, "S", proto.HeaderTicket, ticket); c.Class != peer.Agent || c.Session.ID != "S" {
		t.Errorf("%+v", c)
	}
	for _, id := range []string{"other", "", "none"} {
		if c := w.fresh(proto.HeaderSession, id, proto.HeaderTicket, ticket); c.Class != peer.Stranger || c.Session != nil {
			t.Errorf("%q: %+v", id, c)
		}
	}
}

func TestOnlyAHostItselfOpensMoreBridgesFromBelow(t *testing.T) {
	w := newWorld(t, os.Getuid())
	w.bridge(host)
	if err := w.fresh().May(peer.Hello); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("a descendant of a host: %v", err)
	}
	w.bridge(os.Getpid())
	if err := w.fresh().May(peer.Hello); err != nil {
		t.Errorf("a host again: %v", err)
	}
}

func TestTheTreeIsLookedAtOncePerConnection(t *testing.T) {
	w := newWorld(t, os.Getuid())
	for range 50 {
		if _, err := w.call(); err != nil {
			t.Fatal(err)
		}
	}
	w.procs.mu.Lock()
	defer w.procs.mu.Unlock()
	if w.procs.asked > 12 { // 3 steps a look; a slow machine looks again after 2 s
		t.Errorf("%d questions for 50 requests", w.procs.asked)
	}
}

func TestOddHeadersAreUsageErrors(t *testing.T) {
	w := newWorld(t, os.Getuid())
	for _, env := range []string{"%%%", base64.URLEncoding.EncodeToString([]byte("[1]")), base64.URLEncoding.EncodeToString([]byte(`{"A":1}`))} {
		if _, err := w.call(proto.HeaderEnv, env); fault.KindOf(err) != fault.UsageError {
			t.Errorf("%s: %v", env, err)
		}
	}
	if _, err := w.call(proto.HeaderSession, strings.Repeat("x", 500)); fault.KindOf(err) != fault.UsageError {
		t.Errorf("long session: %v", err)
	}
}

func TestOverTheNetworkOneIsAStrangerWithoutATicket(t *testing.T) {
	w := newWorld(t, os.Getuid())
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	r := peer.New(peer.Options{Sessions: w.sessions, Processes: w.procs, UID: os.Getuid()})
	req, err := http.NewRequestWithContext(peer.ConnContext(context.Background(), a), http.MethodGet, "http://tenon/", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.FromHTTP(req)
	if err != nil || c.Class != peer.Stranger || c.PID != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	req = req.WithContext(context.Background())
	if _, err := r.FromHTTP(req); fault.KindOf(err) != fault.InternalError {
		t.Errorf("without ConnContext: %v", err)
	}
}

func TestTheCallerTravelsWithTheContext(t *testing.T) {
	c := &peer.Caller{Class: peer.User}
	if peer.FromContext(peer.WithCaller(context.Background(), c)) != c || peer.FromContext(context.Background()) != nil {
		t.Error("it got lost")
	}
}

func BenchmarkFromHTTPOfASession(b *testing.B) {
	w := newWorld(b, os.Getuid())
	br := w.bridge(host)
	ticket := w.attach(br, "S", "")
	a, c := net.Pipe()
	defer a.Close()
	defer c.Close()
	r := peer.New(peer.Options{Sessions: w.sessions, Processes: w.procs, UID: os.Getuid()})
	req, err := http.NewRequestWithContext(peer.ConnContext(context.Background(), a), http.MethodGet, "http://tenon/", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set(proto.HeaderSession, "S")
	req.Header.Set(proto.HeaderTicket, ticket)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.FromHTTP(req); err != nil {
			b.Fatal(err)
		}
	}
}
