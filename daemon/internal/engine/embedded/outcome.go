package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

var (
	errTimers = &jsError{text: "too many timers"}
	errDeep   = &jsError{text: "an emitted value is nested too deep"}
)

// failure is the reason for which the program's promise was rejected.
type failure struct {
	Fault   string `json:"fault"` // of a ToolError that the host made
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	Cause   string `json:"cause"`
	Thrown  string `json:"thrown"` // of anything that is not an Error
	Nothing bool   `json:"nothing"`

	fault *fault.Error // of the engine's own making
}

func parseFailure(text string) *failure {
	f := &failure{}
	if json.Unmarshal([]byte(valid(text)), f) != nil {
		f.Thrown = "[a value that cannot be shown]"
	}
	return f
}

// stopped is why ctx ended, as a fault of one's own: others hold the cause too.
func stopped(ctx context.Context) *fault.Error {
	cause := context.Cause(ctx)
	var f *fault.Error
	if errors.As(cause, &f) {
		own := *f
		return &own
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return fault.New(fault.TimeoutExceeded, "the program did not end in time").Because(cause)
	}
	return fault.New(fault.Cancelled, "the run was cancelled").Because(cause)
}

// finish fills the outcome's error, stack and warnings.
func (r *run) finish(err error) {
	r.timers.stop()
	r.out.Err, r.out.Stack = r.classify(err)
	if r.out.Err != nil {
		r.out.Value, r.out.Dropped.ValueBytes = nil, 0
	}
	r.warn()
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
		return r.place(fault.New(fault.CPULimitExceeded, "the program computed for more than %v", r.program.Limits.CPU).
			WithHint("do less in the program, or raise the limit script.cpu"), js)
	case r.clock.stopAt.IsZero() && errors.As(err, &clock):
		return fault.From(clock.error), ""
	case r.interrupted(err):
		return r.place(stopped(r.parent), js)
	case errors.Is(err, errDeadlock):
		return fault.New(fault.ScriptError, "the program awaits a promise that nothing can settle: no call and no timer is pending").
			WithHint("await only promises that a call, a timer or your own code settles"), ""
	case js == errTimers:
		return fault.New(fault.ScriptError, "the program set more than %d timers", r.program.Limits.Timers), ""
	case js == errDeep:
		return fault.New(fault.ScriptError, "an emitted value is nested deeper than %d levels", r.program.Limits.Depth), ""
	case js != nil && js.text == outOfMemory,
		full && (r.trapped != nil || r.failure != nil && (r.failure.Nothing || r.failure.outOfMemory())),
		r.failure != nil && r.failure.outOfMemory():
		return fault.New(fault.MemoryLimitExceeded, "the program used more than %d MiB of memory", r.program.Limits.Memory>>20).
			WithHint("keep less at a time, or raise the limit script.memory"), ""
	case r.trapped != nil:
		return fault.New(fault.InternalError, "the engine stopped in the middle of the program").Because(err), ""
	case r.failure != nil:
		return r.thrown(r.failure)
	case js != nil:
		name, message, ok := strings.Cut(js.text, ": ")
		if !ok {
			name, message = "", js.text
		}
		f := &failure{Name: name, Message: message, Stack: js.stack}
		if name == "" {
			f.Thrown = js.text
		}
		return r.thrown(f)
	}
	return fault.From(err), ""
}

func (f *failure) outOfMemory() bool { return f.Name+": "+f.Message == outOfMemory }

// interrupted reports whether the run was stopped from outside.
func (r *run) interrupted(err error) bool {
	return r.parent.Err() != nil && (!r.clock.stopAt.IsZero() || r.failure == nil && err != nil)
}

// place adds the position at which a program was stopped.
func (r *run) place(e *fault.Error, js *jsError) (*fault.Error, string) {
	if js == nil {
		return e, ""
	}
	stack := r.stack(js.stack, e)
	return e, stack
}

// thrown is a failure as a fault: the host's own for a ToolError of its making,
// else ScriptError, or ParseError for code that the engine refuses to read.
func (r *run) thrown(f *failure) (*fault.Error, string) {
	if f.fault != nil {
		return f.fault, ""
	}
	var e *fault.Error
	var wire proto.Error
	switch {
	case f.Fault != "" && json.Unmarshal([]byte(f.Fault), &wire) == nil:
		e = fault.FromWire(&wire)
	case f.Thrown != "" || f.Name == "":
		e = fault.New(fault.ScriptError, "the program threw %s", clip(f.Thrown, 2000)).
			WithHint("throw an Error: it carries the place where it was made")
	default:
		kind := fault.ScriptError
		if r.unread && f.Name == "SyntaxError" {
			kind = fault.ParseError
		}
		e = fault.New(kind, "%s: %s", f.Name, clip(f.Message, 8000))
		e.Hint = hint(f)
	}
	stack := r.stack(f.Stack, e)
	if f.Cause != "" {
		if stack != "" {
			stack += "\n"
		}
		stack += "caused by " + clip(f.Cause, 2000)
	}
	return e, stack
}

// stack maps a stack to the source and sets the position of e to its first frame.
func (r *run) stack(text string, e *fault.Error) string {
	frames := r.script.Frames(text, fileName)
	if len(frames) == 0 {
		return ""
	}
	e.Position = &frames[0].Position
	var b strings.Builder
	for i, f := range frames {
		if i > 0 {
			b.WriteByte('\n')
		}
		if f.Function == "" {
			fmt.Fprintf(&b, "    at %s:%d:%d", r.program.Name, f.Line, f.Column)
		} else {
			fmt.Fprintf(&b, "    at %s (%s:%d:%d)", f.Function, r.program.Name, f.Line, f.Column)
		}
	}
	return b.String()
}

func (r *run) warn() {
	add := func(kind, format string, a ...any) {
		r.out.Warnings = append(r.out.Warnings, engine.Warning{Kind: kind, Message: fmt.Sprintf(format, a...)})
	}
	cancelled := r.calls.names()
	if len(r.calls.late) > 0 {
		add("CallsNotAwaited", "the program ended without awaiting %s", list(r.calls.late))
	}
	if len(cancelled) > 0 {
		add("CallsCancelled", "cancelled when the run ended: %s", list(cancelled))
	}
	for _, reason := range r.unhandled.list() {
		add("UnhandledRejection", "a promise was rejected and nobody handled it: %s", reason)
	}
}

// list names calls, equal ones once with their number.
func list(names []string) string {
	counts := map[string]int{}
	var order []string
	for _, n := range names {
		if counts[n]++; counts[n] == 1 {
			order = append(order, n)
		}
	}
	const most = 20
	var parts []string
	for i, n := range order {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(order)-most))
			break
		}
		if counts[n] > 1 {
			n = fmt.Sprintf("%s (%d times)", n, counts[n])
		}
		parts = append(parts, n)
	}
	return strings.Join(parts, ", ")
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
