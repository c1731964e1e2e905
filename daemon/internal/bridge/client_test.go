package bridge

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestMain(m *testing.M) {
	if os.Getenv("TENON_TEST_WAIT") != "" { // a process for others to look at
		os.Stdout.WriteString(".")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of these tests; none takes nearly as long.
const patience = 60 * time.Second

// bench is a bridge server with its sessions and a scripted work room.
type bench struct {
	t        *testing.T
	server   *Server
	sessions *session.Manager
	work     *work
	url      string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	sessions, err := session.New(session.Options{RuntimeDir: t.TempDir(), Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w := &work{}
	server := New(Options{
		Sessions: sessions, Peers: everyone{}, Work: w,
		Build: proto.Build{Version: "1.0.0", Commit: "c0ffee"}, PID: 1, Socket: "/run/tenon/daemon.sock",
	})
	web := httptest.NewServer(server)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Close(ctx, "the test ended"); err != nil {
			t.Errorf("close: %v", err)
		}
		web.Close()
		sessions.Close()
	})
	return &bench{t: t, server: server, sessions: sessions, work: w, url: "ws" + strings.TrimPrefix(web.URL, "http")}
}

// everyone admits every peer as the user.
type everyone struct{}

func (everyone) FromHTTP(*http.Request) (*peer.Caller, error) {
	return &peer.Caller{Class: peer.User, PID: 4242}, nil
}

// work is what the rooms above would do; a nil function is not expected.
type work struct {
	run      func(ctx context.Context, r RunRequest) (*proto.RunDone, error)
	call     func(ctx context.Context, r CallRequest) (*proto.CallResult, error)
	mu       sync.Mutex
	outcomes []proto.ToolOutcome // guarded by mu
}

func (w *work) Run(ctx context.Context, r RunRequest) (*proto.RunDone, error) { return w.run(ctx, r) }
func (w *work) Call(ctx context.Context, r CallRequest) (*proto.CallResult, error) {
	return w.call(ctx, r)
}
func (w *work) CancelRun(context.Context, *peer.Caller, string, string) error { return nil }
func (w *work) Status(_ context.Context, c *peer.Caller) (*proto.SessionStatus, error) {
	return &proto.SessionStatus{Session: c.Session.Info(), Text: "nothing held"}, nil
}
func (w *work) Search(context.Context, *peer.Caller, proto.Search) (*proto.SearchResult, error) {
	return &proto.SearchResult{}, nil
}
func (w *work) Catalog(_ context.Context, c *peer.Caller, q proto.CatalogQuery) (*proto.Catalog, error) {
	return &proto.Catalog{Text: sessionOf(c), Tokens: q.Budget}, nil
}
func (w *work) Types(_ context.Context, c *peer.Caller, q proto.TypesQuery) (*proto.Types, error) {
	return &proto.Types{Text: sessionOf(c) + " " + strings.Join(q.Paths, " ")}, nil
}
func sessionOf(c *peer.Caller) string {
	if c.Session == nil {
		return "nobody"
	}
	return c.Session.ID
}
func (w *work) Outcome(_ *peer.Caller, o proto.ToolOutcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes = append(w.outcomes, o)
}
func (w *work) Wants(string, string) []string { return []string{"BROWSER_TOKEN"} }

// plugin is the other end of a bridge.
type plugin struct {
	t  *testing.T
	ws *websocket.Conn
	id int

	messages chan proto.RPCMessage // requests and notifications of the daemon
	answers  chan proto.RPCMessage
	closed   chan error    // the reader's end
	done     chan struct{} // the test ended
}

func hello() proto.Hello {
	return proto.Hello{
		Protocol: proto.Protocol, Build: proto.Build{Version: "1.0.0"}, Plugin: "opencode-tenon", Host: "opencode-v1",
		PID: 4242, Directory: "/project", Interactive: true, Events: true, Env: map[string]string{"LANG": "C"},
	}
}

// dial connects without saying hello.
func (b *bench) dial() *plugin {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, b.url, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	ws.SetReadLimit(MaxFrame)
	p := &plugin{t: b.t, ws: ws, messages: make(chan proto.RPCMessage, 64), answers: make(chan proto.RPCMessage, 64), closed: make(chan error, 1), done: make(chan struct{})}
	go p.read()
	b.t.Cleanup(func() {
		close(p.done)
		ws.CloseNow()
	})
	return p
}

// open connects, says hello and attaches ses_1.
func (b *bench) open() *plugin {
	b.t.Helper()
	p := b.dial()
	p.must(proto.MethodHello, hello(), &proto.HelloResult{})
	p.must(proto.MethodAttach, proto.Attach{Session: "ses_1", Directory: "/project", Agent: "build"}, &proto.AttachResult{})
	return p
}

func (p *plugin) read() {
	for {
		_, data, err := p.ws.Read(context.Background())
		if err != nil {
			p.closed <- err
			return
		}
		var m proto.RPCMessage
		if err := proto.Decode(data, &m); err != nil {
			p.closed <- err
			return
		}
		into := p.answers
		if m.Method != "" {
			into = p.messages
		}
		select {
		case into <- m:
		case <-p.done:
			return
		}
	}
}

func (p *plugin) raw(frame string) {
	p.t.Helper()
	if err := p.ws.Write(context.Background(), websocket.MessageText, []byte(frame)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plugin) send(m proto.RPCMessage) {
	p.t.Helper()
	m.JSONRPC = proto.RPCVersion
	data, err := json.Marshal(m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(string(data))
}

// ask sends a request and gives its id.
func (p *plugin) ask(method string, params any) json.RawMessage {
	p.t.Helper()
	p.id++
	id, _ := json.Marshal(p.id)
	p.send(proto.RPCMessage{ID: id, Method: method, Params: encoded(p.t, params)})
	return id
}

func (p *plugin) tell(method string, params any) {
	p.t.Helper()
	p.send(proto.RPCMessage{Method: method, Params: encoded(p.t, params)})
}

func (p *plugin) answer(to proto.RPCMessage, result any) {
	p.t.Helper()
	p.send(proto.RPCMessage{ID: to.ID, Result: encoded(p.t, result)})
}

// must sends a request, one at a time, and reads its result.
func (p *plugin) must(method string, params, result any) {
	p.t.Helper()
	p.ask(method, params)
	m := p.reply()
	if m.Error != nil {
		p.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if err := proto.Decode(m.Result, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// fails sends a request and gives the failure it is answered with.
func (p *plugin) fails(method string, params any) *proto.RPCError {
	p.t.Helper()
	p.ask(method, params)
	m := p.reply()
	if m.Error == nil || m.Error.Data == nil {
		p.t.Fatalf("%s succeeded or failed without data: %s", method, m.Result)
	}
	return m.Error
}

func (p *plugin) reply() proto.RPCMessage { p.t.Helper(); return take(p.t, p.answers) }

// next is the daemon's next request or notification, which must be of that method.
func (p *plugin) next(method string, params any) proto.RPCMessage {
	p.t.Helper()
	m := take(p.t, p.messages)
	if m.Method != method {
		p.t.Fatalf("got %s %s, want %s", m.Method, m.Params, method)
	}
	if err := proto.Decode(m.Params, params); err != nil {
		p.t.Fatal(err)
	}
	return m
}

func take[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// eventually polls a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
