package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// double stands in for every service and notes what reached it.
type double struct {
	caller *peer.Caller
	err    error // what every service answers, when set

	mu      sync.Mutex
	work    []string
	newer   []local.Stamp
	exec    func(ctx context.Context, r proto.ExecRequest) Run
	watched int
}

func (d *double) did(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work = append(d.work, what)
	return d.err
}

func (d *double) seen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.work...)
}

func (d *double) FromHTTP(*http.Request) (*peer.Caller, error) { return d.caller, d.did("caller") }

type doubleServers struct{ *double }

func (d doubleServers) List(context.Context, *peer.Caller) ([]proto.Server, error) {
	return nil, d.did("servers")
}
func (d doubleServers) Get(_ context.Context, _ *peer.Caller, name string, learn bool) (*proto.Server, error) {
	if learn {
		name += " learnt"
	}
	return &proto.Server{Name: name}, d.did("server " + name)
}
func (d doubleServers) Restart(_ context.Context, _ *peer.Caller, name string) (*proto.Server, error) {
	return &proto.Server{Name: name}, d.did("restart " + name)
}
func (d doubleServers) Search(_ context.Context, _ *peer.Caller, q proto.Search) (*proto.SearchResult, error) {
	return &proto.SearchResult{Total: q.Limit}, d.did("search " + q.Query)
}

func (d doubleServers) Catalog(_ context.Context, _ *peer.Caller, q proto.CatalogQuery) (*proto.Catalog, error) {
	return &proto.Catalog{Tokens: q.Budget}, d.did(fmt.Sprintf("catalog since %s, start %v", q.Since, !q.NoStart))
}
func (d doubleServers) Resources(_ context.Context, _ *peer.Caller, q proto.OfferQuery) (*proto.Resources, error) {
	return &proto.Resources{Resources: []proto.Resource{{Server: q.Server, URI: "demo://" + q.Cursor}}}, nil
}

func (d doubleServers) Templates(context.Context, *peer.Caller, proto.OfferQuery) (*proto.ResourceTemplates, error) {
	return &proto.ResourceTemplates{}, nil
}

func (d doubleServers) Prompts(context.Context, *peer.Caller, proto.OfferQuery) (*proto.Prompts, error) {
	return &proto.Prompts{}, nil
}

func (d doubleServers) Types(_ context.Context, _ *peer.Caller, q proto.TypesQuery) (*proto.Types, error) {
	return &proto.Types{}, d.did(fmt.Sprintf("types %q", q.Paths))
}

type doubleSessions struct{ *double }

func (d doubleSessions) List(context.Context, *peer.Caller) ([]proto.Session, error) {
	return nil, d.did("sessions")
}
func (d doubleSessions) Create(_ context.Context, _ *peer.Caller, r proto.SessionCreate) (*proto.SessionTicket, error) {
	return &proto.SessionTicket{Session: proto.Session{ID: r.ID}}, d.did("create " + r.ID)
}
func (d doubleSessions) End(_ context.Context, _ *peer.Caller, id string) error {
	return d.did("end " + id)
}

type doubleLeases struct{ *double }

func (d doubleLeases) List(context.Context, *peer.Caller) ([]proto.Lease, error) {
	return nil, d.did("leases")
}
func (d doubleLeases) Release(_ context.Context, _ *peer.Caller, id string) error {
	return d.did("release " + id)
}

type doubleRuns struct{ *double }

func (d doubleRuns) Exec(ctx context.Context, _ *peer.Caller, r proto.ExecRequest) (Run, error) {
	if err := d.did("exec " + r.Code); err != nil {
		return nil, err
	}
	return d.exec(ctx, r), nil
}
func (d doubleRuns) Beside(_ *peer.Caller, r proto.ExecRequest) (bool, error) {
	return r.Engine == "deno", d.did("beside " + r.Where)
}
func (d doubleRuns) ExecAttached(ctx context.Context, _ *peer.Caller, r proto.ExecRequest, _ *attached.Daemon) (attached.Run, error) {
	if err := d.did("attached " + r.Code); err != nil {
		return nil, err
	}
	return d.exec(ctx, r), nil
}
func (d doubleRuns) ReadResource(_ context.Context, _ *peer.Caller, r proto.ResourceRead, _ func(proto.Frame)) (*proto.CallResult, error) {
	return &proto.CallResult{Text: r.URI}, d.did("read " + r.URI)
}

func (d doubleRuns) GetPrompt(_ context.Context, _ *peer.Caller, r proto.PromptGet, _ func(proto.Frame)) (*proto.CallResult, error) {
	return &proto.CallResult{Text: r.Name}, d.did("prompt " + r.Name)
}

func (d doubleRuns) Call(_ context.Context, _ *peer.Caller, r proto.CallRequest, asked func(proto.Frame)) (*proto.CallResult, error) {
	if asked != nil {
		asked(proto.Frame{Type: "ask", Data: json.RawMessage(`{"id":"ask_1"}`)})
	}
	return &proto.CallResult{Value: r.Arguments}, d.did("call " + r.Server + " " + r.Tool)
}
func (d doubleRuns) List(_ context.Context, _ *peer.Caller, q RunQuery) ([]proto.Run, error) {
	return nil, d.did("runs")
}
func (d doubleRuns) Get(_ context.Context, _ *peer.Caller, id string) (*proto.Run, error) {
	return &proto.Run{ID: id}, d.did("run " + id)
}
func (d doubleRuns) Output(_ context.Context, _ *peer.Caller, id, artifact string) (Output, error) {
	return Output{Body: io.NopCloser(strings.NewReader("bytes of " + id + artifact))}, d.did("output " + id)
}
func (d doubleRuns) Stats(_ context.Context, _ *peer.Caller, by string, since time.Time) (*proto.RunStats, error) {
	return &proto.RunStats{By: by, Since: since.Format(time.RFC3339)}, nil
}

