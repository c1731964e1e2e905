//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// asking are settings under which pid must be approved.
var asking = map[string]any{"permissions": map[string]any{"rules": map[string]any{"fake_pid": "ask"}}}

func TestAClientWithFormsIsAskedForPermission(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, asking)
		var says string
		c := r.dialMCP(way, "/mcp", "", func(*mcp.ElicitParams) *mcp.ElicitResult {
			if says == "" {
				return &mcp.ElicitResult{Action: "decline"}
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": says, "feedback": "take echo"}}
		})
		const program = `try { await fake.pid() } catch (e) { e.kind + " " + e.feedback }`

		for _, one := range []struct{ says, want string }{{"", "PermissionDenied"}, {"reject", "PermissionDenied take echo"}, {"once", ""}, {"always", ""}} {
			says = one.says
			got := c.exec(program, nil)
			if one.want != "" && !strings.HasPrefix(got, one.want) || one.want == "" && strings.Contains(got, "Denied") {
				t.Errorf("answer %q gives %q", one.says, got)
			}
		}
		c.mu.Lock()
		asked := len(c.asked)
		first := c.asked[0].Message
		c.mu.Unlock()
		if asked != 4 || !strings.Contains(first, "fake/pid") {
			t.Errorf("%d questions, the first %q", asked, first)
		}
		c.exec(program, nil) // always: nobody is asked again
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.asked) != asked {
			t.Error("always was forgotten")
		}
	})
}

func TestAClientWithoutFormsFailsAtOnceWithAHint(t *testing.T) {
	r := start(t, asking)
	c := r.dialMCP("http", "/mcp", "", nil)
	if text := c.exec(`await fake.pid()`, nil); !strings.Contains(text, "error ApprovalRequired") || !strings.Contains(text, "hint: ") {
		t.Errorf("got %q", text)
	}
	c = r.dialMCP("http", "/mcp/fake", "", nil)
	if res := c.call("pid", nil, nil); !res.IsError || !strings.Contains(textOf(res), "ApprovalRequired") {
		t.Errorf("passed through: %q", textOf(res))
	}
}

