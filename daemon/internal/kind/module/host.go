package module

import (
	"context"
	"fmt"
	"io"
	"strings"

	eng "tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// host is what a module reaches: nothing but standard error.
type host struct {
	s     *Source
	where *script.Map
}

func closed(what string) *fault.Error {
	return fault.New(fault.ToolFailure, "a module cannot use %s", what).
		WithHint("a module's functions are tools; a program calls them and others: tools.<namespace>.<tool>(args)")
}

// Call is refused: a module calls no tools.
func (h host) Call(context.Context, string, string, []byte, eng.CallOptions) (eng.CallValue, error) {
	return eng.CallValue{}, closed("other tools")
}

// Search is refused.
func (h host) Search(context.Context, []byte) ([]byte, error) { return nil, closed("search") }

// Describe is refused.
func (h host) Describe(context.Context, string) ([]byte, error) { return nil, closed("describe") }

// Resource is refused.
func (h host) Resource(context.Context, string, []byte) ([]byte, error) {
	return nil, closed("resources and prompts")
}

// RunScript is refused.
func (h host) RunScript(context.Context, string, []byte) ([]byte, error) {
	return nil, closed("saved scripts")
}

// Artifact is refused: what a module returns is its answer.
func (h host) Artifact(context.Context, eng.Artifact) ([]byte, error) {
	return nil, closed("artifacts")
}

// Fetch is refused; without an allow list there is no global that asks for it.
func (h host) Fetch(context.Context, eng.FetchRequest) (*eng.FetchResponse, error) {
	return nil, closed("the network")
}

// Emit drops what a module emits: a call has one result.
func (h host) Emit([]byte) {}

// Log writes what a module logs to standard error.
func (h host) Log(r eng.LogRecord) {
	text := strings.ReplaceAll(r.Message, "\n", " ")
	if len(r.Attrs) > 0 {
		text += " " + string(r.Attrs)
	}
	if at := h.place(r.Position); at != "" {
		text += " (" + at + ")"
	}
	_, _ = io.WriteString(h.s.o.Stderr, r.Level+": "+text+"\n") // nobody listens: nothing to do
}

// place is where in the module's files something happened, or empty.
func (h host) place(p *fault.Position) string {
	if p == nil || h.where == nil {
		return ""
	}
	file, pos, ok := h.where.Place(p.Line, p.Column)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", h.s.bundler.short(file), pos.Line, pos.Column)
}

// fault is a failure of the engine with its place in the module's files.
func (h host) fault(e *fault.Error) error {
	own := *e
	if at := h.place(e.Position); at != "" {
		own.Message += " (" + at + ")"
	}
	own.Position = nil
	own.Hint = strings.ReplaceAll(own.Hint, "script.", "a program's script.")
	if e.Kind == fault.CPULimitExceeded || e.Kind == fault.MemoryLimitExceeded || e.Kind == fault.ScriptError {
		own.Hint = "" // what it advises is meant for programs
	}
	return &own
}
