// Package fault is the closed vocabulary of failures: every error that reaches
// a user, a model or a program has one of these kinds, a message that is safe
// to show, and a hint that says what to do next.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Kind names a failure. The set is closed: docs/errors/ has one page for each.
type Kind string

// The kinds, in the order in which docs/errors/index.md lists them.
const (
	UsageError            Kind = "UsageError"
	ConfigError           Kind = "ConfigError"
	DaemonUnavailable     Kind = "DaemonUnavailable"
	ProtocolMismatch      Kind = "ProtocolMismatch"
	Unauthorized          Kind = "Unauthorized"
	NotFound              Kind = "NotFound"
	ParseError            Kind = "ParseError"
	TypeCheckError        Kind = "TypeCheckError"
	UnknownTool           Kind = "UnknownTool"
	InvalidToolInput      Kind = "InvalidToolInput"
	InvalidToolOutput     Kind = "InvalidToolOutput"
	ToolFailure           Kind = "ToolFailure"
	PermissionDenied      Kind = "PermissionDenied"
	ApprovalRequired      Kind = "ApprovalRequired"
	ToolCallLimitExceeded Kind = "ToolCallLimitExceeded"
	TimeoutExceeded       Kind = "TimeoutExceeded"
	MemoryLimitExceeded   Kind = "MemoryLimitExceeded"
	CPULimitExceeded      Kind = "CpuLimitExceeded"
	PoolExhausted         Kind = "PoolExhausted"
	ServerUnavailable     Kind = "ServerUnavailable"
	ScriptError           Kind = "ScriptError"
	Cancelled             Kind = "Cancelled"
	EngineUnavailable     Kind = "EngineUnavailable"
	InternalError         Kind = "InternalError"
)

// edge is what one kind becomes at the two edges that need a number.
type edge struct {
	exit int // process exit code of the CLI
	http int // status of the problem document (RFC 9457)
}

// kinds lists every kind in order; the tables of exit codes and statuses are
// read from here and nowhere else.
var kinds = []struct {
	kind Kind
	edge edge
}{
	{UsageError, edge{2, 400}},
	{ConfigError, edge{2, 422}},
	{DaemonUnavailable, edge{3, 503}},
	{ProtocolMismatch, edge{3, 426}},
	{Unauthorized, edge{4, 401}},
	{NotFound, edge{1, 404}},
	{ParseError, edge{1, 422}},
	{TypeCheckError, edge{1, 422}},
	{UnknownTool, edge{1, 404}},
	{InvalidToolInput, edge{1, 422}},
	{InvalidToolOutput, edge{1, 502}},
	{ToolFailure, edge{1, 502}},
	{PermissionDenied, edge{4, 403}},
	{ApprovalRequired, edge{4, 403}},
	{ToolCallLimitExceeded, edge{1, 429}},
	{TimeoutExceeded, edge{124, 504}},
	{MemoryLimitExceeded, edge{1, 422}},
	{CPULimitExceeded, edge{1, 422}},
	{PoolExhausted, edge{1, 503}},
	{ServerUnavailable, edge{1, 503}},
	{ScriptError, edge{1, 422}},
	{Cancelled, edge{130, 499}},
	{EngineUnavailable, edge{2, 501}},
	{InternalError, edge{1, 500}},
}

// Kinds returns every kind, in documentation order.
func Kinds() []Kind {
	out := make([]Kind, len(kinds))
	for i, k := range kinds {
		out[i] = k.kind
	}
	return out
}

func (k Kind) edge() edge {
	for _, e := range kinds {
		if e.kind == k {
			return e.edge
		}
	}
	return edge{1, 500}
}

// Valid reports whether k is one of the closed list.
func (k Kind) Valid() bool {
	for _, e := range kinds {
		if e.kind == k {
			return true
		}
	}
	return false
}

// ExitCode is the exit code of a command that ends with this kind.
func (k Kind) ExitCode() int { return k.edge().exit }

// HTTPStatus is the status of a problem document of this kind.
func (k Kind) HTTPStatus() int { return k.edge().http }

// Page is the path of the kind's page below the project's root.
func (k Kind) Page() string { return "docs/errors/" + string(k) + ".md" }

// Position is a place in a program's source as its author wrote it; both
// numbers start at 1. File is one that a saved script imported, empty for the
// program's own.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Error is a failure with a kind. Message and Hint are safe to show to anyone;
// the cause is for logs only and never crosses an edge.
type Error struct {
	Kind     Kind
	Message  string    // lower case, no full stop, names the thing
	Hint     string    // what to do next, or empty
	Server   string    // the server's name, where there is one
	Tool     string    // the tool's own (wire) name, where there is one
	Pointer  string    // JSON pointer into the arguments (InvalidToolInput)
	Position *Position // in the program, where known
	Content  []byte    // JSON array of content blocks a failed tool returned
	Feedback string    // what the human said when refusing
	Data     []byte    // further JSON for the program, for example holders
	cause    error
}

// New makes an error of kind k. The message is formatted; a %w verb keeps its
// operand as the private cause as well.
func New(k Kind, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Kind: k, Message: wrapped.Error(), cause: errors.Unwrap(wrapped)}
}

// Because attaches a private cause and returns e.
func (e *Error) Because(cause error) *Error { e.cause = cause; return e }

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// At names the server and tool and returns e.
func (e *Error) At(server, tool string) *Error { e.Server, e.Tool = server, tool; return e }

func (e *Error) Error() string { return e.Message }

// Unwrap gives the private cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, &fault.Error{Kind: k}) match by kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Message == ""
}

// From turns any error into an *Error; nil stays nil. The context's own errors
// become Cancelled and TimeoutExceeded; context.Cause is the caller's business.
// Anything else is an InternalError whose text stays private.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return New(Cancelled, "cancelled").Because(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return New(TimeoutExceeded, "timed out").Because(err)
	}
	return New(InternalError, "internal error").Because(err).
		WithHint("the daemon's log has the cause: tenon daemon logs")
}

// KindOf is From(err).Kind, and empty for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	return From(err).Kind
}
