// Package module serves the exported functions of a TypeScript or JavaScript
// file as tools: names, descriptions and schemas from the source, calls on the
// embedded engine (a fresh realm each) or in one process of deno, bun or node.
package module

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/kind/module/signature"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/kind/watch"
)

// Options of a Source.
type Options struct {
	Spec       *config.KindSpec
	Executable string   // our own, for the helpers that compile and confine
	Compile    string   // its hidden command that compiles
	Environ    []string // KEY=value, for processes in the sandbox mode full
	Stderr     io.Writer
	LoadTime   time.Duration // for the top level of a module; 0: DefaultLoadTime
}

// DefaultLoadTime is less than a server has for its start, so that it is the
// module that is told.
const DefaultLoadTime = 30 * time.Second

// Source serves one module. It is a stdio.Source.
type Source struct {
	o       Options
	bundler bundler
	log     *slog.Logger
	engine  engine
	changed chan struct{}
	watch   *watch.Watcher

	load    sync.Mutex // one reading at a time
	mu      sync.Mutex // guards what follows
	current *loaded    // the last good one; nil: none was
	problem error      // why the files as they are now are not it
	files   map[string]string
}

// loaded is one good state of the module.
type loaded struct {
	runner runner
	names  []string
	tools  map[string]signature.Function
	uses   sync.WaitGroup // calls in flight
}

// engine makes runners.
type engine interface {
	// start makes a bundle ready to be called.
	start(ctx context.Context, b *bundle) (runner, error)
	close()
}

// runner calls the functions of one bundle.
type runner interface {
	names(ctx context.Context) ([]string, error)
	call(ctx context.Context, j job) (json.RawMessage, error)
	close()
}

// job is a call as the inside reads it.
type job struct {
	ID         int64                 `json:"id,omitempty"`
	List       bool                  `json:"list,omitempty"`
	Stop       bool                  `json:"stop,omitempty"`
	Ping       bool                  `json:"ping,omitempty"`
	Tool       string                `json:"tool,omitempty"`
	Input      json.RawMessage       `json:"input,omitempty"`
	Parameters []signature.Parameter `json:"parameters"` // null: the input is the one argument

	heard chan struct{} // of a ping
}

// New makes a Source; nothing is read yet. Close pairs with it.
func New(o Options) (*Source, error) {
	if o.LoadTime <= 0 {
		o.LoadTime = DefaultLoadTime
	}
	s := &Source{o: o, bundler: bundler{o.Spec}, changed: make(chan struct{}, 1)}
	s.log = slog.New(slog.DiscardHandler)
	var err error
	if s.bundler.embedded() {
		s.engine, err = newRealms(s)
	} else {
		s.engine, err = newWorkers(s)
	}
	if err != nil {
		return nil, err
	}
	s.watch = watch.New(s.touched)
	return s, nil
}

// Close ends whatever runs.
func (s *Source) Close() {
	s.watch.Close()
	s.load.Lock()
	defer s.load.Unlock()
	s.mu.Lock()
	current := s.current
	s.current = nil
	s.mu.Unlock()
	if current != nil {
		current.runner.close()
	}
	s.engine.close()
}

// Changed tells that the module was read anew.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// touched is called when something in the module's directories changed.
func (s *Source) touched() { s.refresh(context.Background()) }

// fresh reports whether every file is as it was when it was read last.
func (s *Source) fresh() bool {
	s.mu.Lock()
	files := s.files
	s.mu.Unlock()
	if files == nil {
		return false
	}
	for file, was := range files {
		if now, _ := digest(file); now != was {
			return false
		}
	}
	return true
}

