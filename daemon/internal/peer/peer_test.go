package peer_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// processes is a pretend table of processes, in which the test itself is the
// peer: the kernel tells its pid.
type processes struct {
	mu     sync.Mutex
	parent map[int]int
	start  map[int]string
	env    map[int]map[string]string
	asked  int
}

func (p *processes) StartTime(pid int) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.start[pid]; ok {
		return s, nil
	}
	return "", os.ErrNotExist
}

func (p *processes) Parent(pid int) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if pp, ok := p.parent[pid]; ok {
		return pp, nil
	}
	return 0, os.ErrNotExist
}

func (p *processes) Environ(pid int) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.env[pid]; ok {
		return e, nil
	}
	return nil, errors.ErrUnsupported
}

func (p *processes) set(f func(*processes)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

type bridge struct {
	session.Bridge
	id  string
	pid int
}

func (b *bridge) ID() string   { return b.id }
func (b *bridge) PID() int     { return b.pid }
func (b *bridge) Host() string { return "opencode-v1" }

const (
	shell = 1001 // the test's pretend parent
	host  = 1002 // the shell's parent
)

type world struct {
	t        testing.TB
	sessions *session.Manager
	procs    *processes
	client   *http.Client
	callers  chan result
}

type result struct {
	c   *peer.Caller
	err error
}

// newWorld serves on a unix socket and hands out what FromHTTP says.
func newWorld(t testing.TB, uid int) *world {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system does not tell who is on the other side of a socket")
	}
	dir, err := os.MkdirTemp("", "peer") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self := os.Getpid()
	w := &world{t: t, callers: make(chan result, 1), procs: &processes{
		parent: map[int]int{self: shell, shell: host, host: 1},
		start:  map[int]string{self: "t0", shell: "t1", host: "t2"},
		env:    map[int]map[string]string{self: {}},
	}}
	w.sessions, err = session.New(session.Options{RuntimeDir: dir, StartTime: w.procs.StartTime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.sessions.Close)
	r := peer.New(peer.Options{Sessions: w.sessions, Processes: w.procs, UID: uid})
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ConnContext: peer.ConnContext, Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		c, err := r.FromHTTP(req)
		if id := req.Header.Get(claims); err == nil && id != "" {
			if claimed, ok := r.Claim(req.Context(), req, c, id); ok {
				c = claimed
			}
		}
		w.callers <- result{c, err}
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l) // ends with Close
	}()
	w.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		_ = srv.Close()
		<-served
	})
	return w
}

// call sends headers, given in pairs, over a kept connection.
func (w *world) call(headers ...string) (*peer.Caller, error) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://tenon/?dir=/q", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = res.Body.Close()
	got := <-w.callers
	return got.c, got.err
}

// fresh is call over a new connection.
func (w *world) fresh(headers ...string) *peer.Caller {
	w.t.Helper()
	w.client.CloseIdleConnections()
	c, err := w.call(headers...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) bridge(pid int) *bridge {
	w.t.Helper()
	b := &bridge{id: "b1", pid: pid}
	if _, err := w.sessions.AddBridge(b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) attach(b *bridge, id, parent string) string {
	w.t.Helper()
	_, ticket, err := w.sessions.Attach(context.Background(), b, proto.Attach{Session: id, Parent: parent, Directory: "/d"})
	if err != nil {
		w.t.Fatal(err)
	}
	return ticket
}

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
