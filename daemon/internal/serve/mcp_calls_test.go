//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
)

// journaled are settings whose server "fake" writes down what it receives.
func journaled(t *testing.T, flags ...string) (settings map[string]any, calls func(method string) []json.RawMessage) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "journal")
	command := append([]string{exe, "fake-server", "--journal", file}, flags...)
	return map[string]any{"servers": map[string]any{"fake": map[string]any{"command": command, "scope": "session"}}}, func(method string) []json.RawMessage {
		text, _ := os.ReadFile(file) // not there yet: nothing
		var out []json.RawMessage
		for line := range strings.Lines(string(text)) {
			var entry struct {
				Message struct {
					Method string          `json:"method"`
					Params json.RawMessage `json:"params"`
				} `json:"message"`
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Message.Method == method {
				out = append(out, entry.Message.Params)
			}
		}
		return out
	}
}

func TestProgressComesBeforeTheAnswerAndOnlyToWhoAskedForIt(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, nil)
		c := r.dialMCP(way, "/mcp", "", nil)
		c.exec(`await fake.pid()`, nil)
		if len(c.progress) != 0 {
			t.Error("progress without a token")
		}
		c.exec(`await fake.sleep({ms: 60, progress: 2})`, mcp.Meta{"progressToken": "tok"})
		// It is sent before the answer; this client hands it on beside the answer.
		r.eventually("the last progress", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			n := len(c.progress)
			return n > 0 && strings.HasSuffix(c.progress[n-1].Message, "fake/sleep ok")
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		var texts []string
		last := 0.0
		for _, p := range c.progress {
			if p.ProgressToken != "tok" || p.Progress <= last {
				t.Errorf("got %+v after %v", p, last)
			}
			last = p.Progress
			texts = append(texts, p.Message)
		}
		got := strings.Join(texts, "|")
		if !strings.Contains(got, "fake/sleep running|call 1: 1 of 3: sleeping|") || !strings.HasSuffix(got, "fake/sleep ok") {
			t.Errorf("progress %q", got)
		}
	})
}

func TestProgressOfAPassedThroughServerIsItsOwn(t *testing.T) {
	r := start(t, nil)
	c := r.dialMCP("http", "/mcp/fake", "", nil)
	c.call("sleep", map[string]any{"ms": 60, "progress": 2}, mcp.Meta{"progressToken": 5})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.progress) != 2 || c.progress[1].Progress != 2 || c.progress[1].Total != 3 || c.progress[1].Message != "sleeping" {
		t.Errorf("got %+v", c.progress)
	}
}

func TestLogRecordsGoToTheClientFromItsLevelOn(t *testing.T) {
	r := start(t, nil)
	c := r.dialMCP("lines", "/mcp", "", nil)
	const code = `log.debug("d"); log.info("i"); log.warn("w", {n: 1}); log.error("e")`
	c.exec(code, nil)
	if err := c.SetLoggingLevel(context.Background(), &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
		t.Fatal(err)
	}
	c.exec(code, nil)
	eventually(t, "both records arrive", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.logs) >= 2
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.logs) != 2 || c.logs[0].Level != "warning" || c.logs[1].Level != "error" || !strings.Contains(fmt.Sprint(c.logs[0].Data), "w") {
		t.Errorf("got %+v", c.logs)
	}
}

