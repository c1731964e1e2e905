package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const listenToken = "0123456789abcdef"

// port is one that was free a moment ago.
func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask sends a request to the daemon's socket as curl would.
func (r *running) ask(method, path, body string) (int, []byte) {
	r.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", r.paths.Socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, raw
}

// TestAnswersAreThoseOfTheOpenAPIDocument asks a daemon that has worked and holds
// what it answers against the schemas of its own document.
func TestAnswersAreThoseOfTheOpenAPIDocument(t *testing.T) {
	r := start(t, nil)
	if res := r.exec("", `await tools.fake.echo({text: "a"})`); res.Error != nil {
		t.Fatal(res.Error)
	}
	_, raw := r.ask("GET", "/v1/openapi.json", "")
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("document.json", document); err != nil {
		t.Fatal(err)
	}
	dir := "?dir=" + url.QueryEscape(r.paths.Home)
	for _, c := range []struct{ method, route, path, body, status string }{
		{"GET", "/v1/health", "", "", "200"},
		{"GET", "/v1/status", "", "", "200"},
		{"GET", "/v1/caller", "", "", "200"},
		{"GET", "/v1/presets", "", "", "200"},
		{"GET", "/v1/servers", "", "", "200"},
		{"GET", "/v1/servers/{name}", "/v1/servers/fake", "", "200"},
		{"GET", "/v1/search", "", "", "200"},
		{"GET", "/v1/catalog", "", "", "200"},
		{"GET", "/v1/types", "", "", "200"},
		{"GET", "/v1/resources", "", "", "200"},
		{"GET", "/v1/prompts", "", "", "200"},
		{"GET", "/v1/scripts", "", "", "200"},
		{"GET", "/v1/sessions", "", "", "200"},
		{"GET", "/v1/leases", "", "", "200"},
		{"GET", "/v1/runs", "", "", "200"},
		{"GET", "/v1/runs/stats", "", "", "200"},
		{"GET", "/v1/approvals", "", "", "200"},
		{"POST", "/v1/call", "", `{"server": "fake", "tool": "echo", "arguments": {"text": "b"}}`, "200"},
		{"POST", "/v1/exec", "", `{"code": "console.warn(1); [1, 2]"}`, "200"},
		{"POST", "/v1/exec", "", `{"code": "throw new Error('no')"}`, "200"},
		{"GET", "/v1/runs/{id}", "/v1/runs/none", "", "default"},
		{"POST", "/v1/call", "", `{"server": "none", "tool": "echo"}`, "default"},
	} {
		path := c.path
		if path == "" {
			path = c.route
		}
		status, answer := r.ask(c.method, path+dir, c.body)
		if (status == http.StatusOK) != (c.status == "200") {
			t.Errorf("%s %s: status %d: %s", c.method, path, status, answer)
			continue
		}
		escape := strings.NewReplacer("~", "~0", "/", "~1")
		pointer := "#/paths/" + escape.Replace(c.route) + "/" + strings.ToLower(c.method) + "/responses/200/content/application~1json/schema"
		if c.status == "default" {
			pointer = "#/components/responses/Failure/content/application~1problem+json/schema"
		}
		schema, err := compiler.Compile("document.json" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
		if err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s %s: %v\n%s", c.method, path, err, answer)
		}
	}
}

// TestTheDaemonIsAServerOfItself: the document loads as a server of kind openapi,
// whose tools reach the daemon.
func TestTheDaemonIsAServerOfItself(t *testing.T) {
	address := port(t)
	r := start(t, map[string]any{
		"listen": map[string]any{"address": address, "token": listenToken},
		"servers": map[string]any{"self": map[string]any{
			"kind": "openapi", "document": "http://" + address + "/v1/openapi.json", "baseUrl": "http://" + address,
			"auth": map[string]any{"bearer": listenToken},
		}},
	})
	res := r.exec("", fmt.Sprintf(`const dir = %q;
		const health = await tools.self.getHealth({});
		const servers = await tools.self.getServers({dir});
		const ran = await tools.self.postCall({dir, body: {server: "none", tool: "x"}}).catch(e => e.message);
		({pid: health.pid, servers, ran})`, r.paths.Home))
	if res.Error != nil {
		t.Fatal(res.Error.Message, res.Error.Hint)
	}
	var got struct {
		PID     int
		Servers []struct{ Name string }
		Ran     string
	}
	if err := json.Unmarshal(res.Value, &got); err != nil {
		t.Fatal(err)
	}
	if got.PID == 0 || len(got.Servers) != 1 || got.Servers[0].Name != "self" || !strings.Contains(got.Ran, "none") {
		t.Errorf("got %s", res.Value)
	}
	servers, err := r.client("").Server(context.Background(), "self")
	if err != nil {
		t.Fatal(err)
	}
	if len(servers.Tools) < 35 || len(servers.Warnings) > 0 {
		t.Errorf("%d tools, warnings %q", len(servers.Tools), servers.Warnings)
	}
}
