// Package command serves command lines that the configuration describes as
// tools. Arguments become words of the command line, never text that a shell
// reads.
package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/sandbox"
)

// Options of a Source.
type Options struct {
	Spec       *config.KindSpec
	Executable string   // our own, for the helper that confines
	Environ    []string // KEY=value: what commands get
	Dir        string   // where commands run that say nothing else; absolute
}

// Source serves the tools of one entry. It is a stdio.Source.
type Source struct {
	o      Options
	mode   sandbox.Mode
	place  *stdio.Place
	tools  map[string]*tool
	listed []stdio.Tool
}

// tool is one command line, read.
type tool struct {
	config.CommandTool
	words []word // without the program
	input word   // standard input
	// operands is the index of the first word behind a "--": from there on
	// nothing is an option.
	operands int
}

// outputs are the schemas of what the forms of output give.
var outputs = map[string]string{
	"text":  `{"type":"string"}`,
	"lines": `{"type":"array","items":{"type":"string"}}`,
	"jsonl": `{"type":"array"}`,
}

// New makes a Source; nothing is started. Close pairs with it.
func New(o Options) (*Source, error) {
	s := &Source{o: o, tools: map[string]*tool{}}
	var err error
	if s.mode, err = sandbox.ParseMode(o.Spec.Sandbox); err != nil {
		return nil, fault.New(fault.ConfigError, "%w", err)
	}
	if err := sandbox.Probe().Holds(s.mode); err != nil {
		return nil, fault.New(fault.EngineUnavailable, "commands cannot run in %s here: %w", s.mode, err).
			WithHint("sandbox full confines nothing")
	}
	for _, t := range o.Spec.Command.Tools {
		one, err := read(t)
		if err != nil {
			return nil, fault.New(fault.ConfigError, "tools.%s: %w", t.Name, err)
		}
		s.tools[t.Name] = one
		listed := stdio.Tool{Name: t.Name, Description: t.Description, Input: t.Input}
		if schema := outputs[t.Output]; schema != "" {
			listed.Output = json.RawMessage(schema)
		}
		s.listed = append(s.listed, listed)
	}
	if s.place, err = stdio.NewPlace(o.Spec.Dir); err != nil {
		return nil, fault.New(fault.EngineUnavailable, "no directory for the commands: %w", err)
	}
	if err = os.Mkdir(s.tmp(), 0o700); err != nil {
		_ = s.place.Close() // the first error is the one to tell
		return nil, fault.New(fault.EngineUnavailable, "no directory for the commands: %w", err)
	}
	return s, nil
}

func read(t config.CommandTool) (*tool, error) {
	out := &tool{CommandTool: t, operands: len(t.Command)}
	for i, text := range t.Command[1:] {
		pieces, err := config.ParseWord(text)
		if err != nil {
			return nil, err
		}
		if text == "--" {
			out.operands = min(out.operands, i+1)
		}
		out.words = append(out.words, pieces)
	}
	var err error
	pieces, err := config.ParseWord(t.Stdin)
	out.input = pieces
	return out, err
}

// Close removes what the source has; commands have ended with their calls.
func (s *Source) Close() {
	_ = s.place.Close() // what is left is the next sweep's
}

// tmp is the temporary directory of confined commands.
func (s *Source) tmp() string { return filepath.Join(s.place.Dir, "tmp") }

// Changed is nil: an entry that changes is another server.
func (s *Source) Changed() <-chan struct{} { return nil }

// Tools lists the tools of the entry.
func (s *Source) Tools(context.Context) ([]stdio.Tool, error) { return s.listed, nil }

// Call runs one command to its end. An exit code that is none of the tool's is a
// result with isError.
func (s *Source) Call(ctx context.Context, name string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	t := s.tools[name]
	if t == nil {
		return stdio.Failed("there is no tool %q", name), nil
	}
	argv, input, err := t.line(arguments)
	if err != nil {
		return stdio.Failed("%v", err), nil
	}
	dir := t.Cwd
	if dir == "" {
		dir = s.o.Dir
	}
	path := ""
	for _, kv := range s.o.Environ {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	if argv[0], err = config.LookPath(argv[0], path, dir); err != nil {
		return stdio.Failed("%s", stdio.Say(err)), nil
	}
	r, err := s.run(ctx, argv, input, dir)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return stdio.Failed("%s", stdio.Say(err)), nil
	}
	return t.result(r), nil
}

// line is the command line and the standard input of a call.
func (t *tool) line(text json.RawMessage) (argv []string, input *string, err error) {
	args, err := readArguments(text, t.Input)
	if err != nil {
		return nil, nil, err
	}
	argv = []string{t.Command[0]}
	for i, w := range t.words {
		words, err := w.words(args, !t.Options && i < t.operands)
		if err != nil {
			return nil, nil, fmt.Errorf("%w%s", err, t.advice(err))
		}
		argv = append(argv, words...)
	}
	if t.Stdin == "" {
		return argv, nil, nil
	}
	lines, err := t.input.words(args, false)
	if err != nil {
		return nil, nil, err
	}
	all := strings.Join(lines, "\n")
	return argv, &all, nil
}

func (t *tool) advice(err error) string {
	if strings.Contains(err.Error(), "begins with -") {
		return `; the entry may put "--" before it in command, or allow it with "options": true`
	}
	return ""
}
