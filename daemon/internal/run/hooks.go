package run

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/shelf"
	"tenon/proto"
)

// Bounds of hooks; docs/scripts.md prints them.
const (
	hookTime  = 10 * time.Second // of one hook
	hookCalls = 100              // of all hooks of a run, beside the run's own
)

// WarnHook is the kind of the warning about a hook that failed.
const WarnHook = "HookFailed"

// hookInput is what a hook gets as its input.
type hookInput struct {
	Run   hookRun         `json:"run"`
	Value json.RawMessage `json:"value,omitempty"` // of a program that succeeded
	Error *proto.Error    `json:"error,omitempty"` // of one that failed
}

type hookRun struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Engine  string `json:"engine"`
	Surface string `json:"surface"`
	Cwd     string `json:"cwd"`
	Name    string `json:"name,omitempty"` // of the program's file
	Script  string `json:"script,omitempty"`
}

// hooked runs a program with the hooks of the view around it. A before that
// fails ends the run in its place; what others fail with is a warning.
func (r *Run) hooked(program func() *engine.Outcome) *engine.Outcome {
	hooks := r.spec.View.Hooks
	if !hooks.Any() {
		return program()
	}
	var o *engine.Outcome
	for _, h := range hooks.Before {
		if failure := r.hook(r.ctx, "before", h, hookInput{}); failure != nil {
			o = &engine.Outcome{Err: failure}
			break
		}
	}
	if o == nil {
		o = program()
	}
	input := hookInput{Value: o.Value}
	point, last := "onSuccess", hooks.OnSuccess
	if o.Err != nil {
		point, last = "onError", hooks.OnError
		input = hookInput{Error: o.Err.Wire()}
	}
	// The run may be over its time, or cancelled: these run all the same, unless
	// the daemon stops.
	ctx := context.WithoutCancel(r.ctx)
	for _, h := range last {
		r.warnHook(point, r.hook(ctx, point, h, input))
	}
	for _, h := range hooks.After {
		r.warnHook("after", r.hook(ctx, "after", h, input))
	}
	return o
}

func (r *Run) warnHook(point string, failure *fault.Error) {
	if failure != nil {
		r.warn(proto.Warning{Kind: WarnHook, Message: failure.Message})
	}
}

// hook runs one hook to its end; the failure names it.
func (r *Run) hook(ctx context.Context, point string, h config.Hook, input hookInput) *fault.Error {
	name := "hook " + point
	if r.m.stopping() {
		return fault.New(fault.Cancelled, "the %s did not run: the daemon is stopping", name)
	}
	input.Run = hookRun{
		ID: r.ID, Session: r.spec.Session.ID, Engine: r.engine, Surface: r.spec.Surface, Cwd: r.cwd(),
		Name: r.spec.Exec.Name, Script: r.spec.Exec.Script,
	}
	given, err := proto.Marshal(input)
	if err != nil {
		return fault.From(err)
	}
	p := part{name: name, engine: DefaultEngine, chain: []string{name}, program: engine.Program{Source: h.Code, Name: point + ".ts"}}
	// Not the run's directory: a project that nobody trusts would put a script of
	// its own in the place of the user's.
	dir := h.Origin.Base
	if h.Script != "" {
		if r.m.o.Shelf == nil {
			return fault.New(fault.NotFound, "the %s failed: there are no saved scripts here", name)
		}
		c, err := r.m.o.Shelf.Load(dir, h.Script)
		if err != nil {
			f := fault.From(err)
			return fault.New(fault.ScriptError, "the %s failed: %s", name, f.Message).WithHint("%s", f.Hint)
		}
		if !h.Covers(c.Text) {
			return fault.New(fault.ScriptError, "the %s failed: %s is not the script that was trusted", name, c.File).
				WithHint("look at it, then: tenon trust; only a script in %s is covered by it", filepath.Join(dir, shelf.Folder))
		}
		if c.Modules != nil {
			for file, text := range c.Modules.Files {
				if !h.Covers(text) {
					return fault.New(fault.ScriptError, "the %s failed: %s, which it imports, is not what was trusted", name, file).
						WithHint("look at it, then: tenon trust")
				}
			}
		}
		p = partOf(c, []string{name}, nil, DefaultEngine)
		p.name = name
	}
	p.program.Input = given
	if p.timeout == 0 || p.timeout > hookTime {
		p.timeout = hookTime
	}
	by := r.host(r.request())
	by.scripts, by.closed = dir, h.Origin.Project
	o, err := r.part(ctx, by, p)
	if err == nil && o.Err != nil {
		err = o.Err
	}
	if err == nil {
		return nil
	}
	f := fault.From(err)
	e := fault.New(fault.ScriptError, "the %s failed: %s", name, f.Message).WithHint("%s", f.Hint)
	if f.Hint == "" {
		e.Hint = "it is in " + h.Origin.File
	}
	return e
}

// isHook reports whether a host is a hook's, or that of a script that a hook
// runs: no script has a space in its name.
func (h *host) isHook() bool { return len(h.chain) > 0 && strings.HasPrefix(h.chain[0], "hook ") }

// spend takes one call from the budget of the run, or from that of its hooks.
func (h *host) spend() (int64, *fault.Error) {
	if !h.isHook() {
		return h.r.spend()
	}
	r := h.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hookCalls >= hookCalls {
		return 0, fault.New(fault.ToolCallLimitExceeded, "the hooks of the run have made their %d calls", hookCalls).
			WithHint("do less in hooks")
	}
	r.hookCalls++
	r.made++
	return int64(r.made), nil
}
