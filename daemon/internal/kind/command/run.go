package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
)

// Limits of a command (docs/commands.md prints them).
const (
	maxOutput  = 8 << 20                // bytes of standard output; then the command is ended
	keptStderr = 8 << 10                // the last bytes of standard error
	lastWords  = 300 * time.Millisecond // for output that a child of an ended command holds open
	politeTime = time.Second            // between TERM and KILL when a call is given up
)

// outcome is how a command ended.
type outcome struct {
	stdout, stderr []byte
	cut            bool // there was more output than is read
	code           int  // -1: it was ended by a signal
	state          string
}

// run runs a command. When ctx ends, the command is ended with all below it.
func (s *Source) run(ctx context.Context, argv []string, input *string, dir string) (*outcome, error) {
	env := s.o.Environ
	if s.mode.Strict() {
		tmp := s.tmp()
		profile := sandbox.Profile{Mode: s.mode, Workspace: s.o.Spec.Workspace, Read: []string{argv[0]}, Write: []string{tmp}, Hidden: s.o.Spec.Hidden}
		var err error
		if argv, err = sandbox.Command(s.o.Executable, profile, argv); err != nil {
			return nil, fault.New(fault.EngineUnavailable, "the command cannot run in %s here: %w", s.mode, err).
				WithHint("set cwd to a directory that holds none of tenon's own, or sandbox to full, which confines nothing")
		}
		for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
			env = append(slices.Clone(env), name+"="+tmp)
		}
		if s.o.Spec.Workspace == "" {
			dir = tmp
		}
	}
	o := proctree.Options{Command: argv, Env: env, Dir: dir, Label: "command " + filepath.Base(argv[0])}
	if input == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return nil, fault.New(fault.EngineUnavailable, "no standard input: %w", err)
		}
		defer null.Close()
		o.Stdin = null
	}
	p, err := s.place.Record.Start(o)
	if err != nil {
		return nil, fault.New(fault.ToolFailure, "%s does not start: %w", filepath.Base(argv[0]), err)
	}
	out := &outcome{}
	full := make(chan struct{})
	var streams sync.WaitGroup
	streams.Go(func() {
		if out.stdout, out.cut = readCapped(p.Stdout); out.cut {
			close(full)
			_, _ = io.Copy(io.Discard, p.Stdout) // until it is ended
		}
	})
	streams.Go(func() { out.stderr = readTail(p.Stderr) })
	if input != nil {
		streams.Go(func() {
			_, _ = io.WriteString(p.Stdin, *input) // a command that does not read it is free to
			_ = p.Stdin.Close()
		})
	}
	steps := proctree.Steps{Stdin: time.Nanosecond, Term: politeTime}
	select {
	case <-p.Done():
	case <-ctx.Done():
	case <-full:
		steps.Term = time.Nanosecond
	}
	out.code, out.state = p.ExitCode(), p.ExitState()
	ended := reaped(p)
	// Whatever the command left running ends with its call; before that, what it
	// has written is read.
	limit := func() {
		deadline := time.Now().Add(lastWords)
		for _, stream := range []io.Reader{p.Stdout, p.Stderr} {
			_ = stream.(*os.File).SetReadDeadline(deadline) // a pipe has one
		}
	}
	if ended {
		limit()
		streams.Wait()
	}
	err = p.Stop(context.Background(), steps)
	limit()
	streams.Wait()
	_ = p.Stdout.Close()
	_ = p.Stderr.Close()
	if err != nil {
		return nil, fault.New(fault.InternalError, "%w", err)
	}
	return out, nil
}

func reaped(p *proctree.Proc) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func readCapped(r io.Reader) (text []byte, cut bool) {
	text, _ = io.ReadAll(io.LimitReader(r, maxOutput+1)) // ends with the pipe, or its deadline
	if len(text) > maxOutput {
		return text[:maxOutput], true
	}
	return text, false
}

// readTail keeps the last bytes of a stream.
func readTail(r io.Reader) []byte {
	var kept []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		if kept = append(kept, buf[:n]...); len(kept) > 2*keptStderr {
			kept = slices.Clone(kept[len(kept)-keptStderr:])
		}
		if err != nil {
			return kept[max(0, len(kept)-keptStderr):]
		}
	}
}

// result is what a command's end means for the tool.
func (t *tool) result(o *outcome) *mcp.CallToolResult {
	clean := func(b []byte) string { return strings.ToValidUTF8(string(b), "\ufffd") }
	if !o.cut && !slices.Contains(t.ExitCodes, o.code) {
		words := strings.TrimSpace(clean(o.stderr))
		if words == "" {
			words = strings.TrimSpace(clean(o.stdout[max(0, len(o.stdout)-keptStderr):]))
		}
		return stdio.Failed("%s", strings.TrimSpace(o.state+"\n"+words))
	}
	text := clean(o.stdout)
	switch t.Output {
	case "json", "jsonl":
		if o.cut {
			return stdio.Failed("it printed more than %d MiB, which is no JSON any more", maxOutput>>20)
		}
		if t.Output == "jsonl" {
			return jsonLines(text)
		}
		if trimmed := strings.TrimSpace(text); json.Valid([]byte(trimmed)) {
			return stdio.Value(json.RawMessage(trimmed))
		}
		return stdio.Failed("it printed no JSON: %s", clip(strings.TrimSpace(text)))
	case "lines":
		text = strings.TrimSuffix(text, "\n")
		lines := strings.Split(text, "\n")
		if text == "" {
			lines = []string{}
		}
		for i := range lines {
			lines[i] = strings.TrimSuffix(lines[i], "\r")
		}
		value, err := json.Marshal(lines)
		if err != nil {
			return stdio.Failed("%v", err)
		}
		return marked(stdio.Value(value), o.cut)
	}
	value, err := json.Marshal(strings.TrimSuffix(text, "\n"))
	if err != nil {
		return stdio.Failed("%v", err)
	}
	return marked(stdio.Value(value), o.cut)
}

// marked says of a result that there was more.
func marked(r *mcp.CallToolResult, cut bool) *mcp.CallToolResult {
	if cut {
		r.Content = append(r.Content, &mcp.TextContent{Text: fmt.Sprintf("[there was more: output is read up to %d MiB, then the command is ended]", maxOutput>>20)})
	}
	return r
}

func jsonLines(text string) *mcp.CallToolResult {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !json.Valid([]byte(line)) {
			return stdio.Failed("line %d is no JSON: %s", i+1, clip(line))
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(line)
	}
	out.WriteByte(']')
	return stdio.Value(out.Bytes())
}

func clip(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
