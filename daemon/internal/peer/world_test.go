package peer_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

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

func (b *bridge) ID() string { return b.id }

func (b *bridge) PID() int { return b.pid }

func (b *bridge) Host() string { return "opencode-v1" }

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
