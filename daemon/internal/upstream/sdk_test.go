package upstream

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
)

// serveSDK serves an SDK server over HTTP and returns its base address.
func serveSDK(t *testing.T) string {
	t.Helper()
	get := func(*http.Request) *mcp.Server { return sdkServer() }
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/stateless", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return "http://" + ln.Addr().String()
}

func TestServersOfTheSDKAreUnderstood(t *testing.T) {
	base := serveSDK(t)
	local := stdioSpec(t)
	local.Command = sdkCommand(t)
	for name, s := range map[string]Spec{
		"stdio":      local,
		"streamable": {Kind: "http", URL: base + "/mcp"},
		"stateless":  {Kind: "http", URL: base + "/stateless"},
		"sse":        {Kind: "sse", URL: base + "/sse"},
	} {
		t.Run(name, func(t *testing.T) {
			s.Name, s.StartTimeout = "sdk", 30*time.Second
			c := dial(t, s)
			tools, err := c.Tools(context.Background())
			if err != nil || len(tools) != 1 || !strings.Contains(string(tools[0].InputSchema), `"text"`) {
				t.Errorf("tools %+v, %v", tools, err)
			}
			if got := text(t, c, Call{Tool: "echo", Arguments: args(`{"text":"hé"}`)}); got != "hé" {
				t.Errorf("echo gave %q", got)
			}
			_, err = c.Call(context.Background(), Call{Tool: "nothing"})
			wantKind(t, err, fault.UnknownTool)
			if err := c.Ping(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The newest protocol begins with server/discover and names the client in
// every request; it is used with servers that refuse initialize.
func TestNewestProtocolIsSpoken(t *testing.T) {
	local := stdioSpec(t)
	local.Command = sdkCommand(t)
	for name, s := range map[string]Spec{"stdio": local, "stateless": {Name: "sdk", Kind: "http", URL: serveSDK(t) + "/stateless"}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			c := newConn(s)
			defer func() {
				if err := c.Close(ctx); err != nil {
					t.Error(err)
				}
			}()
			if err := c.open(ctx, record(t)); err != nil {
				t.Fatal(err)
			}
			if err := c.shakeAs(ctx, discoverVersion); err != nil {
				t.Fatal(err)
			}
			if got := c.Info().Protocol; got != discoverVersion {
				t.Errorf("negotiated %s", got)
			}
			if tools, err := c.Tools(ctx); err != nil || len(tools) != 1 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			if got := text(t, c, Call{Tool: "echo", Arguments: args(`{"text":"new"}`)}); got != "new" {
				t.Errorf("echo gave %q", got)
			}
		})
	}
}
