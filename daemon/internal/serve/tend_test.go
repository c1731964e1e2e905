package serve

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// eventually polls a condition.
func (r *running) eventually(what string, holds func() bool) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatalf("never: %s", what)
		}
	}
}

// spares are the ids of the ready spares of the server fake.
func (r *running) spares() []string {
	r.t.Helper()
	list, err := r.client("").Servers(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, s := range list {
		for _, i := range s.Instances {
			if s.Name == "fake" && i.Spare && i.State == "ready" {
				out = append(out, i.ID)
			}
		}
	}
	return out
}

// configure replaces the user's file.
func (r *running) configure(settings map[string]any) {
	r.t.Helper()
	text, err := json.Marshal(settings)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.paths.Config, "config.jsonc"), text, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// attach opens a bridge and attaches a session; the bridge stays until the
// test ends. The function that it returns makes one more request on it.
func (r *running) attach(session string) (ask func(method string, params any) *proto.RPCError) {
	r.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.paths.Socket)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ws, _, err := websocket.Dial(ctx, "ws://localhost/v1/bridge", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		ws.CloseNow()
		cancel()
		transport.CloseIdleConnections()
	})
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": r.paths.Home}
	n := 0
	ask = func(method string, params any) *proto.RPCError {
		raw, err := json.Marshal(params)
		if err != nil {
			r.t.Fatal(err)
		}
		n++
		id, _ := json.Marshal(n)
		text, err := json.Marshal(proto.RPCMessage{JSONRPC: proto.RPCVersion, ID: id, Method: method, Params: raw})
		if err != nil {
			r.t.Fatal(err)
		}
		if err := ws.Write(ctx, websocket.MessageText, text); err != nil {
			r.t.Fatal(err)
		}
		for { // what the daemon tells by itself may come between
			_, answer, err := ws.Read(ctx)
			var got proto.RPCMessage
			if err == nil {
				err = json.Unmarshal(answer, &got)
			}
			if err != nil {
				r.t.Fatalf("%s: %v, %s", method, err, answer)
			}
			if got.Method == "" && string(got.ID) == string(id) {
				return got.Error
			}
		}
	}
	hello := proto.Hello{Protocol: proto.Protocol, Build: proto.Build{Version: "1"}, Plugin: "test", Host: "opencode-v1", PID: os.Getpid(), Directory: r.paths.Home, Env: env}
	if failed := ask(proto.MethodHello, hello); failed != nil {
		r.t.Fatalf("hello: %+v", failed)
	}
	if failed := ask(proto.MethodAttach, proto.Attach{Session: session, Directory: r.paths.Home, Agent: "build"}); failed != nil {
		r.t.Fatalf("attach: %+v", failed)
	}
	return ask
}

// A plugin ends runs of the sessions that its host attached, and no others.
func TestAHostCancelsRunsOfItsOwnSessionsOnly(t *testing.T) {
	r := start(t, nil)
	ask := r.attach("ses_1")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan *proto.RunResult, 1)
	go func() {
		res, _ := r.client("another").Exec(context.Background(), proto.ExecRequest{Code: `await sleep(600000)`}, nil)
		ended <- res
	}()
	var id string
	r.eventually("the run", func() bool {
		runs, err := r.client("").Runs(ctx, client.RunFilter{})
		if err == nil && len(runs) == 1 && runs[0].Status == "running" {
			id = runs[0].ID
		}
		return id != ""
	})
	failed := ask(proto.MethodRunCancel, proto.RunCancel{Run: id})
	if failed == nil || !strings.Contains(failed.Message, "has not attached") {
		t.Errorf("cancel of a run of somebody else's session: %+v", failed)
	}
	if err := r.client("").CancelRun(ctx, id); err != nil {
		t.Error(err)
	}
	if res := <-ended; res == nil || res.Error == nil || res.Error.Kind != string(fault.Cancelled) {
		t.Errorf("%+v", res)
	}
}

func warmFake(t *testing.T, n int) map[string]any {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"servers": map[string]any{"fake": map[string]any{
		"command": []string{exe, "fake-server"}, "scope": "session", "warm": n,
	}}}
}

// TEN-10: spares wait for a session from its attach on, and as many as the
// configuration asks for now.
func TestSparesAreStartedForAnAttachedSessionAndFollowTheConfiguration(t *testing.T) {
	r := start(t, warmFake(t, 1))
	if got := r.spares(); len(got) != 0 {
		t.Fatalf("spares for nobody: %q", got)
	}
	r.attach("ses_1")
	r.eventually("one spare", func() bool { return len(r.spares()) == 1 })
	server, err := r.client("").Server(context.Background(), "fake")
	if err != nil || len(server.Tools) == 0 {
		t.Errorf("the spare's tools are not known: %v", err)
	}
	r.configure(warmFake(t, 2))
	r.eventually("two spares", func() bool { return len(r.spares()) == 2 })
}

