// Package embedded is the engine that needs nothing installed: QuickJS-NG inside
// the daemon's process, confined in a byte slice, a fresh realm for every run.
//
// A realm is linear memory and three numbers, copied from a snapshot that holds
// the prelude; one goroutine owns it while a run lasts. Host calls run in
// goroutines of their own and answer through one channel. TypeScript is compiled
// by package script in a helper process.
package embedded

//go:generate go run ./gen

import (
	"context"
	"log/slog"
	"runtime"
	"sync"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// Options of an Engine.
type Options struct {
	// HelperCommand starts the process that compiles: script.HelperMain.
	HelperCommand []string
	// Start starts it; default script.StartChild.
	Start script.Starter
	// Log hears of engine faults; default none.
	Log *slog.Logger
}

// Engine implements engine.Engine. Nothing is made before it is needed.
type Engine struct {
	log      *slog.Logger
	compiler *script.Compiler
	snapshot func() (*snapshot, error)
	spare    chan *realm // of the default size, memory zero
}

const engineName = "embedded"

var _ engine.Engine = (*Engine)(nil)

// New returns an Engine; it costs nothing yet.
func New(o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{
		log:      o.Log,
		compiler: script.NewCompiler(script.Options{Command: o.HelperCommand, Start: o.Start, Log: o.Log}),
		snapshot: sync.OnceValues(takeSnapshot),
		spare:    make(chan *realm, 2*runtime.GOMAXPROCS(0)),
	}, nil
}

// Name is embedded.
func (e *Engine) Name() string { return engineName }

// Warm does in the background what the first run would wait for: the snapshot
// (about 5 ms) and the compile helper (about 10 ms).
func (e *Engine) Warm() error {
	if _, err := e.snapshot(); err != nil {
		return err
	}
	return e.compiler.Warm()
}

// Close ends the compile helper and frees the spare realms.
func (e *Engine) Close() error {
	for {
		select {
		case r := <-e.spare:
			r.free()
		default:
			return e.compiler.Close()
		}
	}
}

// Compiler is what compiles; it ends with the engine.
func (e *Engine) Compiler() *script.Compiler { return e.compiler }

// Compile compiles source as Run will, which then finds it compiled.
func (e *Engine) Compile(ctx context.Context, source script.Source) (*script.Program, error) {
	return e.compiler.Compile(ctx, source, script.QuickJS)
}

// Run executes p; see engine.Engine.
func (e *Engine) Run(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
	p.Limits = withDefaults(p.Limits)
	if p.Name == "" {
		p.Name = "script.ts"
	}
	out := &engine.Outcome{}
	compiled, err := e.compiler.Compile(ctx, p.Compiled(), script.QuickJS)
	if err != nil {
		if ctx.Err() != nil {
			err = guest.Stopped(ctx)
		}
		out.Err = fault.From(err)
		return out
	}
	snap, err := e.snapshot()
	if err != nil {
		out.Err = fault.New(fault.EngineUnavailable, "the embedded engine does not start").Because(err)
		return out
	}
	realm, err := e.take(snap, p.Limits.Memory)
	if err != nil {
		out.Err = fault.New(fault.EngineUnavailable, "no memory for a run").Because(err)
		return out
	}
	r := newRun(ctx, realm, compiled, p, h, out)
	r.execute()
	if r.trapped != nil {
		e.log.Warn("trap in the embedded engine", "run", p.Session.RunID, "reason", r.trapped)
	}
	e.give(realm)
	return out
}

// take returns a fresh realm that may use memory bytes.
func (e *Engine) take(s *snapshot, memory int64) (r *realm, err error) {
	size := (int(memory) + fixedMemory + pageSize - 1) &^ (pageSize - 1)
	if size == defaultSize {
		select {
		case r = <-e.spare:
		default:
		}
	}
	if r == nil {
		if r, err = newRealm(size); err != nil {
			return nil, err
		}
	}
	r.reset(s)
	r.mod.Xqjs_set_memory_limit(int32(memory))
	return r, nil
}

// keepMemory is how much of a realm's memory is worth clearing for the next run.
const keepMemory = 4 << 20

// give keeps a small realm, its memory cleared so that nothing leaks into the
// next run.
func (e *Engine) give(r *realm) {
	r.host = nil
	if used := len(r.mem()); used <= keepMemory && len(r.memory) == defaultSize {
		clear(r.memory[:used])
		select {
		case e.spare <- r:
			return
		default:
		}
	}
	r.free()
}
