package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// command runs a command line of the scene, bounded.
func (w *world) command(c rig.Command) (rig.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Hung)
	defer cancel()
	return w.s.Run(ctx, c)
}

// shell is a user at a command line, with a session of a name.
func (w *world) shell(ctx context.Context) error {
	at, name := w.place(), fmt.Sprintf("named-%d", w.ids.Add(1))
	for range 3 {
		w.pause(ctx)
		token := w.token()
		o, ok, err := w.try("tenon call", nil, func() (rig.Outcome, error) {
			return w.command(rig.Command{Argv: []string{"tenon", "call", "all", "echo", "text=" + token}, Dir: at.dir})
		})
		if err != nil {
			return err
		}
		if ok {
			if got := strings.TrimSpace(string(o.Stdout)); got != token {
				return fmt.Errorf("tenon call printed %q, want %q", got, token)
			}
			w.book.answered(token)
		}
		code := fmt.Sprintf(`await tools.own.set({v: "state-of-%s"}); await tools.own.get()`, name)
		o, ok, err = w.try("tenon exec", queued, func() (rig.Outcome, error) {
			return w.command(rig.Command{Argv: []string{"tenon", "exec", "--session", name, "--json", "-e", code}, Dir: at.dir})
		})
		if err != nil {
			return err
		}
		if ok {
			var r proto.RunResult
			if err := json.Unmarshal(o.Stdout, &r); err != nil {
				return fmt.Errorf("tenon exec --json: %w: %s", err, rig.Tail(o.Stdout, 300))
			}
			w.book.given(r)
			if !strings.Contains(string(r.Value), "state-of-"+name) {
				return fmt.Errorf("run %s of session %s got %s", r.ID, name, r.Value)
			}
		}
	}
	return nil
}

// mcpClient is a client of "tenon mcp": it connects, calls and goes.
func (w *world) mcpClient(ctx context.Context) error {
	cmd := exec.Command(filepath.Join(w.s.Work, "bin", "tenon"), "mcp")
	cmd.Env, cmd.Dir = w.s.Environ(), w.place().dir
	client := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil)
	kills := w.kills.mark()
	conn, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 20 * time.Second}, nil)
	if err != nil {
		if w.kills.excuses(kills) {
			return nil
		}
		return fmt.Errorf("tenon mcp: %w", err)
	}
	defer conn.Close()
	for range 10 {
		w.pause(ctx)
		if ctx.Err() != nil {
			break
		}
		token := w.token()
		text, ok, err := w.callMCP(conn, "exec", map[string]any{"code": fmt.Sprintf(`await tools.all.echo({text: %q})`, token)})
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if strings.TrimSpace(text) != token {
			return fmt.Errorf("tenon mcp: exec gave %q, want %q", text, token)
		}
		w.book.answered(token)
	}
	return nil
}

// callMCP calls a tool; ok is false where a killed daemon is the reason.
func (w *world) callMCP(conn *mcp.ClientSession, tool string, arguments map[string]any) (text string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	kills, start := w.kills.mark(), time.Now()
	result, err := conn.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err == nil {
		for _, c := range result.Content {
			if t, is := c.(*mcp.TextContent); is {
				text += t.Text
			}
		}
	}
	switch failed := err != nil || result.IsError; {
	case failed && w.kills.excuses(kills):
		w.book.count("MCP " + tool + ", the daemon was killed")
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("tenon mcp: %s: %w", tool, err)
	case failed:
		return "", false, fmt.Errorf("tenon mcp: %s: %s", tool, text)
	}
	w.book.timed("MCP "+tool, time.Since(start))
	return text, true, nil
}