// CODE-18: the true reason reaches the server.
func TestACancelledCallIsCancelledUpstreamWithItsReason(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		settings, journal := journaled(t)
		r := start(t, settings)
		c := r.dialMCP(way, "/mcp", "", nil)
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await fake.sleep({ms: 600000})`}})
			failed <- err
		}()
		eventually(t, "the server works", func() bool { return len(journal("tools/call")) == 1 })
		cancel()
		if <-failed == nil {
			t.Error("the call succeeded")
		}
		eventually(t, "the server is told", func() bool { return len(journal("notifications/cancelled")) == 1 })
		if told := string(journal("notifications/cancelled")[0]); !strings.Contains(told, "context canceled") && // the SDK's own words
			(way != "http" || !strings.Contains(told, "hung up")) { // which it also does; either may come first
			t.Errorf("told %s", told)
		}
		if got := c.exec(`1 + 1`, nil); got != "2" {
			t.Errorf("the connection gives %q afterwards", got)
		}
	})
}

func TestAClientThatHangsUpCancelsWhatItAsked(t *testing.T) {
	settings, journal := journaled(t)
	r := start(t, settings)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	id := r.post(t, context.Background(), "/mcp", body, nil).Header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("no session id")
	}
	ctx, hangUp := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		res := r.post(t, ctx, "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"call","arguments":{"server":"fake","tool":"sleep","arguments":{"ms":600000}}}}`, map[string]string{"Mcp-Session-Id": id})
		if res != nil {
			_, _ = res.Body.Read(make([]byte, 1))
		}
	}()
	eventually(t, "the server works", func() bool { return len(journal("tools/call")) == 1 })
	hangUp()
	<-done
	eventually(t, "the server is told", func() bool { return len(journal("notifications/cancelled")) == 1 })
	if told := string(journal("notifications/cancelled")[0]); !strings.Contains(told, "hung up") {
		t.Errorf("told %s", told)
	}
	res := r.do(t, context.Background(), "DELETE", "/mcp", "", map[string]string{"Mcp-Session-Id": id})
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE gives %d", res.StatusCode)
	}
	res = r.post(t, context.Background(), "/mcp", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, map[string]string{"Mcp-Session-Id": id})
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("an ended connection gives %d", res.StatusCode)
	}
}

// post sends one message; do any request. Their answers' bodies end with the test.
func (r *running) post(t *testing.T, ctx context.Context, path, body string, headers map[string]string) *http.Response {
	t.Helper()
	return r.do(t, ctx, "POST", path, body, headers)
}

func (r *running) do(t *testing.T, ctx context.Context, method, path, body string, headers map[string]string) *http.Response {
	web := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.paths.Socket)
	}}
	t.Cleanup(web.CloseIdleConnections)
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	res, err := web.RoundTrip(req)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return nil
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func TestAClientThatTakesOnlyJSONGetsJSON(t *testing.T) {
	r := start(t, nil)
	for accept, want := range map[string]string{"application/json": "application/json", "*/*": "text/event-stream", "text/event-stream": "text/event-stream"} {
		res := r.post(t, context.Background(), "/mcp?x=y&codemode=true", `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`, map[string]string{"Accept": accept})
		if got := res.Header.Get("Content-Type"); got != want {
			t.Errorf("%s: %s", accept, got)
		}
		if accept != "application/json" {
			continue
		}
		res = r.post(t, context.Background(), "/mcp", `{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"exec","arguments":{"code":"await fake.echo({text: 'x'})"},"_meta":{"progressToken":1}}}`,
			map[string]string{"Accept": accept, "Mcp-Session-Id": res.Header.Get("Mcp-Session-Id")})
		var got struct {
			ID     string
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil || got.ID != "b" || got.Result.Content[0].Text != "x" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// CODE-17.
func TestRequestsOfOneConnectionAreServedTogether(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, nil)
		c := r.dialMCP(way, "/mcp", "", nil)
		c.exec(`await fake.set({v: 0})`, nil)
		waits := make(chan string, 1)
		go func() {
			res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{
				"code": `while (await fake.get() != 1) await sleep(5); "seen"`}})
			if err != nil {
				waits <- err.Error()
				return
			}
			waits <- textOf(res)
		}()
		c.exec(`await fake.set({v: 1})`, nil) // without this the first never ends
		if got := <-waits; got != "seen" {
			t.Errorf("got %q", got)
		}
	})
}