// refresh reads the module if it changed, and says so. The last good one stays
// in use while the new one is not good.
func (s *Source) refresh(ctx context.Context) {
	s.load.Lock()
	defer s.load.Unlock()
	if s.fresh() {
		return
	}
	next, files, err := s.read(ctx)
	if err != nil && ctx.Err() != nil {
		return // whoever asked is gone; the next one reads it
	}
	s.watch.Follow(slices.Collect(maps.Keys(files)))
	s.mu.Lock()
	old, first := s.current, s.files == nil
	s.files, s.problem = files, err
	if err == nil {
		s.current = next
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		s.say(config.KindProblem + stdio.Say(err))
	case !first:
		s.say(config.KindReloaded)
	}
	if !first {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	if err == nil && old != nil {
		go func() { // calls that go on end on the code that they began on
			old.uses.Wait()
			old.runner.close()
		}()
	}
}

// say writes a line for whoever looks at the server.
func (s *Source) say(line string) {
	fmt.Fprintln(s.o.Stderr, strings.ReplaceAll(line, "\n", " "))
}

func (s *Source) read(ctx context.Context) (*loaded, map[string]string, error) {
	b, files, err := s.bundler.build()
	if err != nil {
		return nil, files, err
	}
	// Whoever calls meanwhile waits, and a change that mends it is read only then.
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.LoadTime,
		fault.New(fault.TimeoutExceeded, "the module's top level does not end within %s", s.o.LoadTime).WithHint("what takes long belongs into a function"))
	defer cancel()
	r, err := s.engine.start(ctx, b)
	if err != nil {
		return nil, files, err
	}
	names, err := r.names(ctx)
	if err != nil {
		r.close()
		return nil, files, err
	}
	// The source is the one that was bundled. A file that an editor has emptied and
	// not yet written is a module without functions.
	sum, source := digest(s.o.Spec.Module.File)
	next := &loaded{runner: r, names: signature.Names(string(source), names)}
	switch {
	case sum != files[s.o.Spec.Module.File]:
		err = fault.New(fault.ConfigError, "%s changed while it was read", s.bundler.short(s.o.Spec.Module.File))
	case len(next.names) == 0:
		err = fault.New(fault.ConfigError, "%s exports no function", s.bundler.short(s.o.Spec.Module.File)).
			WithHint("export function name(…) makes a tool")
	}
	if err != nil {
		r.close()
		return nil, files, err
	}
	next.tools = signature.Read(s.o.Spec.Module.File, string(source), names, func(from, module string) (string, string, bool) {
		if !local(module) {
			return "", "", false
		}
		for _, file := range config.ImportCandidates(filepath.Join(filepath.Dir(from), module)) {
			if sum, doc := digest(file); sum != "" && (s.o.Spec.Pins == nil || s.o.Spec.Pins[file] == sum) {
				return file, string(doc), true
			}
		}
		return "", "", false
	})
	return next, files, nil
}

// Tools lists the functions of the last good module. While there was none, the
// error is what is wrong with it.
func (s *Source) Tools(ctx context.Context) ([]stdio.Tool, error) {
	s.refresh(ctx)
	s.mu.Lock()
	current, problem := s.current, s.problem
	s.mu.Unlock()
	if current == nil {
		if problem == nil {
			problem = context.Cause(ctx)
		}
		return nil, problem
	}
	out := make([]stdio.Tool, len(current.names))
	for i, name := range current.names {
		f := current.tools[name]
		out[i] = stdio.Tool{Name: name, Description: f.Description, Input: f.Input, Output: f.Output, Annotations: annotations(f)}
	}
	return out, nil
}

func annotations(f signature.Function) *mcp.ToolAnnotations {
	if !f.ReadOnly && !f.Destructive && !f.Idempotent {
		return nil
	}
	a := &mcp.ToolAnnotations{ReadOnlyHint: f.ReadOnly, IdempotentHint: f.Idempotent}
	if f.Destructive {
		a.DestructiveHint = &f.Destructive
	}
	return a
}

// Call calls one function. What it throws is a result with isError.
func (s *Source) Call(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	s.refresh(ctx)
	s.mu.Lock()
	current, problem := s.current, s.problem
	if current != nil {
		current.uses.Add(1)
	}
	s.mu.Unlock()
	if current == nil {
		return stdio.Failed("the module cannot be used: %s", stdio.Say(problem)), nil
	}
	defer current.uses.Done()
	f, ok := current.tools[tool]
	if !ok {
		return stdio.Failed("the module exports no function %q%s", tool, old(problem)), nil
	}
	j := job{Tool: tool, Input: arguments, Parameters: f.Parameters}
	if !f.Whole && j.Parameters == nil {
		j.Parameters = []signature.Parameter{}
	}
	value, err := current.runner.call(ctx, j)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return stdio.Failed("%s%s", stdio.Say(err), old(problem)), nil
	}
	return stdio.Value(value), nil
}

// old says that it was not the file's present content that failed.
func old(problem error) string {
	if problem == nil {
		return ""
	}
	return "\n(this is the code before its last change, which cannot be used: " + stdio.Say(problem) + ")"
}
