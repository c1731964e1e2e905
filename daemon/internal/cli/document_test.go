package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/local"
	"tenon/proto"
)

// Programs that do everything that a result and its frames tell of.
const (
	everything = `log.info("said", { n: 1 }); console.error("<heard>"); emit({ part: "é" });
await fake.sleep({ ms: 5, progress: 1 });
await artifact("a.txt", "body");
`
	everythingWell  = everything + `({ big: 9007199254740993n, text: "<&>", input })`
	everythingFails = everything + `await fake.fail({ text: "broken <" + input.n + ">" })`
)

// web speaks HTTP to the daemon's socket.
func (p *place) web() *http.Client {
	p.t.Helper()
	paths, err := local.Resolve(func(name string) string {
		for _, pair := range p.environ {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if err != nil {
		p.t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", paths.Socket)
	}}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// post runs a program over HTTP; the answer is in the form of accept.
func (p *place) post(web *http.Client, accept string, x proto.ExecRequest) string {
	p.t.Helper()
	body, err := json.Marshal(x)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://localhost/v1/exec", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(proto.HeaderDir, p.cwd)
	res, err := web.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d, %v, %s", accept, res.StatusCode, err, text)
	}
	return string(text)
}

// overMCP runs a program as a client of MCP does.
func (p *place) overMCP(web *http.Client, code string, input any) string {
	p.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(p.t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://localhost/mcp", HTTPClient: web}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(p.t.Context(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": code, "input": input}})
	if err != nil {
		p.t.Fatal(err)
	}
	// The SDK reads numbers as floats: so are those that it is compared with.
	text, err := json.Marshal(res.Meta["tenon/result"])
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// overBridge runs a program as a plugin of a host does.
func (p *place) overBridge(web *http.Client, code string, input json.RawMessage) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://localhost/v1/bridge", &websocket.DialOptions{HTTPClient: &http.Client{Transport: web.Transport}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	rules := &proto.RuleList{Version: "1", Agent: "build", Confirmed: true, Rules: []proto.Rule{{Permission: "*", Pattern: "*", Action: "allow"}}}
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": p.home}
	var last json.RawMessage
	for i, one := range []struct {
		method string
		params any
	}{
		{proto.MethodHello, proto.Hello{Protocol: proto.Protocol, Build: proto.Build{Version: "1"}, Plugin: "test", Host: "opencode-v1", PID: os.Getpid(), Directory: p.cwd, Env: env}},
		{proto.MethodAttach, proto.Attach{Session: "ses_1", Directory: p.cwd, Agent: "build", Rules: rules}},
		{proto.MethodRunStart, proto.RunStart{Origin: proto.Origin{Session: "ses_1"}, Directory: p.cwd, Code: code, Input: input, Rules: rules}},
	} {
		params, err := json.Marshal(one.params)
		if err != nil {
			p.t.Fatal(err)
		}
		id, _ := json.Marshal(i) // a number always marshals
		text, err := json.Marshal(proto.RPCMessage{JSONRPC: proto.RPCVersion, ID: id, Method: one.method, Params: params})
		if err == nil {
			err = ws.Write(ctx, websocket.MessageText, text)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		for { // until its answer; what the daemon asks has none here
			_, text, err := ws.Read(ctx)
			if err != nil {
				p.t.Fatalf("%s: %v", one.method, err)
			}
			var got proto.RPCMessage
			if err := json.Unmarshal(text, &got); err != nil {
				p.t.Fatal(err)
			}
			if got.Method != "" || string(got.ID) != string(id) {
				continue
			}
			if got.Error != nil {
				p.t.Fatalf("%s: %+v", one.method, got.Error)
			}
			last = got.Result
			break
		}
	}
	var done struct{ Result json.RawMessage }
	if err := json.Unmarshal(last, &done); err != nil {
		p.t.Fatal(err)
	}
	return string(done.Result)
}

// plain is a document without what differs between any two runs: names of things
// and times. Numbers are floats if loose, else as they were written.
func plain(t *testing.T, text string, loose bool) string {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	if !loose {
		d.UseNumber()
	}
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"session", "run", "time", "timing", "ms", "started", "ended", "cwd", "surface"} {
				if _, has := v[name]; has {
					v[name] = "…"
				}
			}
			if id, is := v["id"].(string); is && (strings.HasPrefix(id, "run_") || strings.HasPrefix(id, "art_")) {
				v["id"] = id[:4]
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// One run has one document, whoever asks for it.
func TestEverySurfaceGivesTheSameResult(t *testing.T) {
	p := newPlace(t, nil)
	for name, code := range map[string]string{"success": everythingWell, "failure": everythingFails} {
		t.Run(name, func(t *testing.T) {
			out := p.run("exec", "--json", "--input", `{"n":9007199254740993}`, "-e", code)
			want := plain(t, out.out, false)
			for _, part := range []string{"said", "heard", `"part"`, "a.txt", "sleep", "9007199254740993"} {
				if !strings.Contains(want, part) {
					t.Fatalf("%s is not in %s", part, want)
				}
			}
			web := p.web()
			input := json.RawMessage(`{"n":9007199254740993}`)
			if got := plain(t, p.post(web, "application/json", proto.ExecRequest{Code: code, Input: input}), false); got != want {
				t.Errorf("over HTTP %s\n, want %s", got, want)
			}
			if got := plain(t, p.overBridge(web, code, input), false); got != want {
				t.Errorf("over the bridge %s\n, want %s", got, want)
			}
			if got, want := plain(t, p.overMCP(web, code, input), true), plain(t, out.out, true); got != want {
				t.Errorf("over MCP %s\n, want %s", got, want)
			}
		})
	}
}

// What happens is told in its order, and the same by every stream.
func TestEveryStreamHasTheFramesInTheirOrder(t *testing.T) {
	p := newPlace(t, nil)
	for code, want := range map[string][]string{
		everythingWell:  {"start", "log", "log", "emit", "call", "progress", "call", "artifact", "result", "end"},
		everythingFails: {"start", "log", "log", "emit", "call", "progress", "call", "artifact", "call", "call", "error", "result", "end"},
	} {
		input := json.RawMessage(`{"n":1}`)
		printed := frameTexts(t, p.run("exec", "--stream", "--input", string(input), "-e", code).out)
		web := p.web()
		lines := frameTexts(t, p.post(web, "application/x-ndjson", proto.ExecRequest{Code: code, Input: input}))
		var events []string
		var kind, id string
		for line := range strings.SplitSeq(p.post(web, "text/event-stream", proto.ExecRequest{Code: code, Input: input}), "\n") {
			if rest, is := strings.CutPrefix(line, "event: "); is {
				kind = rest
			} else if rest, is := strings.CutPrefix(line, "id: "); is {
				id = rest
			} else if rest, is := strings.CutPrefix(line, "data: "); is {
				var f struct {
					Type string      `json:"type"`
					Seq  json.Number `json:"seq"`
				}
				if err := json.Unmarshal([]byte(rest), &f); err != nil || f.Type != kind || f.Seq.String() != id {
					t.Errorf("event %s, id %s, %s: %v", kind, id, rest, err)
				}
				events = append(events, rest)
			}
		}
		for way, texts := range map[string][]string{"--stream": printed, "lines": lines, "events": events} {
			var kinds []string
			for i, text := range texts {
				var f proto.Frame
				if err := json.Unmarshal([]byte(text), &f); err != nil || f.Seq != int64(i) {
					t.Errorf("%s: frame %d is %s, %v", way, i, text, err)
				}
				if f.Type == "progress" && len(kinds) > 0 && kinds[len(kinds)-1] == "progress" {
					continue // as many as the server sends
				}
				kinds = append(kinds, f.Type)
			}
			if !slices.Equal(kinds, want) {
				t.Errorf("%s: %q, want %q", way, kinds, want)
			}
			if last := texts[len(texts)-2]; !strings.Contains(last, `"type":"result"`) || !strings.Contains(last, `"timing"`) {
				t.Errorf("%s: before the end stands %s", way, last)
			}
		}
	}
}

// frameTexts are the lines of a stream; empty ones are signs of life.
func frameTexts(t *testing.T, text string) (out []string) {
	t.Helper()
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if s.Text() != "" {
			out = append(out, s.Text())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
