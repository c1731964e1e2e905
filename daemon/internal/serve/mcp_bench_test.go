package serve

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/proto"
)

// What MCP adds to a program is the difference of these.
func BenchmarkExec(b *testing.B) {
	r := start(b, nil)
	c := r.client("bench")
	for b.Loop() {
		if _, err := c.Exec(context.Background(), proto.ExecRequest{Code: "1 + 1"}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMCPExec(b *testing.B) {
	for _, way := range ways {
		b.Run(way, func(b *testing.B) {
			r := start(b, nil)
			c := r.dialMCP(way, "/mcp", "", nil)
			for b.Loop() {
				if _, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "1 + 1"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
