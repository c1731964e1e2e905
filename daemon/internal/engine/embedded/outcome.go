package embedded

import (
	"errors"
	"strings"

	"tenon/daemon/internal/engine/advice"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
)

var (
	errTimers = &jsError{text: "too many timers"}
	errDeep   = &jsError{text: "an emitted value is nested too deep"}
)

// finish fills the outcome's error, stack and warnings.
func (r *run) finish(err error) {
	r.timers.stop()
	r.out.Err, r.out.Stack = r.classify(err)
	if r.out.Err != nil {
		r.out.Value, r.out.Dropped.ValueBytes = nil, 0
	}
	r.out.Warnings = append(r.out.Warnings, guest.Warnings(&r.calls, &r.unhandled)...)
}

// classify decides what a run that ended with err ended with.
func (r *run) classify(err error) (*fault.Error, string) {
	var js *jsError
	errors.As(err, &js)
	if errors.Is(err, errTrap) {
		r.trapped = err
	}
	var clock *refused
	full := int64(len(r.realm.mem()))+4<<20 > r.program.Limits.Memory+fixedMemory
	switch {
	case r.done && r.failure == nil && (err == nil || r.ctx.Err() != nil && js == nil && r.trapped == nil):
		return nil, ""
	case r.clock.overCPU:
		return r.place(guest.CPULimit(r.program.Limits), js)
	case r.clock.stopAt.IsZero() && errors.As(err, &clock):
		return fault.From(clock.error), ""
	case r.interrupted(err):
		return r.place(guest.Stopped(r.parent), js)
	case errors.Is(err, errDeadlock):
		return guest.Deadlock(), ""
	case js == errTimers:
		return fault.New(fault.ScriptError, "the program set more than %d timers", r.program.Limits.Timers), ""
	case js == errDeep:
		return guest.DeepEmit(r.program.Limits), ""
	case js != nil && js.text == outOfMemory,
		full && (r.trapped != nil || r.failure != nil && (r.failure.Nothing || outOfMemoryIn(r.failure))),
		r.failure != nil && outOfMemoryIn(r.failure):
		return guest.MemoryLimit(r.program.Limits), ""
	case r.trapped != nil:
		return fault.New(fault.InternalError, "the engine stopped in the middle of the program").Because(err), ""
	case r.failure != nil:
		return r.guest().Thrown(r.failure, r.unread)
	case js != nil:
		name, message, ok := strings.Cut(js.text, ": ")
		if !ok {
			name, message = "", js.text
		}
		f := &guest.Failure{Name: name, Message: message, Stack: js.stack}
		if name == "" {
			f.Thrown = js.text
		}
		return r.guest().Thrown(f, r.unread)
	}
	return fault.From(err), ""
}

func outOfMemoryIn(f *guest.Failure) bool { return f.Name+": "+f.Message == outOfMemory }

// interrupted reports whether the run was stopped from outside.
func (r *run) interrupted(err error) bool {
	return r.parent.Err() != nil && (!r.clock.stopAt.IsZero() || r.failure == nil && err != nil)
}

// place adds the position at which a program was stopped.
func (r *run) place(e *fault.Error, js *jsError) (*fault.Error, string) {
	if js == nil {
		return e, ""
	}
	stack := r.guest().Stack(js.stack, e)
	return e, stack
}

// guest is the program, for what its failures become.
func (r *run) guest() guest.Program {
	p := advice.Program{
		Source: r.program.Source, Confined: true, Fetch: r.program.Fetch, Input: len(r.program.Input) > 0,
		Module: r.script.Module(), Namespaces: r.program.Namespaces,
		Signature: advice.Signatures(r.parent, r.host),
	}
	return guest.Program{Name: r.program.Name, Script: r.script, Advise: p.Exception}
}
