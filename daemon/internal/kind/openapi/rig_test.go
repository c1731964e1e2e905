package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/config"
)

// lines is a standard error that can be looked at while it is written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// rig is a document served against a server of the test's own.
type rig struct {
	*Source
	t      *testing.T
	server *httptest.Server
	stderr *lines
	file   string
}

// newRig serves a document from testdata; answer answers, and says by default
// what it was asked.
func newRig(t *testing.T, document string, answer http.HandlerFunc, change ...func(*config.KindSpec)) *rig {
	t.Helper()
	if answer == nil {
		answer = echo
	}
	r := &rig{t: t, server: httptest.NewServer(answer), stderr: &lines{}}
	t.Cleanup(r.server.Close)
	text, err := os.ReadFile(filepath.Join("testdata", document))
	if err != nil {
		t.Fatal(err)
	}
	r.file = filepath.Join(t.TempDir(), document)
	if err := os.WriteFile(r.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := &config.KindSpec{Kind: config.KindOpenAPI, Name: "api", OpenAPI: &config.OpenAPISpec{Document: r.file, BaseURL: r.server.URL + "/v2"}}
	for _, f := range change {
		f(spec)
	}
	r.Source = New(Options{Spec: spec, Stderr: r.stderr})
	t.Cleanup(r.Close)
	return r
}

// echo answers with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"request": r.Method + " " + r.RequestURI, "type": r.Header.Get("Content-Type"), "body": string(body),
		"tenant": r.Header.Get("X-Tenant"), "cookie": r.Header.Get("Cookie"), "auth": r.Header.Get("Authorization"), "key": r.Header.Get("X-Key"), "accept": r.Header.Get("Accept"),
	})
}

func (r *rig) call(tool, arguments string) *mcp.CallToolResult {
	r.t.Helper()
	out, err := r.Call(r.t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		r.t.Fatalf("%s: %v", tool, err)
	}
	return out
}

// says is a result as text, with "error: " before a failure's.
func says(r *mcp.CallToolResult) string {
	text := ""
	if len(r.Content) > 0 {
		if t, ok := r.Content[0].(*mcp.TextContent); ok {
			text = t.Text
		}
	}
	if r.IsError {
		return "error: " + text
	}
	return text
}

// asked is a member of what echo said.
func (r *rig) asked(tool, arguments, member string) string {
	r.t.Helper()
	text := says(r.call(tool, arguments))
	var out map[string]string
	if json.Unmarshal([]byte(text), &out) != nil {
		return text
	}
	return out[member]
}

func (r *rig) tools() map[string]json.RawMessage {
	r.t.Helper()
	list, err := r.Tools(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for _, tool := range list {
		out[tool.Name] = tool.Input
		out[tool.Name+" output"] = tool.Output
		a := tool.Annotations
		out[tool.Name+" hints"] = json.RawMessage(fmt.Sprint(a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint != nil && *a.DestructiveHint))
		out[tool.Name+" text"] = json.RawMessage(tool.Description)
	}
	return out
}
