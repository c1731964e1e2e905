package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// Failure is the reason for which the program's promise was rejected.
type Failure struct {
	Fault   string `json:"fault"` // of a ToolError that the host made
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	Cause   string `json:"cause"`
	Made    string `json:"made"`   // by these constructors, parted by blanks
	Thrown  string `json:"thrown"` // of anything that is not an Error
	Nothing bool   `json:"nothing"`

	Own *fault.Error `json:"-"` // of the engine's own making
}

// ParseFailure reads what the prelude says with FAIL.
func ParseFailure(text string) *Failure {
	f := &Failure{}
	if json.Unmarshal([]byte(Valid(text)), f) != nil {
		f.Thrown = "[a value that cannot be shown]"
	}
	return f
}

// Stopped is why ctx ended, as a fault of one's own: others hold the cause too.
func Stopped(ctx context.Context) *fault.Error {
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

// Program says whose failure it is.
type Program struct {
	Name   string // file name in messages
	Script *script.Program
	// Advise gives an exception's message in the words that all engines share,
	// and what to do about it, where that is known; may be nil.
	Advise func(name, message string, at *fault.Position) (words, hint string)
}

// Thrown is a failure as a fault, with its mapped stack: the host's own fault for
// a ToolError of its making, else ScriptError, or ParseError for code that the
// engine refused to read.
func (p Program) Thrown(f *Failure, unread bool) (*fault.Error, string) {
	if f.Own != nil {
		return f.Own, ""
	}
	var e *fault.Error
	var wire proto.Error
	exception := false
	switch {
	case f.Fault != "" && json.Unmarshal([]byte(f.Fault), &wire) == nil:
		e = fault.FromWire(&wire)
		if strings.Contains(f.Message, e.Message) { // the program may have added words of its own
			e.Message = Clip(f.Message, 8000)
		}
	case f.Thrown != "" || f.Name == "":
		e = fault.New(fault.ScriptError, "the program threw %s", Clip(f.Thrown, 2000)).
			WithHint("throw an Error: it carries the place where it was made")
	default:
		kind := fault.ScriptError
		if unread && f.Name == "SyntaxError" {
			kind = fault.ParseError
		}
		e, exception = fault.New(kind, "%s: %s", f.Name, Clip(f.Message, 8000)), true
	}
	stack := p.stack(f.Stack, strings.Fields(f.Made), e)
	if exception && p.Advise != nil {
		words, hint := p.Advise(f.Name, Clip(f.Message, 8000), e.Position)
		e.Message, e.Hint = f.Name+": "+words, hint
	}
	if exception && f.Cause != "" {
		e.Message += " (caused by " + Clip(f.Cause, 500) + ")"
	}
	if f.Cause != "" {
		if stack != "" {
			stack += "\n"
		}
		stack += "caused by " + Clip(f.Cause, 2000)
	}
	return e, stack
}

// Stack maps a stack to the source and sets the position of e to its first frame.
func (p Program) Stack(text string, e *fault.Error) string { return p.stack(text, nil, e) }

// stack is Stack from where the error was made, which is not in a constructor of
// its own: some engines begin there.
func (p Program) stack(text string, makers []string, e *fault.Error) string {
	frames := p.Script.Frames(text, File)
	for len(frames) > 1 && slices.Contains(makers, strings.TrimPrefix(frames[0].Function, "new ")) {
		frames = frames[1:]
	}
	if len(frames) == 0 {
		return ""
	}
	e.Position = &frames[0].Position
	var b strings.Builder
	for i, f := range frames {
		if i > 0 {
			b.WriteByte('\n')
		}
		file := f.File
		if file == "" {
			file = p.Name
		}
		if f.Function == "" {
			fmt.Fprintf(&b, "    at %s:%d:%d", file, f.Line, f.Column)
		} else {
			fmt.Fprintf(&b, "    at %s (%s:%d:%d)", f.Function, file, f.Line, f.Column)
		}
	}
	return b.String()
}

// Deadlock is the fault of a program that awaits what nothing can settle.
func Deadlock() *fault.Error {
	return fault.New(fault.ScriptError, "the program awaits a promise that nothing can settle: no call and no timer is pending").
		WithHint("await only promises that a call, a timer or your own code settles")
}

// CPULimit is the fault of a program that computed for too long.
func CPULimit(l engine.Limits) *fault.Error {
	return fault.New(fault.CPULimitExceeded, "the program computed for more than %v", l.CPU).
		WithHint("do less in the program, or raise the limit script.cpu")
}

// MemoryLimit is the fault of a program that needs too much memory.
func MemoryLimit(l engine.Limits) *fault.Error {
	return fault.New(fault.MemoryLimitExceeded, "the program used more than %d MiB of memory", l.Memory>>20).
		WithHint("keep less at a time, or raise the limit script.memory")
}

// DeepEmit is the fault of a program that emits a value nested too deep.
func DeepEmit(l engine.Limits) *fault.Error {
	return fault.New(fault.ScriptError, "an emitted value is nested deeper than %d levels", l.Depth)
}

// Warnings are those of a program's end: calls that it did not await, calls that
// were cancelled with it, rejections that nobody handled.
func Warnings(c *Calls, unhandled *Rejections) []engine.Warning {
	var out []engine.Warning
	add := func(kind, format string, a ...any) {
		out = append(out, engine.Warning{Kind: kind, Message: fmt.Sprintf(format, a...)})
	}
	if len(c.late) > 0 {
		add("CallsNotAwaited", "the program ended without awaiting %s: did you forget await?", list(c.late))
	}
	if cancelled := c.names(); len(cancelled) > 0 {
		add("CallsCancelled", "cancelled when the run ended: %s", list(cancelled))
	}
	for _, reason := range unhandled.List() {
		add("UnhandledRejection", "a promise was rejected and nobody handled it: %s", reason)
	}
	return out
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
