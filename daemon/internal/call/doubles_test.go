package call

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/consent"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// conn is an upstream server in memory.
type conn struct {
	upstream.Conn
	answer func(ctx context.Context, c upstream.Call) (json.RawMessage, error)
	calls  atomic.Int64
}

func (c *conn) Call(ctx context.Context, call upstream.Call) (json.RawMessage, error) {
	c.calls.Add(1)
	return c.answer(ctx, call)
}

// shelf is a set of leases in memory: one instance for each key.
type shelf struct {
	refused  error // what listing the tools comes to, instead of a list
	mu       sync.Mutex
	conn     *conn
	tools    []upstream.Tool
	revision uint64
	bound    map[string]string
	taken    []lease.Request
	ended    []string
	lost     bool
	onTake   func() // before an instance is given
	onTools  func() // before it lists its tools
	fail     error
	open     int
	hidden   []upstream.Tool // what only a re-list shows
}

func (s *shelf) Take(ctx context.Context, r lease.Request) (context.Context, Use, error) {
	if s.onTake != nil {
		s.onTake()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, r)
	if s.fail != nil {
		return nil, nil, s.fail
	}
	if s.bound == nil {
		s.bound = map[string]string{}
	}
	if s.bound[r.Key] == "" {
		s.bound[r.Key] = fmt.Sprintf("i%d", len(s.bound)+1)
	}
	s.open++
	lost := s.lost
	s.lost = false // as leases do, which tell it once
	return ctx, &hold{s: s, id: s.bound[r.Key], lost: lost}, nil
}

func (s *shelf) Bound(_, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound[key]
}

func (s *shelf) EndSession(session, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, session)
}

func (s *shelf) set(tools ...upstream.Tool) {
	s.mu.Lock()
	s.tools, s.revision = tools, s.revision+1
	s.mu.Unlock()
}

type hold struct {
	s    *shelf
	id   string
	lost bool
}

func (h *hold) Instance() string    { return h.id }
func (h *hold) Conn() upstream.Conn { return h.s.conn }
func (h *hold) Lost() bool          { return h.lost }
func (h *hold) Done() {
	h.s.mu.Lock()
	h.s.open--
	h.s.mu.Unlock()
}

func (h *hold) Tools(context.Context) ([]upstream.Tool, uint64, error) {
	if h.s.onTools != nil {
		h.s.onTools()
	}
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.s.tools, h.s.revision, h.s.refused
}

func (h *hold) Relist(ctx context.Context) ([]upstream.Tool, uint64, error) {
	if h.s.hidden != nil {
		h.s.set(append(h.s.tools, h.s.hidden...)...)
		h.s.hidden = nil
	}
	return h.Tools(ctx)
}

// rig is a path over doubles, with one server "fake".
type rig struct {
	t       testing.TB
	path    *Path
	shelf   *shelf
	conn    *conn
	view    *config.View
	session *session.Session
	caller  *peer.Caller
	router  *consent.Router
	memory  *policy.Memory
	history *history.Store
	manager *session.Manager
	current *config.View
	state   string // directory of history and memory
}

const echoSchema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

func newRig(t testing.TB) *rig {
	t.Helper()
	state := t.TempDir()
	r := &rig{t: t, conn: &conn{}, state: state}
	r.conn.answer = func(_ context.Context, c upstream.Call) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[{"type":"text","text":"ok"}]}`), nil
	}
	r.shelf = &shelf{conn: r.conn, revision: 1, tools: []upstream.Tool{
		{Name: "echo", InputSchema: json.RawMessage(echoSchema)},
		{Name: "read-file"},
	}}
	r.view = &config.View{Hash: "h1", Dir: "/project", Servers: map[string]*config.Server{
		"fake": {Name: "fake", Scope: config.Shared, Enabled: true, Inherit: true, CallTimeout: time.Minute, CallWall: time.Hour},
	}}
	manager, err := session.New(session.Options{RuntimeDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r.manager = manager
	t.Cleanup(manager.Close)
	r.session = manager.Ephemeral("cli", "/project", config.Env{"A": "1"})
	r.caller = &peer.Caller{Class: peer.User, Session: r.session, Dir: "/project", Surface: "cli"}
	r.router = consent.New(consent.Options{})
	r.memory = policy.NewMemory(state, discard())
	r.history = history.New(history.Options{Dir: state})
	t.Cleanup(func() {
		if err := r.history.Close(); err != nil {
			t.Error(err)
		}
	})
	r.path = New(Options{
		Leases: r.shelf, Catalog: catalog.New(catalog.Options{}), Memory: r.memory, Consent: r.router, History: r.history,
		SessionDirs: state + "/sessions",
		Define: func(v *config.View, name string, _ config.Env, _ config.Placeholders) (*config.Definition, error) {
			return &config.Definition{ID: "def-" + name, Template: name, Server: v.Servers[name], Secrets: []string{"hunter2hunter2"}}, nil
		},
		Current: func(v *config.View) *config.View {
			if r.current != nil {
				return r.current
			}
			return v
		},
	})
	return r
}

func (r *rig) request(tool, args string) Request {
	return Request{Caller: r.caller, Session: r.session, View: r.view, Run: "run_1", CallID: 1, Server: "fake", Tool: tool, Args: json.RawMessage(args)}
}

func (r *rig) call(tool, args string) (*Result, *fault.Error) {
	res, err := r.path.Call(context.Background(), r.request(tool, args))
	return res, fault.From(err)
}

func (r *rig) mustCall(tool, args string) *Result {
	r.t.Helper()
	res, err := r.call(tool, args)
	if err != nil {
		r.t.Fatalf("%s: %s: %s (%s)", tool, err.Kind, err.Message, err.Hint)
	}
	return res
}

func (r *rig) answers(result string) {
	r.conn.answer = func(context.Context, upstream.Call) (json.RawMessage, error) { return json.RawMessage(result), nil }
}

func (r *rig) rule(pattern, action string) {
	r.view.Permissions.Rules = append(r.view.Permissions.Rules, config.Rule{Pattern: pattern, Action: action})
}

// bridge is a plugin in memory.
type bridge struct {
	id       string
	host     string // empty: opencode-v1
	reply    func(ctx context.Context, a proto.Ask) (proto.AskReply, error)
	question func(ctx context.Context, q proto.Question) (proto.Answer, error) // nil: unavailable
	human    bool
}

func (b *bridge) ID() string { return b.id }
func (b *bridge) PID() int   { return 1 }
func (b *bridge) Host() string {
	if b.host != "" {
		return b.host
	}
	return "opencode-v1"
}
func (b *bridge) Interactive() bool { return b.human }
func (b *bridge) Directory() string { return "/project" }
func (b *bridge) Event(proto.Frame) {}
func (b *bridge) Ask(ctx context.Context, a proto.Ask) (proto.AskReply, error) {
	return b.reply(ctx, a)
}
func (b *bridge) Question(ctx context.Context, q proto.Question) (proto.Answer, error) {
	if b.question != nil {
		return b.question(ctx, q)
	}
	return proto.Answer{Unavailable: "this host has no forms"}, nil
}
func (b *bridge) Resolve(context.Context, string) (proto.Resolved, error) {
	return proto.Resolved{}, nil
}
func (b *bridge) Notice(context.Context, proto.Notice) error { return nil }

// eventually polls until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not reached: %s", what)
		}
		time.Sleep(time.Millisecond) // the interval of the poll
	}
}
