package session_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/session"
	"tenon/proto"
)

// bridge is a plugin in memory.
type bridge struct {
	id      string
	pid     int
	host    string
	known   map[string]proto.Resolved
	silent  bool // never answers Resolve
	mu      sync.Mutex
	asked   []string
	notices []string
}

func (b *bridge) ID() string { return b.id }

func (b *bridge) PID() int { return b.pid }

func (b *bridge) Host() string { return b.host }

func (b *bridge) Interactive() bool { return true }

func (b *bridge) Directory() string { return "/project" }

func (b *bridge) Event(proto.Frame) {}

func (b *bridge) Env() map[string]string { return map[string]string{"PATH": "/host/bin"} }

func (b *bridge) Ask(context.Context, proto.Ask) (proto.AskReply, error) {
	return proto.AskReply{}, errors.New("not used")
}

func (b *bridge) Question(context.Context, proto.Question) (proto.Answer, error) {
	return proto.Answer{}, errors.New("not used")
}

func (b *bridge) Notice(_ context.Context, n proto.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notices = append(b.notices, n.Message)
	return nil
}

func (b *bridge) Resolve(ctx context.Context, id string) (proto.Resolved, error) {
	b.mu.Lock()
	b.asked = append(b.asked, id)
	b.mu.Unlock()
	if b.silent {
		<-ctx.Done()
		return proto.Resolved{}, ctx.Err()
	}
	return b.known[id], nil
}

func (b *bridge) questions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked)
}

// world is a manager with a clock and a table of processes moved by hand.
type world struct {
	*session.Manager
	t   *testing.T
	dir string

	mu       sync.Mutex
	now      time.Time
	procs    map[int]string
	ended    []string
	attached []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), now: time.Now(), procs: map[int]string{1: "a", 2: "b", 3: "c"}}
	w.open()
	return w
}

// open starts the manager, as a restarted daemon does.
func (w *world) open() {
	w.t.Helper()
	m, err := session.New(session.Options{RuntimeDir: w.dir, Now: w.time, StartTime: w.start})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(m.Close)
	w.Manager = m
	m.OnEnd(func(id, _ string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = append(w.ended, id)
	})
	m.OnAttach(func(s *session.Session) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.attached = append(w.attached, s.ID)
	})
}

// attachments are the sessions that OnAttach was told of since the start.
func (w *world) attachments() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.attached)
}

func (w *world) restart() {
	w.Close()
	w.open()
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
	w.Sweep()
}

func (w *world) start(pid int) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.procs[pid]; ok {
		return s, nil
	}
	return "", os.ErrNotExist
}

func (w *world) exits(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.procs, pid)
}

func (w *world) endings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ended)
}

func (w *world) bridge(id string, pid int) *bridge {
	w.t.Helper()
	b := &bridge{id: id, pid: pid, host: "opencode-v1", known: map[string]proto.Resolved{}}
	if _, err := w.AddBridge(b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) attach(b session.Bridge, a proto.Attach) (*session.Session, string) {
	w.t.Helper()
	s, ticket, err := w.Attach(context.Background(), b, a)
	if err != nil {
		w.t.Fatal(err)
	}
	return s, ticket
}

func (w *world) lives(id string) bool {
	_, ok := w.Get(id)
	return ok
}
