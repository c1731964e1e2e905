package module

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	eng "tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/script"
)

// workers are processes of deno, bun or node, one for each state of the module:
// its top level runs once, and calls share what it keeps.
type workers struct {
	s        *Source
	place    *stdio.Place
	compiler *script.Compiler
	engine   *process.Engine
	env      map[string]string
}

// memory is what a module's process may use, in bytes.
const memory = 512 << 20

func newWorkers(s *Source) (engine, error) {
	w := &workers{s: s, env: map[string]string{}}
	var err error
	if w.place, err = stdio.NewPlace(s.o.Spec.Dir); err != nil {
		return nil, fault.New(fault.EngineUnavailable, "no directory for the module's process: %w", err)
	}
	for _, kv := range s.o.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok && !strings.HasPrefix(name, "TENON_") {
			w.env[name] = value
		}
	}
	w.compiler = script.NewCompiler(script.Options{Command: []string{s.o.Executable, s.o.Compile}, Log: s.log})
	w.engine = process.New(process.Options{
		Name: s.o.Spec.Module.Engine, Record: w.place.Record, Compiler: w.compiler, Executable: s.o.Executable,
		Dir: filepath.Join(w.place.Dir, "runs"), Path: w.env["PATH"], Hidden: s.o.Spec.Hidden, Log: s.log,
	})
	return w, nil
}

func (w *workers) close() {
	_ = w.compiler.Close() // ends a helper; nothing is lost
	_ = w.place.Close()    // every process has ended
}

// program is what the process executes.
func (w *workers) program(b *bundle) eng.Program {
	return eng.Program{
		Source: b.code, Name: "module", Sandbox: w.s.o.Spec.Sandbox, Cwd: w.s.o.Spec.Workspace, Workspace: w.s.o.Spec.Workspace,
		Runtime: w.s.o.Spec.Module.Runtime, Env: w.env,
		Limits: eng.Limits{CPU: -1, Memory: memory, Capture: 1 << 20, Logs: 100, Concurrency: 64},
	}
}

func (w *workers) start(ctx context.Context, b *bundle) (runner, error) {
	first, err := w.spawn(ctx, b)
	if err != nil {
		return nil, err
	}
	return &kept{workers: w, bundle: b, worker: first}, nil
}

// kept is a worker that is started anew when it is called after its end.
type kept struct {
	workers *workers
	bundle  *bundle

	mu     sync.Mutex // guards what follows
	worker *worker
	closed bool
}

func (k *kept) names(context.Context) ([]string, error) { return k.worker.functions, nil }

func (k *kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.worker.stop()
}

// alive is the worker, or a new one in the place of one that ended.
func (k *kept) alive(ctx context.Context) (*worker, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.worker.ended:
	default:
		return k.worker, nil
	}
	if k.closed {
		return nil, fault.New(fault.ServerUnavailable, "the module is being ended")
	}
	next, err := k.workers.spawn(ctx, k.bundle)
	if err != nil {
		return nil, err
	}
	k.worker = next
	return next, nil
}
