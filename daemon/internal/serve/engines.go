package serve

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/embedded"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// openEngines makes the engines that are processes; none starts anything yet.
func (d *daemon) openEngines(compiler *script.Compiler) map[string]engine.Engine {
	env := config.EnvFrom(d.o.Environ)
	dir := filepath.Join(d.o.Paths.Runtime, "programs")
	// Of a killed predecessor, whose processes are gone by now.
	_ = os.RemoveAll(dir)
	stdio.Sweep(context.Background(), filepath.Join(d.o.Paths.Runtime, config.KindDir), d.log)
	hidden := []string{d.o.Paths.Runtime, filepath.Dir(d.o.Paths.Socket), d.o.Paths.State, config.ConfigDir(env, d.o.Paths.Home)}
	out := map[string]engine.Engine{d.engine.Name(): d.engine}
	for _, name := range process.Names() {
		out[name] = process.New(process.Options{
			Name: name, Record: d.record, Compiler: compiler, Executable: d.o.Executable, Dir: dir,
			Path: env["PATH"], Hidden: hidden, Log: d.log,
		})
	}
	return out
}

// engines lists the ways to execute a program on this machine, as a caller with
// this view and these variables finds them.
func (d *daemon) engines(ctx context.Context, view *config.View, env config.Env) []proto.Engine {
	path := env["PATH"]
	if path == "" {
		path = config.EnvFrom(d.o.Environ)["PATH"]
	}
	names := process.Names()
	out := make([]proto.Engine, 1+len(names))
	out[0] = embedded.Info()
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() {
			binary, guard := "", process.Guard{Executable: d.o.Executable}
			if view != nil {
				binary, guard.Workspace = view.Script.Runtimes[name], view.Workspace
			}
			out[i+1] = process.Info(ctx, name, path, binary, guard)
		})
	}
	asked.Wait()
	return out
}

// sandboxes says which modes the engines that are processes can be held to here.
func (d *daemon) sandboxes() *proto.Sandbox {
	s := sandbox.Probe()
	out := &proto.Sandbox{Landlock: s.ABI, Reason: s.Reason, Gaps: s.Gaps}
	for _, m := range sandbox.Modes() {
		if s.Holds(m) == nil {
			out.Modes = append(out.Modes, string(m))
		}
	}
	return out
}
