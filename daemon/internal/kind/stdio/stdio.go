// Package stdio is what all kinds of servers share: an MCP server on standard
// input and output whose tools come from a Source.
package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
)

// Tool is one tool as it is listed.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       json.RawMessage // JSON Schema; its type must be object
	Output      json.RawMessage // JSON Schema; nil: none
	Annotations *mcp.ToolAnnotations
}

// Source is what a kind serves.
type Source interface {
	// Tools is the list as it is now. An error is shown where the list would be,
	// and the server goes on: the list may become good.
	Tools(ctx context.Context) ([]Tool, error)
	// Call makes one call; arguments is a JSON object. What the tool itself fails
	// with is a result with IsError; an error is a server that cannot call at all.
	// The context ends when the caller has given the call up.
	Call(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.CallToolResult, error)
	// Changed is received from when the list may have changed; nil: never.
	Changed() <-chan struct{}
}

// Options of a server.
type Options struct {
	Name    string // of the server in the configuration
	Version string
	In      io.ReadCloser
	Out     io.WriteCloser
}

// server holds the tools that the MCP server was given.
type server struct {
	source Source
	mcp    *mcp.Server

	mu      sync.Mutex // guards what follows
	names   map[string]bool
	problem error
}

// Serve serves until in ends or ctx does.
func Serve(ctx context.Context, o Options, source Source) error {
	s := &server{source: source, names: map[string]bool{}}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "tenon " + o.Name, Version: o.Version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: source.Changed() != nil}},
	})
	s.mcp.AddReceivingMiddleware(s.listOrProblem)
	s.load(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() {
		for {
			select {
			case _, ok := <-source.Changed():
				if !ok {
					return
				}
				s.load(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: o.In, Writer: o.Out, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// load gives the MCP server the source's tools; whoever listens is told.
func (s *server) load(ctx context.Context) {
	tools, err := s.source.Tools(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = err
	if err != nil && len(s.names) > 0 {
		return // the last good list stays
	}
	now := map[string]bool{}
	for _, t := range tools {
		now[t.Name] = true
	}
	var gone []string
	for name := range s.names {
		if !now[name] {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		s.mcp.RemoveTools(gone...)
	}
	s.names = now
	for _, t := range tools {
		tool := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: objectSchema(t.Input), Annotations: t.Annotations}
		if t.Output != nil {
			tool.OutputSchema = t.Output
		}
		s.mcp.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			arguments := r.Params.Arguments
			if len(arguments) == 0 || string(arguments) == "null" {
				arguments = json.RawMessage("{}")
			}
			return s.source.Call(ctx, t.Name, arguments)
		})
	}
}

// objectSchema is a schema that the MCP library takes: one that says object.
func objectSchema(schema json.RawMessage) any {
	var head struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &head) == nil && head.Type == "object" {
		return schema
	}
	return &jsonschema.Schema{Type: "object"}
}

// listOrProblem answers a list with the problem while nothing was ever good.
func (s *server) listOrProblem(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			s.mu.Lock()
			problem, none := s.problem, len(s.names) == 0
			s.mu.Unlock()
			if problem != nil && none {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: Say(problem)}
			}
		}
		return next(ctx, method, r)
	}
}

// Say is an error with its hint, as one text.
func Say(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	text := f.Message
	if f.Position != nil {
		text = fmt.Sprintf("%s (line %d, column %d)", text, f.Position.Line, f.Position.Column)
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// Failed is the result of a tool that failed, in words.
func Failed(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// Text is a result of one text.
func Text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Value is a result of one JSON value: as structured content, and as text for
// whoever reads no more than that. Nil is no value.
func Value(value json.RawMessage) *mcp.CallToolResult {
	if value == nil {
		return Text("")
	}
	text := string(value)
	var plain string
	if value[0] == '"' && json.Unmarshal(value, &plain) == nil {
		text = plain
	}
	r := Text(text)
	r.StructuredContent = value
	return r
}
