//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package serve

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/proto"
)

// ways are the two transports.
var ways = []string{"http", "lines"}

func onBothWays(t *testing.T, f func(t *testing.T, way string)) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) { f(t, way) })
	}
}

func TestCodeModeHasTheToolsAndTextsOfThePlugins(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, nil)
		c := r.dialMCP(way, "/mcp?some=thing", "", nil)
		list, err := c.ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != "exec call search types catalog status" {
			t.Errorf("tools %s", got)
		}
		if text := c.exec(`log.info("careful"); await fake.echo({text: "hi"})`, nil); !strings.HasPrefix(text, "hi\n") || !strings.Contains(text, "careful") {
			t.Errorf("exec gives %q", text)
		}
		if text := textOf(c.call("call", map[string]any{"server": "fake", "tool": "json", "arguments": map[string]any{"value": map[string]any{"n": 1}}}, nil)); text != `{"n":1}` {
			t.Errorf("call gives %q", text)
		}
		if text := textOf(c.call("search", map[string]any{"query": "echo", "limit": 1}, nil)); !strings.Contains(text, `tools.fake.echo(`) {
			t.Errorf("search gives %q", text)
		}
		if text := textOf(c.call("catalog", nil, nil)); !strings.Contains(text, "echo") || !strings.Contains(text, "\nfingerprint: ") {
			t.Errorf("catalog gives %q", text)
		}
		if text := textOf(c.call("types", map[string]any{"paths": []string{"fake"}}, nil)); !strings.Contains(text, "echo") {
			t.Errorf("types gives %q", text)
		}
		if text := textOf(c.call("status", nil, nil)); !strings.Contains(text, "fake: held") {
			t.Errorf("status gives %q", text)
		}
	})
}

// The texts that models read are written twice, in two languages.
func TestDescriptionsAreThoseOfThePlugins(t *testing.T) {
	r := start(t, nil)
	list, err := r.dialMCP("lines", "/mcp", "", nil).ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	source := ""
	for _, file := range []string{"tools.ts", "arguments.ts"} {
		text, err := os.ReadFile("../../../plugins/bridge/src/" + file)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	source = regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(source, "")
	source = strings.ReplaceAll(source, "tenon_", "")
	for _, tool := range list.Tools {
		texts := []string{tool.Description}
		for _, p := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
			texts = append(texts, p.(map[string]any)["description"].(string))
		}
		for _, text := range texts {
			if !strings.Contains(source, text) {
				t.Errorf("%s: the plugins do not say %q", tool.Name, text)
			}
		}
	}
}

func TestFailuresAreContentWithKindAndHint(t *testing.T) {
	r := start(t, nil)
	c := r.dialMCP("http", "/mcp", "", nil)
	for _, one := range []struct {
		tool string
		args map[string]any
		want []string
	}{
		{"exec", map[string]any{"code": `await fake.fail({text: "broken"})`}, []string{"error ToolFailure: broken"}},
		{"exec", map[string]any{"cod": "1"}, []string{"InvalidToolInput", `did you mean "code"?`}},
		{"exec", map[string]any{"code": "1", "timeout": 0}, []string{"InvalidToolInput", "at least 0.1"}},
		{"exec", map[string]any{"code": "1", "engine": "nope"}, []string{"EngineUnavailable", "embedded"}},
		{"call", map[string]any{"server": "fak", "tool": "echo"}, []string{"UnknownTool", "did you mean fake"}},
		{"call", map[string]any{"server": "fake", "tool": "echo", "arguments": map[string]any{}}, []string{"InvalidToolInput", "arguments: { text: string }"}},
	} {
		res := c.call(one.tool, one.args, nil)
		for _, want := range one.want {
			if !res.IsError || !strings.Contains(textOf(res), want) {
				t.Errorf("%s %v: %v %q", one.tool, one.args, res.IsError, textOf(res))
			}
		}
		if failed, ok := res.Meta["tenon/error"].(map[string]any); !ok || failed["kind"] == "" {
			t.Errorf("%s %v: _meta %v", one.tool, one.args, res.Meta)
		}
	}
}

