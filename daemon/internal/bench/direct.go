package main

import (
	"context"
	"fmt"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// word is what every echo says.
const word = "hello"

type echoInput struct {
	Text string `json:"text"`
}

// sdkServer serves one tool, echo, with go-sdk on stdin and stdout.
func sdkServer(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "gives back text"},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// direct is a client written by hand on go-sdk.
type direct struct{ session *mcp.ClientSession }

func dialDirect(ctx context.Context, command []string, env []string) (*direct, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, fmt.Errorf("direct client: %w", err)
	}
	return &direct{session}, nil
}

func (d *direct) close() { _ = d.session.Close() }

func (d *direct) call(ctx context.Context) error {
	r, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": word}})
	if err != nil {
		return err
	}
	if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != word {
		return fmt.Errorf("direct client: unexpected result %v", r.Content)
	}
	return nil
}

// sequence makes n calls one after the other.
func (d *direct) sequence(ctx context.Context, n int) error {
	for range n {
		if err := d.call(ctx); err != nil {
			return err
		}
	}
	return nil
}

// parallel makes n calls at once.
func (d *direct) parallel(ctx context.Context, n int) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = d.call(ctx) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
