//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/client"
)

// mcpClient is one MCP client of the official SDK.
type mcpClient struct {
	*mcp.ClientSession
	t   testing.TB
	sdk *mcp.Client

	mu       sync.Mutex
	progress []*mcp.ProgressNotificationParams
	logs     []*mcp.LoggingMessageParams
	changes  []string
	asked    []*mcp.ElicitParams
}

// dialMCP connects over "http" or "lines". answer is what the client's user
// says to forms; nil: it shows none.
func (r *running) dialMCP(way, path string, root string, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcpClient {
	r.t.Helper()
	return r.dial(way, path, root, nil, answer)
}

// dialMCPAs connects to code mode over HTTP with headers.
func (r *running) dialMCPAs(headers map[string]string, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcpClient {
	r.t.Helper()
	return r.dial("http", "/mcp", "", headers, answer)
}

// mode is the pump's mode for a path.
func mode(path string) client.MCPMode {
	m := client.MCPMode{Flat: strings.Contains(path, "codemode=false")}
	if rest, ok := strings.CutPrefix(path, "/mcp/"); ok {
		m.Server = rest
	}
	return m
}

// withHeaders adds headers to each request.
type withHeaders struct {
	http.RoundTripper
	headers map[string]string
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	for k, v := range w.headers {
		r.Header.Set(k, v)
	}
	return w.RoundTripper.RoundTrip(r)
}

func (r *running) dial(way, path string, root string, headers map[string]string, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcpClient {
	r.t.Helper()
	c := &mcpClient{t: r.t}
	note := func(what string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changes = append(c.changes, what)
	}
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(_ context.Context, p *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, p.Params)
		},
		LoggingMessageHandler: func(_ context.Context, p *mcp.LoggingMessageRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.logs = append(c.logs, p.Params)
		},
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { note("tools") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { note("resources") },
		ResourceUpdatedHandler:     func(_ context.Context, p *mcp.ResourceUpdatedNotificationRequest) { note(p.Params.URI) },
	}
	if answer != nil {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		o.ElicitationHandler = func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.mu.Lock()
			c.asked = append(c.asked, q.Params)
			c.mu.Unlock()
			return answer(q.Params), nil
		}
	}
	if root != "" {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	if root != "" {
		sdk.AddRoots(&mcp.Root{URI: "file://" + root})
	}
	var transport mcp.Transport
	if way == "http" {
		web := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.paths.Socket)
		}}
		r.t.Cleanup(web.CloseIdleConnections)
		transport = &mcp.StreamableClientTransport{Endpoint: "http://localhost" + path, HTTPClient: &http.Client{Transport: withHeaders{web, headers}}}
	} else {
		toPump, fromClient := io.Pipe()
		toClient, fromPump := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- r.client("").PumpMCP(context.Background(), mode(path), toPump, fromPump)
			_ = fromPump.Close()
		}()
		transport = &mcp.IOTransport{Reader: toClient, Writer: fromClient}
		r.t.Cleanup(func() {
			_ = fromClient.Close()
			if err := <-ended; err != nil {
				r.t.Errorf("the pump: %v", err)
			}
		})
	}
	c.sdk = sdk
	session, err := sdk.Connect(context.Background(), transport, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c.ClientSession = session
	r.t.Cleanup(func() { _ = session.Close() })
	return c
}

// call calls a tool; extra are members of _meta.
func (c *mcpClient) call(name string, args any, extra mcp.Meta) *mcp.CallToolResult {
	c.t.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: args, Meta: extra}
	res, err := c.CallTool(context.Background(), p)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	return res
}

func (c *mcpClient) exec(code string, extra mcp.Meta) string {
	c.t.Helper()
	return textOf(c.call("exec", map[string]any{"code": code}, extra))
}

func textOf(res *mcp.CallToolResult) string {
	var out []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, "\n")
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