// anomalyco/opencode#41389.
func TestANameOfTheCatalogueCalledDirectlySaysHowToReachIt(t *testing.T) {
	r := start(t, nil)
	c := r.dialMCP("http", "/mcp", "", nil)
	if text := c.InitializeResult().Instructions; !strings.Contains(text, "tools.<namespace>.<tool>") || !strings.Contains(text, "await tools.") {
		t.Errorf("instructions %q", text)
	}
	for _, name := range []string{"fake_echo", "tenon_fake_echo", "tools.fake.echo", "fake/echo", "mcp__fake__echo"} {
		res := c.call(name, map[string]any{"text": "hi"}, nil)
		_, code, ok := strings.Cut(textOf(res), "call exec with the code: ")
		if !res.IsError || !ok {
			t.Fatalf("%s: %q", name, textOf(res))
		}
		if got := c.exec(code, nil); got != "hi" {
			t.Errorf("%s: the line %q gives %q", name, code, got)
		}
	}
	if text := textOf(c.call("tenon_exec", nil, nil)); !strings.Contains(text, "hint: call exec") {
		t.Errorf("got %q", text)
	}
}

func TestOneConnectionIsOneSessionUnlessItsRequestsNameSeveral(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, map[string]any{"sessions": map[string]any{"grace": "200ms"}})
		one, two := r.dialMCP(way, "/mcp", "", nil), r.dialMCP(way, "/mcp", "", nil)
		a := mcp.Meta{"ai.opencode/sessionID": "ses_a"}
		b := mcp.Meta{"ai.opencode/sessionID": "ses_b"}
		const pid = `await fake.pid()`
		seen := map[string]string{}
		for name, text := range map[string]string{
			"one": one.exec(pid, nil), "two": two.exec(pid, nil), "one a": one.exec(pid, a), "one b": one.exec(pid, b), "two a": two.exec(pid, a),
		} {
			if other, taken := seen[text]; taken {
				t.Errorf("%s and %s share a server", name, other)
			}
			seen[text] = name
		}
		first, own := one.exec(pid, a), one.exec(pid, nil)
		if one.exec(pid, a) != first || one.exec(pid, nil) != own {
			t.Error("a session's server changes between its calls")
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		eventually(t, "the sessions of the closed connection end", func() bool {
			sessions, err := r.client("").Sessions(context.Background())
			return err == nil && len(sessions) == 2
		})
	})
}

func TestATicketIsTheSessionOfTheWholeConnection(t *testing.T) {
	r := start(t, map[string]any{"permissions": map[string]any{"rules": map[string]any{"fake_*": "allow"}}})
	ticket, err := r.client("").CreateSession(context.Background(), proto.SessionCreate{ID: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	want := string(r.exec("mine", `await fake.pid()`).Value)
	c := r.dialMCPAs(map[string]string{proto.HeaderSession: "mine", proto.HeaderTicket: ticket.Ticket}, nil)
	if got := c.exec(`await fake.pid()`, nil); `"`+got+`"` != want {
		t.Errorf("pid %s, the session has %s", got, want)
	}
	if text := textOf(c.call("status", nil, mcp.Meta{"ai.opencode/sessionID": "other"})); !strings.Contains(text, "session mine") {
		t.Errorf("status %q", text)
	}
}

func TestTheDirectoryIsTheClientsRootAndFollowsIt(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, nil)
		root, other := realDir(t), realDir(t)
		c := r.dialMCP(way, "/mcp", root, nil)
		if got := c.exec(`session.cwd`, nil); got != root {
			t.Errorf("directory %q, want %q", got, root)
		}
		c.sdk.RemoveRoots("file://" + root)
		c.sdk.AddRoots(&mcp.Root{URI: "file://" + other})
		eventually(t, "the changed root is seen", func() bool { return c.exec(`session.cwd`, nil) == other })
	})
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
