// Package process is the engines that are programs of their own: deno, bun and
// node. It finds them, starts one for each run, confined by package sandbox and
// in a process group of its own, speaks with it over two inherited pipes, and
// ends it with everything below it.
//
// The pipes are the program's identity: nothing that it could read or say makes
// its calls another run's, and it holds no token of anybody's. They need no
// network and no path, so a runtime may be denied both.
//
// It is used by the daemon and by the command line, so it imports nothing that
// belongs to the daemon alone.
package process

import (
	"context"
	"io"
	"log/slog"
	"os"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
)

// The names of the engines, as a user writes them.
const (
	Deno = "deno"
	Bun  = "bun"
	Node = "node"
)

// Names lists the engines in the order in which they are shown.
func Names() []string { return []string{Deno, Bun, Node} }

// Options of an Engine. Name, Record, Executable and Dir are required, and
// Compiler unless every Job brings its program compiled.
type Options struct {
	Name string // Deno, Bun or Node
	// Record starts the processes.
	Record *proctree.Record
	// Compiler makes programs of sources; it may serve several engines and is not
	// closed by them.
	Compiler *script.Compiler
	// Executable is this program's own binary, for the helper that confines: its
	// main must call sandbox.HelperMain for sandbox.HelperCommand.
	Executable string
	// Dir is where each run gets a directory of its own, which ends with it. It
	// should be private and is made (0700) when it is missing.
	Dir string
	// Path is searched when the program's own environment has no PATH.
	Path string
	// Hidden are what no strict mode may reach: tickets, sockets, state.
	Hidden []string
	// Support is what the machine can enforce; nil: sandbox.Probe.
	Support *sandbox.Support
	// Processes is how many runs may have a process at a time; default 16. More
	// wait their turn.
	Processes int
	// Log hears of processes that end oddly; nil: discarded.
	Log *slog.Logger
}

// Engine implements engine.Engine for one runtime.
type Engine struct {
	o       Options
	support sandbox.Support
	slots   chan struct{}
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine; nothing is searched or started before it is needed.
func New(o Options) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Processes <= 0 {
		o.Processes = 16
	}
	e := &Engine{o: o, slots: make(chan struct{}, o.Processes)}
	if o.Support != nil {
		e.support = *o.Support
	} else {
		e.support = sandbox.Probe()
	}
	return e
}

// Name is the runtime's.
func (e *Engine) Name() string { return e.o.Name }

// Close does nothing: every run has released what it had.
func (e *Engine) Close() error { return nil }

// Compile compiles source as Run will, which then finds it compiled.
func (e *Engine) Compile(ctx context.Context, source script.Source) (*script.Program, error) {
	program, err := e.o.Compiler.Compile(ctx, source, script.Runtime)
	if err != nil {
		return nil, ownModules(err)
	}
	return program, nil
}

// Job is one run with what a caller beside the process may add.
type Job struct {
	Program engine.Program
	// Compiled is the program, for script.Runtime; nil: Program.Source is compiled.
	Compiled *script.Program
	// Stdin is the process's; nil: it is empty.
	Stdin *os.File
	// Stdout and Stderr hear at once what the process writes, beside what is
	// kept; may be nil.
	Stdout, Stderr io.Writer
}

// Run executes p; see engine.Engine. A mode that this machine cannot enforce and
// a runtime that is not installed are EngineUnavailable.
func (e *Engine) Run(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
	return e.RunJob(ctx, Job{Program: p}, h)
}

// RunJob executes a job as Run does.
func (e *Engine) RunJob(ctx context.Context, j Job, h engine.Host) *engine.Outcome {
	p := &j.Program
	p.Limits = guest.WithDefaults(p.Limits)
	if p.Name == "" {
		p.Name = "script.ts"
	}
	out := &engine.Outcome{}
	fail := func(err error) *engine.Outcome {
		if ctx.Err() != nil {
			err = guest.Stopped(ctx)
		}
		out.Err = fault.From(err)
		return out
	}
	mode, err := e.mode(p.Sandbox)
	if err != nil {
		return fail(err)
	}
	rt, err := e.find(ctx, *p)
	if err != nil {
		return fail(err)
	}
	if j.Compiled == nil {
		if j.Compiled, err = e.Compile(ctx, p.Compiled()); err != nil {
			return fail(err)
		}
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return fail(ctx.Err())
	}
	at, err := newPlace(e.o.Dir)
	if err != nil {
		return fail(fault.New(fault.EngineUnavailable, "no directory for the run: %w", err))
	}
	defer at.remove()
	r := newRun(ctx, e, j, h, out)
	r.execute(rt, at, mode)
	return out
}

// mode is the sandbox mode of a run, if it can be held here.
func (e *Engine) mode(text string) (sandbox.Mode, error) {
	if text == "" {
		text = string(sandbox.WorkspaceWrite)
	}
	mode, err := sandbox.ParseMode(text)
	if err != nil {
		return "", fault.New(fault.UsageError, "%w", err)
	}
	if err := e.support.Holds(mode); err != nil {
		e := fault.New(fault.EngineUnavailable, "%s cannot run in %s here: %w", e.o.Name, mode, err)
		if mode == sandbox.Confined {
			return "", e.WithHint("leave --engine away, or allow a wider mode: --sandbox %s, permissions.sandbox", sandbox.WorkspaceWrite)
		}
		return "", e.WithHint("leave --engine away: embedded is always confined; or choose --sandbox full, which confines nothing")
	}
	return mode, nil
}

func (e *Engine) find(ctx context.Context, p engine.Program) (Runtime, error) {
	path := p.Env["PATH"]
	if path == "" {
		path = e.o.Path
	}
	return FindFor(ctx, e.o.Name, path, p.Runtime, Guard{Workspace: workspace(p), Executable: e.o.Executable})
}

// ownModules adds to a refused import what a process can do instead.
func ownModules(err error) error {
	f := fault.From(err)
	if f.Kind == fault.ParseError && f.Hint == script.ImportHint {
		own := *f
		return own.WithHint(`the runtime's own modules: const fs = await import("node:fs"); a tool is called: tools.<namespace>.<tool>(args)`)
	}
	return f
}
