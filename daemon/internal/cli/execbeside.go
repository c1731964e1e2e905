package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/typecheck"
	"tenon/proto"
)

// wheres are the words of --where.
var wheres = []string{"auto", "local", "remote"}

// sandboxModes are the words of --sandbox.
func sandboxModes() []string {
	var out []string
	for _, m := range sandbox.Modes() {
		out = append(out, string(m))
	}
	return out
}

// typechecks are the words of --typecheck.
var typechecks = []string{typecheck.Off, typecheck.Warn, typecheck.Strict}

// besideAtOnce reports whether a program is sure to be executed here, so that
// the daemon need not be asked first.
func besideAtOnce(req proto.ExecRequest) bool {
	return req.Where != "remote" && slices.Contains(process.Names(), req.Engine)
}

// beside has the daemon run a program whose process this command executes.
func (v *execView) beside(ctx context.Context, req proto.ExecRequest) (*proto.RunResult, error) {
	stdin, done, err := v.standardInput()
	if err != nil {
		return nil, err
	}
	defer done()
	conn, in, err := v.client.Attach(ctx)
	if err != nil {
		return nil, err
	}
	caller := attached.Caller{Frame: v.frame, Execute: func(ctx context.Context, j attached.Job, h engine.Host) *engine.Outcome {
		return v.execute(ctx, j, h, stdin)
	}}
	return caller.Run(ctx, conn, in, req, stopWait)
}

// execute starts, confines, pumps and ends the program's process.
func (v *execView) execute(ctx context.Context, j attached.Job, h engine.Host, stdin *os.File) *engine.Outcome {
	e, place, err := v.app.engineHere(j.Engine)
	if err != nil {
		return &engine.Outcome{Err: fault.New(fault.EngineUnavailable, "%s cannot be started from here: %w", j.Engine, err).
			WithHint("--where remote executes it in the daemon")}
	}
	defer func() {
		if err := place.Close(); err != nil {
			v.app.note("what the program's process left is not all gone: %v", err)
		}
	}()
	job := process.Job{Program: j.Program, Compiled: j.Compiled, Stdin: stdin}
	job.Program.Env = v.app.env
	if !v.stream && !v.app.flags.json {
		v.live = true
		out := &written{w: v.app.Out}
		defer func() {
			if out.open { // what follows begins a line of its own, as everywhere
				_ = v.app.write([]byte("\n"))
			}
		}()
		job.Stdout, job.Stderr = out, v.app.Err
	}
	return e.RunJob(ctx, job, h)
}

// engineHere is an engine of this command's own, and where it keeps what it
// needs, which the caller closes.
func (a *app) engineHere(name string) (*process.Engine, *attached.Place, error) {
	paths, err := a.paths()
	if err != nil {
		return nil, nil, err
	}
	if err := paths.Ensure(); err != nil {
		return nil, nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	place, err := attached.NewPlace(paths.Runtime)
	if err != nil {
		return nil, nil, err
	}
	return process.New(process.Options{
		Name: name, Record: place.Record, Executable: executable, Dir: place.Dir, Path: a.env["PATH"],
		Hidden: []string{paths.Runtime, filepath.Dir(paths.Socket), paths.State, config.ConfigDir(a.env, paths.Home)},
	}), place, nil
}

// ownInput is whether a program reads standard input by the means of its
// runtime, or lets a program of its own do so.
var ownInput = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:process|Deno|Bun)\s*\.\s*stdin\b|\breadline\b|/dev/stdin|["']inherit["']|\b(?:prompt|confirm|alert)\s*\(`)
})

// standardInput is what the process gets as its own: what is piped into this
// command, as it is. A terminal is read by this command and passed on, since the
// process has a group of its own, which may not read it; for a program that
// never reads it, nothing is taken from the terminal.
func (v *execView) standardInput() (stdin *os.File, done func(), err error) {
	f, ok := v.app.In.(*os.File)
	switch {
	case !ok || v.inputTaken:
		return nil, func() {}, nil
	case !v.app.inTerminal:
		if !piped(f) {
			return nil, func() {}, nil
		}
		return f, func() {}, nil
	case !v.readsInput:
		return nil, func() {}, nil
	}
	// What is typed is the program's: questions are answered elsewhere.
	v.client.Identity.Interactive = false
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	go func() { // ends with the input, with its reader, or with this process
		_, _ = io.Copy(w, f)
		_ = w.Close()
	}()
	return r, func() { _ = r.Close() }, nil
}

// written passes on what a process writes, and knows whether its last line is
// without an end.
type written struct {
	w    io.Writer
	open bool
}

func (o *written) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if n > 0 {
		o.open = p[n-1] != '\n'
	}
	return n, err
}
