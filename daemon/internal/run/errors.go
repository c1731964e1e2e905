package run

import (
	"context"
	"encoding/json"
	"errors"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Error is a failure as the wire has it; nil stays nil.
func Error(e *fault.Error) *proto.Error {
	if e == nil {
		return nil
	}
	out := &proto.Error{
		Kind: string(e.Kind), Message: e.Message, Server: e.Server, Tool: e.Tool, Pointer: e.Pointer,
		Hint: e.Hint, Feedback: e.Feedback,
	}
	if e.Position != nil {
		out.Position = &proto.Position{Line: e.Position.Line, Column: e.Position.Column}
	}
	if json.Valid(e.Content) {
		out.Content = e.Content
	}
	if json.Valid(e.Data) {
		out.Data = e.Data
	}
	return out
}

// reason turns the cause of a context's end into the failure a run ends with. A
// cause that is no failure of ours is a cancellation in its own words.
func reason(cause error) *fault.Error {
	var e *fault.Error
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		return fault.From(cause)
	default:
		return fault.New(fault.Cancelled, "%s", cause.Error())
	}
}
