package run

import (
	"context"
	"errors"

	"tenon/daemon/internal/fault"
)

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
