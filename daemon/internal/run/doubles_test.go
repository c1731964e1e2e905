package run

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/outbound"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// program is an engine whose programs are Go functions.
type program func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome

func (program) Name() string { return "embedded" }
func (program) Close() error { return nil }
func (f program) Run(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
	return f(ctx, p, h)
}

// path is a double of the one path.
type path struct {
	call   func(ctx context.Context, r call.Request) (*call.Result, error)
	fetch  func(ctx context.Context, r call.Request, q outbound.Request) (*outbound.Response, error)
	list   *catalog.List
	mu     sync.Mutex
	seen   []string // servers that were looked up
	listed []string // namespaces that were started for their lists
}

func (p *path) Call(ctx context.Context, r call.Request) (*call.Result, error) {
	if r.OnStart != nil {
		r.OnStart(r.Server, r.Tool)
	}
	return p.call(ctx, r)
}

func (p *path) Fetch(ctx context.Context, r call.Request, q outbound.Request) (*outbound.Response, error) {
	return p.fetch(ctx, r, q)
}

func (p *path) Search(_ context.Context, _ call.Request, q proto.Search) proto.SearchResult {
	return proto.SearchResult{Items: []proto.SearchItem{{Path: q.Query + "/" + q.Namespace}}, Total: q.Limit}
}

func (p *path) Describe(_ context.Context, _ call.Request, path string) (*call.Description, error) {
	return &call.Description{Path: path}, nil
}

func (p *path) Resources(_ context.Context, _ call.Request, q proto.OfferQuery) (*proto.Resources, error) {
	return &proto.Resources{Resources: []proto.Resource{{Server: q.Server, URI: "u://" + q.Cursor}}}, nil
}

func (p *path) Templates(context.Context, call.Request, proto.OfferQuery) (*proto.ResourceTemplates, error) {
	return &proto.ResourceTemplates{}, nil
}

func (p *path) Prompts(context.Context, call.Request, proto.OfferQuery) (*proto.Prompts, error) {
	return nil, fault.New(fault.NotFound, "none")
}

func (p *path) Seen(_ context.Context, r call.Request) *catalog.List {
	p.mu.Lock()
	p.seen = append(p.seen, r.Server)
	p.mu.Unlock()
	return p.list
}

func (p *path) Types(_ context.Context, _ call.Request, q proto.TypesQuery) (*proto.Types, error) {
	p.mu.Lock()
	p.listed = append(p.listed, q.Paths...)
	p.mu.Unlock()
	return &proto.Types{}, nil
}

func (p *path) Declarations(context.Context, call.Request) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "// listed: " + strings.Join(p.listed, " ")
}

// rig is a manager over doubles.
type rig struct {
	t       testing.TB
	m       *Manager
	path    *path
	view    *config.View
	session *session.Session
	caller  *peer.Caller
	history *history.Store
	run     program // of the engine
	refs    *refs
}

// refs counts what a manager takes and gives back.
type refs struct {
	mu   sync.Mutex
	open int
	runs map[string]bool
}

func (r *refs) Ref(string) func() {
	r.mu.Lock()
	r.open++
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.open--
		r.mu.Unlock()
	}
}

func (r *refs) RunStarted(id string) {
	r.mu.Lock()
	r.runs[id] = true
	r.mu.Unlock()
}

func (r *refs) RunEnded(id string) {
	r.mu.Lock()
	delete(r.runs, id)
	r.mu.Unlock()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	sessions, err := session.New(session.Options{RuntimeDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sessions.Close)
	r := &rig{t: t, path: &path{}, refs: &refs{runs: map[string]bool{}}, history: history.New(history.Options{Dir: t.TempDir()})}
	r.session = sessions.Ephemeral("cli", "/project", nil)
	r.caller = &peer.Caller{Class: peer.User, Dir: "/project", Surface: "cli"}
	r.view = &config.View{Hash: "h", Dir: "/project", Servers: map[string]*config.Server{
		"fake": {Name: "fake", Enabled: true}, "log": {Name: "log", Enabled: true}, "off": {Name: "off"},
	}}
	r.path.call = func(context.Context, call.Request) (*call.Result, error) {
		return &call.Result{Value: json.RawMessage(`"ok"`), Raw: json.RawMessage(`{"content":[]}`)}, nil
	}
	r.m = New(Options{
		Path: r.path, History: r.history, Leases: r.refs, Sessions: r.refs, Compute: 2,
		Engines: map[string]engine.Engine{"embedded": program(func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
			return r.run(ctx, p, h)
		})},
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := r.m.Close(ctx, stopping()); err != nil {
			t.Error(err)
		}
		if r.refs.open != 0 || len(r.refs.runs) != 0 {
			t.Errorf("%d references and %d runs were not given back", r.refs.open, len(r.refs.runs))
		}
		if err := r.history.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) spec(x proto.ExecRequest) Spec {
	return Spec{Caller: r.caller, Session: r.session, View: r.view, Exec: x}
}

func (r *rig) start(x proto.ExecRequest) *Run {
	r.t.Helper()
	one, err := r.m.Start(context.Background(), r.spec(x))
	if err != nil {
		r.t.Fatal(err)
	}
	return one
}

// exec runs f as a program to its end.
func (r *rig) exec(x proto.ExecRequest, f program) *proto.RunResult {
	r.t.Helper()
	r.run = f
	return r.start(x).Wait()
}

func value(v string) *engine.Outcome { return &engine.Outcome{Value: json.RawMessage(v)} }

func frames(t testing.TB, one *Run) []proto.Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out []proto.Frame
	for f := range one.Frames(ctx) {
		out = append(out, f)
	}
	if len(out) == 0 || out[len(out)-1].Type != "end" {
		t.Fatalf("no end frame in %d", len(out))
	}
	return out
}
