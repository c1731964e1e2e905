//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"time"
)

// tenon is a command that is not started yet.
func (g *stage) tenon(words ...string) *exec.Cmd {
	return exec.Command(filepath.Join(g.s.Work, "bin", "tenon"), words...)
}

// mcp is an MCP client of "tenon mcp".
type mcp struct {
	*command
	in    io.WriteCloser
	lines chan string
}

// mcp starts one and shakes hands.
func (g *stage) mcp() *mcp {
	g.Helper()
	m := &mcp{command: &command{g: g, ended: make(chan struct{})}, lines: make(chan string, 64)}
	m.cmd = g.tenon("mcp")
	var err error
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		g.Fatal(err)
	}
	out, w := io.Pipe()
	m.cmd.Stdout, m.cmd.Stderr = w, &m.err
	g.start(m.command)
	go func() {
		<-m.ended
		_ = w.Close()
	}()
	go func() {
		defer close(m.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			m.lines <- line
		}
	}()
	m.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"faults","version":"1"}}}`)
	m.hear("1")
	m.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func (m *mcp) say(line string) {
	m.g.Helper()
	if _, err := io.WriteString(m.in, line+"\n"); err != nil {
		m.g.Fatal(err)
	}
}

// hear gives the answer with the id; others are skipped.
func (m *mcp) hear(id string) string {
	m.g.Helper()
	late := time.After(unhurried)
	for {
		select {
		case line, ok := <-m.lines:
			if !ok {
				m.g.Fatalf("tenon mcp has ended: %s", m.err.String())
			}
			var h struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal([]byte(line), &h) == nil && string(h.ID) == id && h.Method == "" {
				return line
			}
		case <-late:
			m.g.Fatalf("no answer to %s within %s", id, unhurried)
		}
	}
}

// end ends the input, and waits for the end of tenon mcp.
func (m *mcp) end() {
	m.g.Helper()
	_ = m.in.Close()
	m.wait()
}
