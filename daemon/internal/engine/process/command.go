package process

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/sandbox"
)

// place is a run's own directory: the only one that every mode may write to.
type place struct {
	dir  string // private
	main string // what the runtime is given to execute
	tmp  string // the program's TMPDIR
}

// newPlace makes the directory of one run; remove pairs with it.
func newPlace(parent string) (p place, err error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return p, err
	}
	if p.dir, err = os.MkdirTemp(parent, "run-"); err != nil { // mode 0700
		return p, err
	}
	p.main, p.tmp = filepath.Join(p.dir, "tenon.mjs"), filepath.Join(p.dir, "tmp")
	if err = os.Mkdir(p.tmp, 0o700); err == nil {
		err = os.WriteFile(p.main, []byte(source()), 0o400)
	}
	if err != nil {
		p.remove()
	}
	return p, err
}

func (p place) remove() { _ = os.RemoveAll(p.dir) }

// workspace is where a program works.
func workspace(p engine.Program) string {
	if p.Workspace != "" {
		return p.Workspace
	}
	return p.Cwd
}

// profile is what the kernel holds the process to.
func (e *Engine) profile(rt Runtime, p engine.Program, at place, mode sandbox.Mode) sandbox.Profile {
	return sandbox.Profile{
		Mode: mode, Workspace: workspace(p), Read: []string{rt.Path}, Write: []string{at.dir},
		Hidden: e.o.Hidden, Files: len(channel{}.their), CPU: p.Limits.CPU,
	}
}

// command is the runtime's command line: its own flags repeat what the kernel
// holds where it has such flags, for errors that say more. It starts in the run's
// directory, so that no file of a project (bunfig.toml, .env, deno.json) is read
// before the program.
func command(rt Runtime, p engine.Program, at place, profile sandbox.Profile) []string {
	heap := p.Limits.Memory >> 20 // MiB
	switch rt.Name {
	case Deno:
		argv := []string{rt.Path, "run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-check", "--node-modules-dir=none",
			fmt.Sprintf("--v8-flags=--max-old-space-size=%d", heap)}
		if !profile.Mode.Strict() {
			return append(argv, "--allow-all", at.main)
		}
		write := []string{at.dir, "/dev/fd", "/dev/null"}
		if profile.Mode == sandbox.WorkspaceWrite && profile.Workspace != "" {
			write = append(write, profile.Workspace)
		}
		for i, path := range write {
			write[i] = strings.ReplaceAll(path, ",", ",,") // deno's own escape
		}
		return append(argv, "--no-remote", "--no-npm", "--allow-read", "--allow-env", "--allow-sys", "--allow-run",
			"--allow-write="+strings.Join(write, ","), "--deny-net", "--deny-ffi", at.main)
	case Bun:
		return []string{rt.Path, "run", "--no-install", "--smol", at.main}
	default:
		return []string{rt.Path, "--no-warnings", fmt.Sprintf("--max-old-space-size=%d", heap), at.main}
	}
}

// calm are the variables of a caller that a confined program gets: none of them
// holds a secret or names a socket.
var calm = []string{"PATH", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "NO_COLOR"}

// environ is the process's whole environment. The time zone and the language are
// the same wherever a program runs.
func environ(rt Runtime, p engine.Program, at place, mode sandbox.Mode) []string {
	env := map[string]string{}
	if mode.Strict() {
		for _, name := range calm {
			if v, ok := p.Env[name]; ok {
				env[name] = v
			}
		}
		env["HOME"] = at.tmp // programs look for their settings there, and must be allowed to
	} else {
		for name, v := range p.Env {
			env[name] = v
		}
	}
	if env["PATH"] == "" {
		env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	if env["HOME"] == "" {
		env["HOME"] = at.tmp
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		env[name] = at.tmp
	}
	env["TZ"], env["LANG"], env["LC_ALL"] = "UTC", "en_US.UTF-8", "en_US.UTF-8"
	// A tenon that the program starts is what it is: an agent's.
	env["AGENT"] = "1"
	switch rt.Name {
	case Deno:
		env["DENO_NO_UPDATE_CHECK"], env["DENO_NO_PACKAGE_JSON"] = "1", "1"
		if mode.Strict() {
			env["DENO_DIR"] = filepath.Join(at.dir, "deno")
		}
	case Bun:
		env["BUN_RUNTIME_TRANSPILER_CACHE_PATH"], env["DO_NOT_TRACK"] = "0", "1"
	}
	out := make([]string, 0, len(env))
	for name, v := range env {
		out = append(out, name+"="+v)
	}
	sort.Strings(out)
	return out
}
