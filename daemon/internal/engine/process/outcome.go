package process

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"tenon/daemon/internal/engine/advice"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
)

// How long a process may take to end after TERM (docs/programs.md prints them).
const (
	graceUser    = 100 * time.Millisecond // a person or a host has cancelled
	graceTimeout = 2 * time.Second        // the run's time is up
	leaveTime    = time.Second            // to flush and leave by itself, after its last word
)

// end ends the process and all below it; nothing of it survives.
func (r *run) end(err error) {
	if r.proc == nil {
		return
	}
	ctx, steps := context.Background(), proctree.Steps{Stdin: time.Nanosecond, Term: graceUser}
	switch {
	case r.parent.Err() != nil && guest.Stopped(r.parent).Kind == fault.TimeoutExceeded:
		steps.Term = graceTimeout
	case r.parent.Err() != nil:
	case errors.Is(err, errMemory):
		now, cancel := context.WithCancel(ctx)
		cancel()
		ctx = now
	case r.drained || r.failure != nil:
		t := time.NewTimer(leaveTime)
		select {
		case <-r.proc.Done():
		case <-t.C:
		}
		t.Stop()
	}
	if err := r.proc.Stop(ctx, steps); err != nil {
		r.e.o.Log.Error("a program's process did not end", "run", r.p.Session.RunID, "engine", r.rt.Name, "error", err)
	}
	r.channel.close()
	r.out.Stdout, r.out.Stderr = r.stdout.text(), r.stderr.text()
	r.out.Dropped.OutputBytes = r.stdout.lost() + r.stderr.lost()
	if state := r.proc.Ended(); state != nil {
		r.out.CPU = state.UserTime() + state.SystemTime()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			r.out.Memory = maxRSS(usage)
		}
	}
}

// finish fills the outcome's error, stack and warnings.
func (r *run) finish(err error) {
	r.out.Err, r.out.Stack = r.classify(err)
	if r.out.Err != nil {
		r.out.Value, r.out.Dropped.ValueBytes = nil, 0
	}
	r.out.Warnings = append(r.out.Warnings, guest.Warnings(&r.calls, &r.unhandled)...)
}

// classify decides what a run that ended with err ended with.
func (r *run) classify(err error) (*fault.Error, string) {
	var own *fault.Error
	switch {
	case r.unfit != "":
		return fault.New(fault.EngineUnavailable, "%s %s at %s is too old: it has no %s", r.rt.Name, r.rt.Version, r.rt.Path, r.unfit).
			WithHint("update it, or leave --engine away: embedded needs nothing installed"), ""
	case r.done && r.failure == nil && (err == nil || errors.Is(err, errEnded) || r.ctx.Err() != nil && r.parent.Err() != nil):
		return nil, ""
	case r.parent.Err() != nil && r.failure == nil:
		return guest.Stopped(r.parent), ""
	case errors.Is(err, errMemory):
		return guest.MemoryLimit(r.p.Limits), ""
	case errors.Is(err, errDeadlock):
		return guest.Deadlock(), ""
	case errors.Is(err, errDeep):
		return guest.DeepEmit(r.p.Limits), ""
	case errors.Is(err, errEnded):
		return r.died(), ""
	case r.failure != nil:
		if r.failure.Name == "RangeError" && outOfMemory().MatchString(r.failure.Message) {
			return guest.MemoryLimit(r.p.Limits), ""
		}
		return guest.Program{Name: r.p.Name, Script: r.script, Advise: r.advise}.Thrown(r.failure, r.unread)
	case errors.As(err, &own):
		copied := *own
		return &copied, ""
	}
	return fault.From(err), ""
}

// outOfMemory are the last words of runtimes that have used up their heap, and
// the messages of allocations that cannot be made.
var outOfMemory = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)heap out of memory|Fatal JavaScript out of memory|heap limit|allocation failed|^Out of memory`)
})

// died is the fault of a process that ended before its program.
func (r *run) died() *fault.Error {
	state := r.proc.Ended()
	signal := syscall.Signal(0)
	if state != nil {
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			signal = status.Signal()
		}
	}
	used := r.out.CPU + 500*time.Millisecond // the kernel counts in ticks of its own
	switch {
	case signal == syscall.SIGXCPU, signal == syscall.SIGKILL && r.p.Limits.CPU > 0 && used >= r.p.Limits.CPU:
		return guest.CPULimit(r.p.Limits)
	case signal == syscall.SIGXFSZ:
		return fault.New(fault.ScriptError, "the program wrote a file of more than %d GiB", sandbox.MaxFile>>30).
			WithHint("write less to one file; --sandbox full, where it is allowed, has no such limit")
	case outOfMemory().MatchString(tail(r.out.Stderr)):
		return guest.MemoryLimit(r.p.Limits)
	case !r.ready && strings.HasPrefix(r.out.Stderr, sandbox.FailPrefix):
		reason := strings.TrimSpace(strings.TrimPrefix(r.out.Stderr, sandbox.FailPrefix))
		r.out.Stderr = ""
		return fault.New(fault.EngineUnavailable, "%s cannot be confined here: %s", r.rt.Name, reason).
			WithHint("leave --engine away: embedded is always confined; or choose --sandbox full, which confines nothing")
	case !r.ready:
		return fault.New(fault.EngineUnavailable, "%s ended before the program began (%s): %s", r.rt.Name, r.proc.ExitState(), firstLine(r.out.Stderr)).
			WithHint("run it yourself: %s --version", r.rt.Path)
	}
	return fault.New(fault.ScriptError, "the process ended before the program did (%s)", r.proc.ExitState()).
		WithHint("return instead of ending the process: the last expression is the result")
}

// tail is the end of a text, where a runtime's last words are.
func tail(s string) string {
	const most = 16 << 10
	if len(s) > most {
		return s[len(s)-most:]
	}
	return s
}

// frames makes a stack of V8 or JavaScriptCore look like the one that package
// script reads.
func frames(stack string) string {
	stack = strings.ReplaceAll(stack, guest.File+", <anonymous>:", guest.File+":") // deno
	return strings.ReplaceAll(stack, "at async ", "at ")
}

// advise is what can be done about an exception: what a sandbox refuses is known
// here, the rest is the same for every engine.
func (r *run) advise(name, message string, at *fault.Position) (words, hint string) {
	words, hint = advice.Program{
		Source: r.p.Source, Input: len(r.p.Input) > 0, Module: r.script.Module(), Namespaces: r.p.Namespaces,
		Signature: advice.Signatures(r.parent, r.host),
	}.Exception(name, message, at)
	if denied().MatchString(message) || name == "NotCapable" {
		hint = "the sandbox mode may not allow it: read-only and workspace-write open no socket and no file outside of the workspace; --sandbox chooses one, permissions.sandbox is the widest there is"
	}
	return words, hint
}

var denied = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`EACCES|EPERM|ermission denied`) })
