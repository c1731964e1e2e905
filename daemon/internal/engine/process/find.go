package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
	"tenon/proto"
)

// Runtime is one installed runtime.
type Runtime struct {
	Name    string
	Version string // as it tells it, without a leading v
	Path    string // the program itself, links and version managers' shims resolved
}

// oldest is the first version of each that has what the prelude needs: exact
// integers in JSON (JSON.rawJSON), node's module names, drained event loops.
var oldest = map[string][2]int{Deno: {2, 0}, Bun: {1, 2}, Node: {22, 0}}

// tell makes a runtime print its version and the path of its own program.
var tell = map[string][]string{
	Deno: {"eval", "--no-config", "--no-lock", "console.log(Deno.version.deno, Deno.execPath())"},
	Bun:  {"-e", "console.log(Bun.version, process.execPath)"},
	Node: {"-p", "process.versions.node + ' ' + process.execPath"},
}

// Find looks for a runtime in the directories of path, as a shell would, and
// asks it who it is. binary, when not empty, is used instead. What it finds is
// remembered as long as the file does not change. The error is EngineUnavailable
// and names what was searched.
func Find(ctx context.Context, name, path, binary string) (Runtime, error) {
	return FindFor(ctx, name, path, binary, Guard{})
}

// Guard is how a runtime that lies in the workspace is asked: confined, since a
// program that may write there could have put it there, and to say who it is
// would be its way out. The zero value guards nothing.
type Guard struct {
	Workspace  string
	Executable string // tenon's own binary, which confines
}

// FindFor is Find under a guard.
func FindFor(ctx context.Context, name, path, binary string, guard Guard) (Runtime, error) {
	if _, known := tell[name]; !known {
		return Runtime{}, fault.New(fault.EngineUnavailable, "there is no engine %q", name)
	}
	candidate, err := look(name, path, binary)
	if err != nil {
		return Runtime{}, err
	}
	rt, err := ask(ctx, name, candidate, guard)
	if err != nil {
		return Runtime{}, fault.New(fault.EngineUnavailable, "%s at %s does not answer: %v", name, candidate, err).Because(err).
			WithHint("run it yourself: %s --version", candidate)
	}
	if !newEnough(rt) {
		first := oldest[name]
		return rt, fault.New(fault.EngineUnavailable, "%s %s at %s is too old: %d.%d or newer is needed", name, rt.Version, rt.Path, first[0], first[1]).
			WithHint("update it, or leave --engine away: embedded needs nothing installed")
	}
	return rt, nil
}

func look(name, path, binary string) (string, error) {
	if binary != "" {
		if !filepath.IsAbs(binary) || !executable(binary) {
			return "", fault.New(fault.EngineUnavailable, "%s is set to %s, which is no program", name, binary).
				WithHint("script.runtimes in the user's configuration names it")
		}
		return binary, nil
	}
	var searched []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // the current directory is nobody's to trust
			continue
		}
		if file := filepath.Join(dir, name); executable(file) {
			return file, nil
		}
		if !slices.Contains(searched, dir) {
			searched = append(searched, dir)
		}
	}
	where := "PATH is empty"
	if len(searched) > 0 {
		where = "searched " + strings.Join(searched, ", ")
	}
	return "", fault.New(fault.EngineUnavailable, "%s is not installed: %s", name, where).
		WithHint("install %s or put its directory on PATH; embedded needs nothing installed", name)
}

func executable(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

// known remembers runtimes by what identifies their file.
var known = struct {
	sync.Mutex
	byFile map[identity]Runtime
}{byFile: map[identity]Runtime{}}

type identity struct {
	name, file string
	size       int64
	changed    time.Time
}

// maxKnown bounds the memory: callers choose their PATH.
const maxKnown = 64

// listTime is how long a list waits for a runtime that does not answer.
const listTime = 5 * time.Second

// askTime is how long a runtime may take to say who it is; the first start after
// an installation reads a hundred megabytes from the disk.
const askTime = 20 * time.Second

// command asks file who it is.
func (g Guard) command(name, file string) ([]string, error) {
	argv := append([]string{file}, tell[name]...)
	if g.Workspace == "" || g.Executable == "" || sandbox.Probe().Holds(sandbox.ReadOnly) != nil {
		return argv, nil
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	if !sandbox.Within(file, g.Workspace) && !sandbox.Within(real, g.Workspace) {
		return argv, nil
	}
	return sandbox.Command(g.Executable, sandbox.Profile{Mode: sandbox.ReadOnly, Workspace: g.Workspace, Read: []string{real}, CPU: askTime}, argv)
}

func ask(ctx context.Context, name, file string, guard Guard) (Runtime, error) {
	st, err := os.Stat(file)
	if err != nil {
		return Runtime{}, err
	}
	id := identity{name, file, st.Size(), st.ModTime()}
	known.Lock()
	rt, ok := known.byFile[id]
	known.Unlock()
	if ok {
		return rt, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	argv, err := guard.command(name, file)
	if err != nil {
		return Runtime{}, err
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = "/" // no project's settings
	c.Env = []string{"PATH=" + filepath.Dir(file) + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "NO_COLOR=1", "DENO_NO_UPDATE_CHECK=1"}
	c.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Start(); err != nil {
		return Runtime{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	defer stop()
	if err := c.Wait(); err != nil {
		if ctx.Err() != nil {
			return Runtime{}, fmt.Errorf("no answer: %w", ctx.Err())
		}
		if text := strings.TrimSpace(complaint.String()); text != "" {
			return Runtime{}, fmt.Errorf("%w: %s", err, firstLine(text))
		}
		return Runtime{}, err
	}
	version, path, ok := strings.Cut(strings.TrimSpace(out.String()), " ")
	if !ok || !filepath.IsAbs(path) {
		return Runtime{}, errors.New("it does not tell its version: " + firstLine(out.String()))
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	rt = Runtime{Name: name, Version: strings.TrimPrefix(version, "v"), Path: path}
	known.Lock()
	if len(known.byFile) >= maxKnown {
		clear(known.byFile)
	}
	known.byFile[id] = rt
	known.Unlock()
	return rt, nil
}

func newEnough(rt Runtime) bool {
	first := oldest[rt.Name]
	var have [2]int
	for i, part := range strings.SplitN(rt.Version, ".", 3) {
		if i < len(have) {
			have[i], _ = strconv.Atoi(part)
		}
	}
	return have[0] > first[0] || have[0] == first[0] && have[1] >= first[1]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}

// Info is how a runtime is listed; see FindFor.
func Info(ctx context.Context, name, path, binary string, guard Guard) proto.Engine {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	rt, err := FindFor(ctx, name, path, binary, guard)
	out := proto.Engine{Name: name, Version: rt.Version, Path: rt.Path, Available: err == nil}
	if err != nil {
		out.Reason = err.Error()
	}
	return out
}
