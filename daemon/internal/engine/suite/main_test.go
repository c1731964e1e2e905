package suite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/embedded"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
)

const compileArg = "internal-compile"

func TestMain(m *testing.M) {
	fakeserver.MaybeMain()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileArg:
			fakeserver.Exit(script.HelperMain(os.Stdin, os.Stdout))
		case sandbox.HelperCommand:
			fakeserver.Exit(sandbox.HelperMain(os.Args[2:], os.Stderr))
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// late passes the time that a program needs to reach its end after a call that
// it does not await, on a busy machine too.
func late(ctx context.Context) {
	select {
	case <-time.After(300 * time.Millisecond):
	case <-ctx.Done():
	}
}

// runtimes is the PATH of the tests: what test/run installs, else what the
// machine has.
func runtimes() string {
	_, file, _, _ := runtime.Caller(0)
	bin := filepath.Join(filepath.Dir(file), "../../../../test/runtimes/node_modules/.bin")
	return bin + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// rig is one engine with what it needs; everything ends with the test.
type rig struct {
	t      testing.TB
	name   string
	engine engine.Engine
	work   string // the workspace
	dir    string // where runs have their directories
	secret string // a directory that no strict mode may reach
}

// each runs f on every engine that is present, those that are not say so.
func each(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range append([]string{"embedded"}, process.Names()...) {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

// processes is each without embedded.
func processes(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range process.Names() {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

func newRig(t testing.TB, name string) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	r := &rig{t: t, name: name, work: filepath.Join(root, "work"), dir: filepath.Join(root, "state", "runs"), secret: filepath.Join(root, "state")}
	for _, dir := range []string{r.work, r.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if name == "embedded" {
		e, err := embedded.New(embedded.Options{HelperCommand: []string{self, compileArg}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		r.engine = e
		return r
	}
	if _, err := process.Find(t.Context(), name, runtimes(), ""); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	record, err := proctree.OpenRecord(filepath.Join(root, "groups"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := script.NewCompiler(script.Options{Command: []string{self, compileArg}})
	t.Cleanup(func() {
		_ = compiler.Close()
		_ = record.Close()
		if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
			t.Errorf("runs left %d directories behind: %v", len(left), err)
		}
	})
	r.engine = process.New(process.Options{
		Name: name, Record: record, Compiler: compiler, Executable: self, Dir: r.dir, Path: runtimes(), Hidden: []string{r.secret},
	})
	return r
}

// run executes a source with the fakes; change may alter the program.
func (r *rig) run(ctx context.Context, source string, change ...func(*engine.Program)) (*engine.Outcome, *host) {
	r.t.Helper()
	h := &host{}
	p := engine.Program{
		Source: source, Namespaces: fakes, Session: engine.SessionInfo{ID: "s1", Cwd: r.work, RunID: "r1"}, Cwd: r.work,
		Env: map[string]string{"PATH": runtimes()},
	}
	for _, f := range change {
		f(&p)
	}
	return r.engine.Run(ctx, p, h), h
}

func mode(m sandbox.Mode) func(*engine.Program) {
	return func(p *engine.Program) { p.Sandbox = string(m) }
}

// value runs a source that must succeed and gives its value.
func (r *rig) value(source string, change ...func(*engine.Program)) string {
	r.t.Helper()
	out, _ := r.run(r.t.Context(), source, change...)
	if out.Err != nil {
		r.t.Fatalf("%v\n%s\nstdout: %s\nstderr: %s", out.Err, out.Stack, out.Stdout, out.Stderr)
	}
	return string(out.Value)
}

// host is a scripted engine.Host.
type host struct {
	mu    sync.Mutex
	logs  []engine.LogRecord
	emits []string
	seen  []string // server.tool args
	most  int      // calls at once
	now   int
}

func (h *host) Call(ctx context.Context, server, tool string, args []byte, o engine.CallOptions) (engine.CallValue, error) {
	h.mu.Lock()
	h.seen = append(h.seen, server+"."+tool+" "+string(args))
	h.now++
	h.most = max(h.most, h.now)
	h.mu.Unlock()
	defer func() { h.mu.Lock(); h.now--; h.mu.Unlock() }()
	switch tool {
	case "fail", "failLate":
		if tool == "failLate" {
			late(ctx)
		}
		return engine.CallValue{}, &fault.Error{Kind: fault.ToolFailure, Message: "no such thing", Hint: "try another", Server: server, Tool: tool,
			Content: []byte(`[{"type":"text","text":"no such thing"}]`)}
	case "refuse":
		var given struct{ Kind fault.Kind }
		if err := json.Unmarshal(args, &given); err != nil {
			return engine.CallValue{}, err
		}
		return engine.CallValue{}, &fault.Error{Kind: given.Kind, Message: "refused", Pointer: "/a", Feedback: "not now", Data: []byte(`{"n":1}`)}
	case "hang":
		<-ctx.Done()
		return engine.CallValue{}, context.Cause(ctx)
	case "slow":
		if late(ctx); ctx.Err() != nil {
			return engine.CallValue{}, context.Cause(ctx)
		}
	case "void":
		return engine.CallValue{}, nil
	case "timeout":
		return engine.CallValue{Value: []byte(`"` + o.Timeout.String() + `"`)}, nil
	case "deep":
		return engine.CallValue{Value: []byte(strings.Repeat("[", 300) + strings.Repeat("]", 300))}, nil
	case "whole":
		if o.Raw {
			return engine.CallValue{Value: []byte(`{"content":[],"structuredContent":{"a":1}}`)}, nil
		}
		return engine.CallValue{Value: []byte(`{"a":1}`), Raw: []byte(`{"content":[],"structuredContent":{"a":1}}`)}, nil
	}
	return engine.CallValue{Value: args}, nil
}

func (h *host) Search(_ context.Context, query []byte) ([]byte, error) {
	return append(append([]byte(`{"items":[],"query":`), query...), '}'), nil
}

func (h *host) Artifact(_ context.Context, a engine.Artifact) ([]byte, error) {
	return json.Marshal(map[string]any{"name": a.Name, "mimeType": a.MimeType, "hex": hex.EncodeToString(a.Data)})
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

func (h *host) Fetch(context.Context, engine.FetchRequest) (*engine.FetchResponse, error) {
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
	{Name: "gh", Global: true, Server: "git-hub", Tools: map[string]string{"get": "get", "delete_": "delete", "list_items": "list-items", "slow": "slow"}},
	{Name: "fs_", Global: true, Server: "fs"},
	{Name: "hidden", Server: "hidden"},
}