// HAR-1, PLG-35.
func TestFlatModeNamesEveryToolAndPages(t *testing.T) {
	settings, _ := journaled(t, "--more", "230")
	exe, _ := os.Executable()
	settings["servers"].(map[string]any)["höchst.seltsam"] = map[string]any{"command": []string{exe, "fake-server"}}
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, settings)
		c := r.dialMCP(way, "/mcp?codemode=false", "", nil)
		pages, byName := 0, map[string]*mcp.Tool{}
		p := &mcp.ListToolsParams{}
		for {
			list, err := c.ListTools(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, tool := range list.Tools {
				if byName[tool.Name] != nil {
					t.Errorf("%s is listed twice", tool.Name)
				}
				byName[tool.Name] = tool
			}
			if p.Cursor = list.NextCursor; p.Cursor == "" {
				break
			}
		}
		if pages != 3 || byName["exec"] != nil || byName["fake_t230"] == nil || byName["fake_echo"] == nil {
			t.Errorf("%d pages, %d tools", pages, len(byName))
		}
		fits, hashed := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), ""
		for name := range byName {
			if !fits.MatchString(name) {
				t.Errorf("%q does not fit every host", name)
			}
			if regexp.MustCompile(`^h_chst_seltsam_echo_[0-9a-f]{12}$`).MatchString(name) {
				hashed = name
			}
		}
		if hashed == "" {
			t.Fatalf("no digest where characters were lost: %v", slices.Sorted(keys(byName)))
		}
		if got := textOf(c.call(hashed, map[string]any{"text": "deep"}, nil)); got != "deep" {
			t.Errorf("got %q", got)
		}
		if _, err := c.ListTools(context.Background(), &mcp.ListToolsParams{Cursor: "bogus"}); err == nil {
			t.Error("a cursor of nowhere is taken")
		}
	})
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestANamespaceThatCannotBeListedFailsTheFlatList(t *testing.T) {
	exe, _ := os.Executable()
	r := start(t, map[string]any{"servers": map[string]any{
		"fine": map[string]any{"command": []string{exe, "fake-server"}}, "broken": map[string]any{"command": []string{exe, "fake-server", "--exit", "start", "3"}},
		"off": map[string]any{"command": []string{exe, "fake-server", "--exit", "start", "3"}, "enabled": false},
	}})
	c := r.dialMCP("http", "/mcp?codemode=false", "", nil)
	_, err := c.ListTools(context.Background(), nil)
	if err == nil || !strings.Contains(err.Error(), "server broken cannot be listed") || strings.Contains(err.Error(), "off") {
		t.Errorf("got %v", err)
	}
}

// TEN-22.
func TestAServerIsPassedThroughUnderItsOwnNamesByteForByte(t *testing.T) {
	tools := `[{"name":"my.tool/1","title":"T","description":"d","inputSchema":{"type":"object","x-own":[1.0,{"b":1,"a":9007199254740993}]},"annotations":{"readOnlyHint":true}}]`
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(tools), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, _ := journaled(t, "--tools", file)
	r := start(t, settings)
	open := r.post(t, context.Background(), "/mcp/fake", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	h := map[string]string{"Mcp-Session-Id": open.Header.Get("Mcp-Session-Id"), "Accept": "application/json"}
	read := func(body string) string {
		res := r.post(t, context.Background(), "/mcp/fake", body, h)
		var out strings.Builder
		buf := make([]byte, 64<<10)
		for {
			n, err := res.Body.Read(buf)
			out.Write(buf[:n])
			if err != nil {
				return out.String()
			}
		}
	}
	if got := read(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); got != `{"jsonrpc":"2.0","id":2,"result":{"tools":`+tools+`}}` {
		t.Errorf("listed %s", got)
	}
	if got := read(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"my.tool/1","arguments":{"n":9007199254740993}}}`); got != `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"my.tool/1 {\"n\":9007199254740993}"}]}}` {
		t.Errorf("called %s", got)
	}
}

func TestResultsAreTheServersOwnAndInstancesTheSessions(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, nil)
		one, two := r.dialMCP(way, "/mcp/fake", "", nil), r.dialMCP(way, "/mcp/fake", "", nil)
		if res := one.call("image", map[string]any{"bytes": 100}, nil); len(res.Content) != 2 {
			t.Errorf("got %+v", res.Content)
		} else if image, ok := res.Content[1].(*mcp.ImageContent); !ok || len(image.Data) < 60 {
			t.Errorf("got %+v", res.Content[1])
		}
		if res := one.call("fail", map[string]any{"text": "no"}, nil); !res.IsError || textOf(res) != "no" {
			t.Errorf("got %+v", res)
		}
		if a, b := textOf(one.call("pid", nil, nil)), textOf(two.call("pid", nil, nil)); a == b {
			t.Error("two connections share an instance of a session-scoped server")
		} else if a != textOf(one.call("pid", nil, nil)) {
			t.Error("the instance changed")
		}
		if res := one.call("ech", nil, nil); !res.IsError || !strings.Contains(textOf(res), "did you mean echo") {
			t.Errorf("got %q", textOf(res))
		}
	})
}

func TestAnUnknownServerNamesTheNearest(t *testing.T) {
	r := start(t, nil)
	_, err := r.client("").MCP(context.Background(), client.MCPMode{Server: "fke"})
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.From(err).Hint, "did you mean fake") {
		t.Errorf("got %v", err)
	}
	if res := r.post(t, context.Background(), "/mcp/fke", `{}`, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("got %d", res.StatusCode)
	}
}
