package embedded

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

const helperArg = "internal-compile"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == helperArg {
		fakeserver.Exit(script.HelperMain(os.Stdin, os.Stdout))
	}
	code := m.Run()
	if e := shared(); code == 0 {
		e.Close()
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func newEngine() (*Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return New(Options{HelperCommand: []string{self, helperArg}})
}

// shared is one engine for the whole package, so that every test also proves
// that the ones before left nothing behind.
var shared = sync.OnceValue(func() *Engine {
	e, err := newEngine()
	if err != nil {
		panic(err)
	}
	return e
})

// host is a scripted engine.Host.
type host struct {
	call  func(ctx context.Context, server, tool string, args []byte, o engine.CallOptions) (engine.CallValue, error)
	fetch func(ctx context.Context, r engine.FetchRequest) (*engine.FetchResponse, error)

	mu    sync.Mutex
	logs  []engine.LogRecord
	emits []string
	seen  []string // server.tool args
}

func (h *host) Call(ctx context.Context, server, tool string, args []byte, o engine.CallOptions) (engine.CallValue, error) {
	h.mu.Lock()
	h.seen = append(h.seen, server+"."+tool+" "+string(args))
	h.mu.Unlock()
	if h.call != nil {
		return h.call(ctx, server, tool, args, o)
	}
	switch tool {
	case "fail":
		return engine.CallValue{}, &fault.Error{Kind: fault.ToolFailure, Message: "no such thing", Hint: "try another", Server: server, Tool: tool,
			Content: []byte(`[{"type":"text","text":"no such thing"}]`), Data: []byte(`{"id":7}`)}
	case "hang":
		<-ctx.Done()
		return engine.CallValue{}, context.Cause(ctx)
	case "slow":
		select {
		case <-time.After(30 * time.Millisecond):
		case <-ctx.Done():
		}
	case "void":
		return engine.CallValue{}, nil
	}
	return engine.CallValue{Value: args}, nil
}

func (h *host) Search(_ context.Context, query []byte) ([]byte, error) {
	return append(append([]byte(`{"items":[],"query":`), query...), '}'), nil
}

func (h *host) Artifact(_ context.Context, a engine.Artifact) ([]byte, error) {
	return json.Marshal(map[string]any{"name": a.Name, "mimeType": a.MimeType, "data": string(a.Data)})
}

func (h *host) RunScript(_ context.Context, name string, input []byte) ([]byte, error) {
	if name == "missing" {
		return nil, fault.New(fault.NotFound, "there is no saved script %q", name)
	}
	return input, nil
}

func (h *host) Describe(_ context.Context, path string) ([]byte, error) {
	if path == "nope" {
		return nil, fault.New(fault.NotFound, "no tool %s", path)
	}
	return json.Marshal(map[string]string{"path": path})
}

func (h *host) Fetch(ctx context.Context, r engine.FetchRequest) (*engine.FetchResponse, error) {
	if h.fetch != nil {
		return h.fetch(ctx, r)
	}
	return nil, fault.New(fault.PermissionDenied, "net.allow names no host")
}

func (h *host) Resource(_ context.Context, method string, params []byte) ([]byte, error) {
	return json.Marshal(map[string]any{"method": method, "params": json.RawMessage(params)})
}

func (h *host) Emit(v []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.emits = append(h.emits, string(v))
}

func (h *host) Log(r engine.LogRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, r)
}

var fakes = []engine.Namespace{
	{Name: "gh", Global: true, Server: "git-hub", Tools: map[string]string{"get": "get", "delete_": "delete", "fail": "fail", "hang": "hang", "slow": "slow", "void": "void", "list_items": "list-items"}},
	{Name: "fs", Global: true, Server: "fs"},
	{Name: "hidden", Server: "hidden"},
}

// execute runs a source with the fakes; change may alter the program.
func execute(t testing.TB, source string, change ...func(*engine.Program)) (*engine.Outcome, *host) {
	t.Helper()
	return executeCtx(t, context.Background(), source, change...)
}

func executeCtx(t testing.TB, ctx context.Context, source string, change ...func(*engine.Program)) (*engine.Outcome, *host) {
	t.Helper()
	h := &host{}
	p := engine.Program{Source: source, Namespaces: fakes, Session: engine.SessionInfo{ID: "s1", Cwd: "/here", RunID: "r1"}}
	for _, f := range change {
		f(&p)
	}
	return shared().Run(ctx, p, h), h
}