func (d doubleRuns) Cancel(_ context.Context, _ *peer.Caller, id, _ string) error {
	return d.did("cancel " + id)
}

type doubleScripts struct{ *double }

func (d doubleScripts) List(context.Context, *peer.Caller) ([]proto.Script, error) {
	return nil, d.did("scripts")
}
func (d doubleScripts) Get(_ context.Context, _ *peer.Caller, name string) (*proto.Script, error) {
	return &proto.Script{Name: name}, d.did("script " + name)
}
func (d doubleScripts) Save(_ context.Context, _ *peer.Caller, r proto.ScriptSave) (*proto.Script, error) {
	return &proto.Script{Name: r.Name}, d.did("save " + r.Name)
}

type doubleApprovals struct{ *double }

func (d doubleApprovals) List(context.Context, *peer.Caller) ([]proto.Approval, error) {
	return nil, d.did("approvals")
}
func (d doubleApprovals) Answer(_ context.Context, _ *peer.Caller, id string, r proto.ApprovalReply) error {
	return d.did(r.Decision + " " + id)
}
func (d doubleApprovals) Reply(_ context.Context, _ *peer.Caller, id string, a proto.Answer) error {
	return d.did("reply " + string(a.Result) + " " + id)
}
func (d doubleApprovals) Watch(*peer.Caller) func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.watched--
	}
}

type doubleLife struct{ *double }

func (d doubleLife) Health() proto.Health { return proto.Health{Protocol: proto.Protocol} }
func (d doubleLife) Status(context.Context, *peer.Caller) (*proto.Status, error) {
	return &proto.Status{}, d.did("status")
}
func (d doubleLife) Stop(context.Context, proto.StopRequest) (*proto.StopResult, error) {
	return &proto.StopResult{}, d.did("stop")
}
func (d doubleLife) Trust(_ context.Context, r proto.TrustRequest) (*proto.TrustResult, error) {
	return &proto.TrustResult{Path: r.Directory}, d.did("trust")
}
func (d doubleLife) Newer(s local.Stamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newer = append(d.newer, s)
}

type doublePresets struct{ *double }

func (d doublePresets) List(context.Context, *peer.Caller) (*proto.Presets, error) {
	return &proto.Presets{Current: "request"}, d.did("presets")
}
func (d doublePresets) Use(_ context.Context, _ *peer.Caller, r proto.PresetUse) (*proto.PresetUsed, error) {
	return &proto.PresetUsed{Changed: true}, d.did("use " + r.Name)
}

type doubleLogins struct{ *double }

func (d doubleLogins) List(context.Context, *peer.Caller) ([]proto.Login, error) {
	return nil, d.did("logins")
}
func (d doubleLogins) Start(_ context.Context, _ *peer.Caller, server string, r proto.LoginStart, told func(proto.LoginPrompt)) (*proto.Login, error) {
	told(proto.LoginPrompt{Flow: r.Flow, URL: "https://as.example/"})
	return &proto.Login{Server: server, State: "valid"}, d.did("login " + server)
}
func (d doubleLogins) End(_ context.Context, _ *peer.Caller, server string) (*proto.LoginEnded, error) {
	return &proto.LoginEnded{Ended: true}, d.did("logout " + server)
}

// fakeRun sends frames and ends with its context.
type fakeRun struct {
	frames []proto.Frame
	result *proto.RunResult
	hold   <-chan struct{} // Frames and Wait end when it does
}

func (f *fakeRun) Frames(ctx context.Context) <-chan proto.Frame {
	c := make(chan proto.Frame)
	go func() {
		defer close(c)
		for _, x := range f.frames {
			select {
			case c <- x:
			case <-ctx.Done():
				return
			}
		}
		if f.hold != nil {
			<-f.hold
		}
	}()
	return c
}

func (f *fakeRun) Wait() *proto.RunResult {
	if f.hold != nil {
		<-f.hold
	}
	return f.result
}

func newServer(d *double) *Server {
	if d.caller == nil {
		d.caller = &peer.Caller{Class: peer.User, Dir: "/d"}
	}
	return New(Options{Services: Services{
		Callers: d, Life: doubleLife{d}, Servers: doubleServers{d}, Sessions: doubleSessions{d},
		Leases: doubleLeases{d}, Runs: doubleRuns{d}, Approvals: doubleApprovals{d}, Presets: doublePresets{d}, Logins: doubleLogins{d}, Scripts: doubleScripts{d},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = d.did("metrics") }),
	}})
}

// ask sends one request straight to the handler.
func ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// problemOf reads the problem document of an answer.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) proto.Problem {
	t.Helper()
	var p proto.Problem
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d, content type %q: %s", w.Code, got, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != w.Code || fault.Kind(p.Kind).HTTPStatus() != w.Code || p.Type != fault.Kind(p.Kind).Page() {
		t.Errorf("the document disagrees with itself: %+v, status %d", p, w.Code)
	}
	return p
}
