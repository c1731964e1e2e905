package typecheck

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
)

// Bounds of a checker's process.
const (
	maxOutput = 1 << 20 // bytes that are read of it; the rest is dropped
	// What it may allocate. The first is V8's (tsc in JavaScript, deno), which
	// ends there; the second is Go's (the native tsc), which slows down there.
	heapMiB  = "1024"
	heapGoNS = heapMiB + "MiB"
)

// stopSteps end a checker, which has nothing to put in order.
var stopSteps = proctree.Steps{Stdin: time.Millisecond, Term: 250 * time.Millisecond}

// run checks p with t in a process of its own.
func (c *Checker) run(ctx context.Context, t *tool, p *program, place Place) (*Report, error) {
	dir, err := c.lay(p.files(t))
	if err != nil {
		return nil, fault.New(fault.InternalError, "the files of a type check cannot be written: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			c.o.Log.Warn("files of a type check stay", "dir", dir, "error", err)
		}
	}()
	limited, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	output, code, err := c.exec(limited, t, p, dir, place)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, failed(t, "has not ended within "+c.o.Timeout.String())
	case err != nil:
		return nil, failed(t, "cannot be started").Because(err)
	}
	r := &Report{Checker: t.String(), Diagnostics: p.diagnostics(t, output)}
	if code != 0 && len(r.Diagnostics) == 0 && !onlyInFunction(p, t, output) {
		return nil, failed(t, "failed: "+firstWords(output, dir))
	}
	return r, nil
}

// onlyInFunction reports whether all that was said is what is left out.
func onlyInFunction(p *program, t *tool, output string) bool {
	whole := *p
	whole.above = 0
	return len(whole.diagnostics(t, output)) > 0
}

func failed(t *tool, what string) *fault.Error {
	return fault.New(fault.TypeCheckError, "the type checker %s %s", t, what).
		WithHint("whether the program fits is not known; set script.typecheck to off to run it unchecked")
}

// lay makes the directory of one check.
func (c *Checker) lay(files map[string]string) (dir string, err error) {
	if err := os.MkdirAll(c.o.Dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(c.o.Dir, "check-"); err != nil {
		return "", err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			_ = os.RemoveAll(dir) // the first error is the one to tell
			return "", err
		}
	}
	return dir, nil
}

// exec runs the checker to its end, or to that of ctx.
func (c *Checker) exec(ctx context.Context, t *tool, p *program, dir string, place Place) (output string, code int, err error) {
	command, err := c.confined(t, append(slices.Clone(t.command), p.arguments(t)...), dir)
	if err != nil {
		return "", 0, err
	}
	proc, err := c.o.Record.Start(proctree.Options{
		Command: command,
		Env:     environment(place.Env, dir), Dir: dir, Label: "type checker",
	})
	if err != nil {
		return "", 0, err
	}
	_ = proc.Stdin.Close() // it reads nothing
	var out, other capped
	var reading sync.WaitGroup
	reading.Go(func() { out.fill(proc.Stdout) })
	reading.Go(func() { other.fill(proc.Stderr) })
	select {
	case <-proc.Done():
	case <-ctx.Done():
	}
	if err := proc.Stop(ctx, stopSteps); err != nil {
		c.o.Log.Warn("a type checker did not end", "error", err)
	}
	reading.Wait() // the tree is gone, and with it the other ends of the pipes
	_ = proc.Stdout.Close()
	_ = proc.Stderr.Close()
	return out.String() + "\n" + other.String(), proc.ExitCode(), nil
}

// confined is the command line under which a project's checker sees its own
// files and those of the check, writes only to the latter and opens no socket.
// Where the kernel cannot hold that, trust alone has to.
func (c *Checker) confined(t *tool, command []string, dir string) ([]string, error) {
	if len(t.reads) == 0 || c.o.Executable == "" || sandbox.Probe().Holds(sandbox.ReadOnly) != nil {
		return command, nil
	}
	return sandbox.Command(c.o.Executable, sandbox.Profile{Mode: sandbox.ReadOnly, Read: t.reads, Write: []string{dir}, CPU: c.o.Timeout}, command)
}

// environment is what a checker gets: enough to be found by its launcher, and
// nothing that a secret could be in.
func environment(caller map[string]string, dir string) []string {
	env := []string{
		"TMPDIR=" + dir, "NO_COLOR=1", "LC_ALL=C",
		"NODE_OPTIONS=--max-old-space-size=" + heapMiB, "GOMEMLIMIT=" + heapGoNS,
		"DENO_DIR=" + filepath.Join(dir, ".deno"), "DENO_NO_UPDATE_CHECK=1", "DENO_NO_PROMPT=1",
		"DENO_V8_FLAGS=--max-old-space-size=" + heapMiB,
	}
	for _, name := range []string{"PATH", "HOME"} {
		if v := caller[name]; v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// capped keeps the head of a stream and reads it to its end.
type capped struct{ strings.Builder }

func (c *capped) fill(r io.Reader) {
	_, _ = io.Copy(&c.Builder, io.LimitReader(r, maxOutput)) // a broken pipe ends it
	_, _ = io.Copy(io.Discard, r)
}

// firstWords are the first line of what a checker said, without our directory.
func firstWords(output, dir string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(strings.ReplaceAll(line, dir+"/", "")); line != "" {
			return clip(line)
		}
	}
	return "it said nothing"
}