// Changes of tools reach listeners without a call, gathered into one event.
func TestAChangedListOfToolsIsAnEvent(t *testing.T) {
	r := start(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	open := make(chan struct{})
	events, ended := make(chan proto.Event, 64), make(chan error, 1)
	listener := r.client("")
	go func() {
		ended <- listener.Events(ctx, "catalog,instance", func() { close(open) }, func(e proto.Event) error {
			events <- e
			return nil
		})
	}()
	<-open
	if res := r.exec("s", `await tools.fake.echo({text: "x"})`); !res.OK {
		t.Fatalf("%+v", res.Error)
	}
	seen := map[string]bool{}
	for !seen["catalog"] || !seen["ready"] {
		select {
		case e := <-events:
			if e.Type == "catalog" && strings.Contains(string(e.Data), `"fake"`) {
				seen["catalog"] = true
			}
			if e.Type == "instance" && strings.Contains(string(e.Data), `"state":"ready"`) {
				seen["ready"] = true
			}
		case <-ctx.Done():
			t.Fatalf("seen only %v", seen)
		}
	}
	cancel()
	<-ended
}

// A file given with --config sets the permissions of the user in person; for
// an agent it only tightens the user's own.
func TestAFileInPlaceOfTheUsersOwnLoosensForTheUserOnly(t *testing.T) {
	r := start(t, map[string]any{"permissions": map[string]any{"rules": map[string]string{"fake_echo": "deny"}}})
	file := filepath.Join(r.paths.Home, "other.jsonc")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"servers": map[string]any{
			"fake":  map[string]any{"command": []string{exe, "fake-server"}},
			"alias": map[string]any{"command": []string{exe, "fake-server"}},
		},
		"permissions": map[string]any{"rules": map[string]string{"*_echo": "allow", "fake_echo": "allow"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	call := proto.CallRequest{Server: "fake", Tool: "echo", Arguments: json.RawMessage(`{"text":"x"}`)}
	user := r.client("")
	user.Identity.Config = file
	if _, err := user.Call(ctx, call, nil); err != nil {
		t.Errorf("the user: %v", err)
	}
	made, err := user.CreateSession(ctx, proto.SessionCreate{ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	agent := r.client("s")
	agent.Identity.Config, agent.Identity.Ticket = file, made.Ticket
	if _, err := agent.Call(ctx, call, nil); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("an agent: %v", err)
	}
	call.Server = "alias" // the same program, under a name that no rule knows
	if _, err := agent.Call(ctx, call, nil); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("an agent, under another name: %v", err)
	}
	if _, err := agent.Servers(ctx); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("an agent lists the servers of a file of its own: %v", err)
	}
}

func TestADaemonReadsTheFileItWasGiven(t *testing.T) {
	r := start(t, map[string]any{"servers": map[string]any{}}, func(o *Options) {
		o.UserFile = filepath.Join(o.Paths.Home, "given.jsonc")
		exe := o.Executable
		text, err := json.Marshal(map[string]any{"servers": map[string]any{"fake": map[string]any{"command": []string{exe, "fake-server"}}}})
		if err == nil {
			err = os.WriteFile(o.UserFile, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if res := r.exec("", `await tools.fake.echo({text: "x"})`); !res.OK {
		t.Errorf("%+v", res.Error)
	}
}

// A client that needs a tool's schema gets it from a server that never ran.
func TestAServerThatWasNeverListedIsStartedForItsTools(t *testing.T) {
	r := start(t, nil)
	c := r.client("s")
	before, err := c.Server(context.Background(), "fake")
	if err != nil || len(before.Tools) != 0 {
		t.Fatalf("%d tools, %v", len(before.Tools), err)
	}
	after, err := c.LearntServer(context.Background(), "fake")
	if err != nil || len(after.Tools) == 0 {
		t.Errorf("%d tools, %v", len(after.Tools), err)
	}
}

// two tools that share a permission key are named, once both are known.
func TestStatusNamesToolsThatShareAKey(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]any{}
	for server, tool := range map[string]string{"foo": "bar_baz", "foo_bar": "baz"} {
		file := filepath.Join(dir, server)
		if err := os.WriteFile(file, []byte(`[{"name":"`+tool+`","inputSchema":{"type":"object"}}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		servers[server] = map[string]any{"command": []string{exe, "fake-server", "--tools", file}}
	}
	r := start(t, map[string]any{"servers": servers})
	shared := func() bool {
		status, err := r.client("").Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range status.Problems {
			if strings.Contains(p.Detail, "foo_bar_baz means foo/bar_baz and foo_bar/baz") {
				return true
			}
		}
		return false
	}
	if shared() {
		t.Error("named before anything is known")
	}
	for server := range servers {
		if got, err := r.client("").LearntServer(context.Background(), server); err != nil || len(got.Tools) != 1 {
			t.Fatalf("%s: %+v, %v", server, got.Tools, err)
		}
	}
	if !shared() {
		t.Error("not named")
	}
}
