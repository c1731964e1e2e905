package run

import (
	"maps"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/sandbox"
)

// sandbox is the mode that the program is held to: what the request asks for, at
// most permissions.sandbox, which is what it gets when it asks for nothing. The
// embedded engine is always confined, which is within every mode.
func (r *Run) sandbox() (sandbox.Mode, *fault.Error) {
	return r.sandboxOn(r.engine, r.spec.Exec.Sandbox)
}

// sandboxOn is sandbox for a program on an engine of that name.
func (r *Run) sandboxOn(engineName, asked string) (sandbox.Mode, *fault.Error) {
	dial, _ := policy.Dials(r.spec.View.Permissions)
	widest, err := sandbox.ParseMode(dial)
	if err != nil { // a checked configuration has only known modes
		return "", fault.New(fault.ConfigError, "permissions.sandbox: %w", err)
	}
	mode := widest
	if asked != "" {
		if mode, err = sandbox.ParseMode(asked); err != nil {
			return "", fault.New(fault.UsageError, "%w", err)
		}
	}
	if engineName == DefaultEngine {
		return sandbox.Confined, nil
	}
	if mode.Wider(widest) {
		return "", fault.New(fault.PermissionDenied, "the sandbox mode %s is wider than permissions.sandbox allows: %s", mode, widest).
			WithHint("the user widens it in the configuration; or run it with --sandbox %s", widest)
	}
	return mode, nil
}

// place gives a program on an engine that is a process its directory, its
// workspace and its variables: those of the allow-list that the caller has, none
// that a configuration names for servers. The workspace is that of the
// configuration in effect, so that an agent cannot choose another by its cwd.
func (r *Run) place(p *engine.Program) *fault.Error {
	return r.placeOn(p, r.engine, r.spec.Exec.Sandbox)
}

// placeOn is place for a program on an engine of that name.
func (r *Run) placeOn(p *engine.Program, engineName, asked string) *fault.Error {
	mode, failure := r.sandboxOn(engineName, asked)
	if failure != nil {
		return failure
	}
	p.Sandbox = string(mode)
	if engineName == DefaultEngine {
		return nil
	}
	p.Cwd, p.Workspace = r.cwd(), r.spec.View.Workspace
	if p.Workspace == "" {
		p.Workspace = r.spec.View.Dir
	}
	p.Runtime = r.spec.View.Script.Runtimes[engineName]
	env := config.Env{}
	if c := r.spec.Caller; c != nil && c.Env != nil {
		env = c.Env
	}
	if s := r.spec.Session; s != nil && s.Env() != nil {
		env = s.Env()
	}
	p.Env = maps.Collect(maps.All(config.BaseOf(env)))
	return nil
}