// What speaks for an agent's session would approve itself.
func TestAnAgentsOwnClientIsNotAsked(t *testing.T) {
	r := start(t, asking)
	ticket, err := r.client("").CreateSession(context.Background(), proto.SessionCreate{ID: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	c := r.dialMCPAs(map[string]string{proto.HeaderTicket: ticket.Ticket}, func(*mcp.ElicitParams) *mcp.ElicitResult {
		asked = true
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}
	})
	if text := c.exec(`await fake.pid()`, nil); !strings.Contains(text, "ApprovalRequired") || asked {
		t.Errorf("asked %v, got %q", asked, text)
	}
}

func TestListsThatChangeAreAnnounced(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := start(t, nil)
		flat, through, code := r.dialMCP(way, "/mcp?codemode=false", "", nil), r.dialMCP(way, "/mcp/fake", "", nil), r.dialMCP(way, "/mcp", "", nil)
		for _, c := range []*mcpClient{flat, through} {
			if _, err := c.ListTools(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := code.ListResources(context.Background(), nil); err != nil || len(list.Resources) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := code.Subscribe(context.Background(), &mcp.SubscribeParams{URI: "tenon://catalog"}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(r.paths.Config, "config.jsonc")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		more := strings.Replace(string(text), `"servers":{`, `"servers":{"more":{"command":["`+r.options.Executable+`","fake-server"]},`, 1)
		if err := os.WriteFile(file, []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
		told := func(c *mcpClient, what string) func() bool {
			return func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return strings.Contains(strings.Join(c.changes, " "), what)
			}
		}
		eventually(t, "the flat list changes", told(flat, "tools"))
		eventually(t, "the resources change", told(code, "resources"))
		eventually(t, "the catalogue changes", told(code, "tenon://catalog"))
		list, err := flat.ListTools(context.Background(), nil)
		if err != nil || !strings.Contains(names(list), "more_echo") {
			t.Errorf("%v, %v", names(list), err)
		}
		if told(through, "tools")() {
			t.Error("another server's tools were announced to who sees one")
		}
		through.call("load", nil, nil)
		eventually(t, "the server's own list changes", told(through, "tools"))
		if list, err := through.ListTools(context.Background(), nil); err != nil || !strings.Contains(names(list), "extra") {
			t.Errorf("%v, %v", names(list), err)
		}
	})
}

func TestAClientThatDoesNotReadHoldsUpNobodysNews(t *testing.T) {
	r := start(t, nil)
	for range 3 {
		stuck, err := r.client("").MCP(context.Background(), mode("/mcp"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stuck.Close() })
		say := func(line string) error { _, err := io.WriteString(stuck, line+"\n"); return err }
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"tenon://catalog"}}`,
		} {
			if err := say(line); err != nil {
				t.Fatal(err)
			}
		}
		// Until its answers fill what the sockets hold, and the daemon reads no more.
		for err == nil {
			_ = stuck.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
			err = say(`{"jsonrpc":"2.0","id":4,"method":"` + strings.Repeat("x", 16<<10) + `"}`)
		}
	}
	reads := r.dialMCP("lines", "/mcp", "", nil)
	if _, err := reads.ListResources(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.paths.Config, "config.jsonc")
	for _, name := range []string{"one", "two"} {
		reads.mu.Lock()
		reads.changes = nil
		reads.mu.Unlock()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		more := strings.Replace(string(text), `"servers":{`, `"servers":{"`+name+`":{"command":["`+r.options.Executable+`","fake-server"]},`, 1)
		if err := os.WriteFile(file, []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
		written := time.Now()
		eventually(t, "the resources change", func() bool {
			reads.mu.Lock()
			defer reads.mu.Unlock()
			return slices.Contains(reads.changes, "resources")
		})
		if took := time.Since(written); took > 20*time.Second { // those that are stuck are given up after 30
			t.Errorf("a client that reads is told after %s", took)
		}
		if _, err := reads.ListResources(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func names(l *mcp.ListToolsResult) string {
	var out []string
	if l != nil {
		for _, t := range l.Tools {
			out = append(out, t.Name)
		}
	}
	return strings.Join(out, " ")
}

// A pipe ends its input with its last request, and wants the answer.
func TestTheEndOfTheInputLetsAnswersOutThenEnds(t *testing.T) {
	r := start(t, nil)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
no message
{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"exec","arguments":{"code":"await fake.sleep({ms: 100}); 'done'"}}}`

	r.exec("", "1") // the first program takes longer
	var out strings.Builder
	if err := r.client("").PumpMCP(context.Background(), mode("/mcp"), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":1,"result"`, `"code":-32700`, `"id":"two","result"`, `"text":"done"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
}

func TestTheEndOfTheInputEndsWhatWouldNotEnd(t *testing.T) {
	settings, journal := journaled(t)
	r := start(t, settings)
	in, client := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.client("").PumpMCP(context.Background(), mode("/mcp"), in, io.Discard) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"code":"await fake.sleep({ms: 600000})"}}}`,
	} {
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the server works", func() bool { return len(journal("tools/call")) == 1 })
	_ = client.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	eventually(t, "the server is told", func() bool { return len(journal("notifications/cancelled")) == 1 })
	if told := string(journal("notifications/cancelled")[0]); !strings.Contains(told, "closed its connection") {
		t.Errorf("told %s", told)
	}
}

func TestAPumpOutlivesItsDaemon(t *testing.T) {
	r := start(t, nil)
	c := r.dialMCP("lines", "/mcp", "", nil)
	first := c.exec(`await fake.pid()`, nil)
	failed := make(chan error, 1)
	go func() {
		res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await fake.sleep({ms: 600000})`}})
		if err == nil && res.IsError { // the daemon could still say that it stops
			err = errors.New(textOf(res))
		}
		failed <- err
	}()
	eventually(t, "the call is under way", func() bool { s, err := r.client("").Status(context.Background()); return err == nil && s.Runs == 1 })
	if _, err := r.client("").Stop(context.Background(), proto.StopRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	r.gone()
	if err := <-failed; err == nil {
		t.Error("what was in flight succeeded")
	}
	if _, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "status"}); err == nil || !strings.Contains(err.Error(), "DaemonUnavailable") {
		t.Errorf("without a daemon: %v", err)
	}
	r.again()
	second := ""
	eventually(t, "the new daemon answers", func() bool {
		res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await fake.pid()`}})
		if err != nil {
			return false
		}
		second = textOf(res)
		return true
	})
	if second == "" || second == first {
		t.Errorf("pid %q, then %q", first, second)
	}
}

func TestADrainingDaemonTakesNoNewClients(t *testing.T) {
	for _, way := range []string{"http", "lines"} {
		t.Run(way, func(t *testing.T) {
			r := start(t, nil)
			c := r.dialMCP(way, "/mcp", "", nil)
			done := make(chan string, 1)
			go func() {
				res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await fake.sleep({ms: 1000}); "finished"`}})
				if err != nil {
					done <- err.Error()
					return
				}
				done <- textOf(res)
			}()
			eventually(t, "the call is under way", func() bool { s, err := r.client("").Status(context.Background()); return err == nil && s.Runs == 1 })
			if _, err := r.client("").Stop(context.Background(), proto.StopRequest{}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.client("").MCP(context.Background(), mode("/mcp")); fault.KindOf(err) != fault.DaemonUnavailable {
				t.Errorf("a new client: %v", err)
			}
			if got := <-done; got != "finished" {
				t.Errorf("what ran: %q", got)
			}
			r.gone()
		})
	}
}

// The order of a form's fields is what its server wrote; a form that is sorted
// asks for the details before the name.
func TestAServersFormReachesTheClientWithItsFieldsInOrder(t *testing.T) {
	r := start(t, nil)
	id := r.post(t, context.Background(), "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`, nil).Header.Get("Mcp-Session-Id")
	ctx, hangUp := context.WithTimeout(context.Background(), 20*time.Second)
	defer hangUp()
	res := r.post(t, ctx, "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"call","arguments":{"server":"fake","tool":"elicit","arguments":{"text":"who?","schema":{"type":"object","properties":{"zulu":{"type":"string"},"alpha":{"type":"string"},"mike":{"type":"boolean"}}}}}}}`, map[string]string{"Mcp-Session-Id": id})
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if line := lines.Text(); strings.Contains(line, "elicitation/create") {
			if z, a, m := strings.Index(line, `"zulu"`), strings.Index(line, `"alpha"`), strings.Index(line, `"mike"`); z < 0 || a < z || m < a {
				t.Errorf("asked with %s", line)
			}
			if !strings.Contains(line, `"Server fake asks: who?"`) {
				t.Errorf("whose question it is: %s", line)
			}
			return
		}
	}
	t.Fatalf("the form did not come: %v", lines.Err())
}
