package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
)

const compileArg = "internal-compile"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileArg:
			fakeserver.Exit(script.HelperMain(os.Stdin, os.Stdout))
		case sandbox.HelperCommand:
			fakeserver.Exit(sandbox.HelperMain(os.Args[2:], os.Stderr))
		case config.ServeKind:
			fakeserver.Exit(Main(Options{Compile: compileArg, Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
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

// page writes the files of a page of the documentation, which name themselves in
// their first line, below a home directory.
func page(t *testing.T, name string) (home string) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	home = t.TempDir()
	for i, block := range strings.Split(string(text), "\n```") {
		_, body, _ := strings.Cut(block, "\n")
		first, _, _ := strings.Cut(body, "\n")
		_, path, ok := strings.Cut(first, " ~/")
		if i%2 == 0 || !ok {
			continue
		}
		file := filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// start starts a server of a home's configuration, as the pool does.
func start(t *testing.T, home, server string, env config.Env) *mcp.ClientSession {
	t.Helper()
	env["HOME"], env["PATH"] = home, os.Getenv("PATH")
	store, err := config.Open(config.Options{StateDir: filepath.Join(home, "state"), Home: home, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	view, err := store.View(home, "", env)
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Notes) > 0 {
		t.Fatalf("notes: %+v", view.Notes)
	}
	d, err := view.Define(server, env, config.Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(d.Command[0], d.Command[1:]...)
	cmd.Dir, cmd.Stderr = d.Cwd, os.Stderr
	for _, vars := range []map[string]string{d.BaseEnv, d.Env} {
		for name, value := range vars {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
	})
	return session
}

func call(t *testing.T, s *mcp.ClientSession, tool, arguments string) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		return "error: " + r.Content[0].(*mcp.TextContent).Text
	}
	text, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t *testing.T, s *mcp.ClientSession) string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return strings.Join(out, " ")
}

func TestTheExampleOfModulesWorks(t *testing.T) {
	s := start(t, page(t, "modules.md"), "text", config.Env{})
	if got := names(t, s); got != "count join" {
		t.Errorf("tools %s", got)
	}
	if got := call(t, s, "count", `{"text": "one two three"}`); got != `{"count":3}` {
		t.Errorf("%s", got)
	}
	if got := call(t, s, "join", `{"parts": ["a", "b"]}`); got != `"a, b"` {
		t.Errorf("%s", got)
	}
}

func TestTheExampleOfOpenAPIWorks(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id": "7"}`)
	}))
	defer server.Close()
	s := start(t, page(t, "openapi.md"), "shop", config.Env{"SHOP_TOKEN": "t0ken", "SHOP_URL": server.URL + "/v1"})
	if got := names(t, s); got != "getOrder" {
		t.Errorf("tools %s", got)
	}
	if got := call(t, s, "getOrder", `{"id": "7", "fields": ["id", "total"]}`); got != `{"id":"7"}` {
		t.Errorf("%s", got)
	}
	if asked != "GET /v1/orders/7?fields=id,total Bearer t0ken" {
		t.Errorf("asked %s", asked)
	}
}

func TestTheExampleOfCommandsWorks(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	home := page(t, "commands.md")
	// The server's directory is the caller's, and the home directory holds what no
	// confined command may reach.
	work := filepath.Join(t.TempDir(), "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "a.go"), []byte("one\n// NOTE: two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".config/tenon/config.jsonc")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "${workspace}", work)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, home, "files", config.Env{})
	if got := call(t, s, "grep", `{"pattern": "note", "globs": ["*.go"], "ignoreCase": true}`); got != `["./a.go:2:// NOTE: two"]` {
		t.Errorf("%s", got)
	}
	if got := call(t, s, "grep", `{"pattern": "-nothing"}`); got != `[]` {
		t.Errorf("%s", got)
	}
	if got := call(t, s, "sort", `{"text": "b\na"}`); got != `"a\nb"` {
		t.Errorf("%s", got)
	}
}

func TestAModuleThatCannotBeReadSaysSoWhereItsListWouldBe(t *testing.T) {
	home := page(t, "modules.md")
	file := filepath.Join(home, ".config/tenon/text.ts")
	if err := os.WriteFile(file, []byte("export const f = (a: string => a"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, home, "text", config.Env{})
	if _, err := s.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "text.ts:1:29:") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, []byte("export const f = (a: string) => a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		list, err := s.ListTools(t.Context(), nil)
		if err == nil && len(list.Tools) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if got := call(t, s, "f", `{"a": "x"}`); got != `"x"` {
		t.Errorf("%s", got)
	}
}

func TestWithoutASpecTheCommandExplainsItself(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]string{"": "started by the daemon", config.KindVariable + "={\"s3cret": "cannot be read", config.KindVariable + "={}": "there is no kind"} {
		cmd := exec.CommandContext(context.Background(), self, config.ServeKind)
		if cmd.Env = []string{"HOME=/"}; variable != "" {
			cmd.Env = append(cmd.Env, variable)
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "s3cret") {
			t.Errorf("%q: %v, %s", variable, err, out)
		}
	}
}
