package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"tenon/daemon/internal/fault"
)

// Fates of a call that failed for want of a server, as Data of the error. A
// call is repeated by nobody unless it was never sent.
const (
	fateUnknown = `{"fate":"unknown"}`
	fateNotSent = `{"fate":"not-sent"}`
)

// withFate returns a copy of err that carries the fate.
func withFate(err *fault.Error, fate string) *fault.Error {
	e := *err
	e.Data = []byte(fate)
	return &e
}

// NotSent reports whether err says that the call never reached the server, so
// that sending it again cannot do anything twice.
func NotSent(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Kind == fault.ServerUnavailable && string(e.Data) == fateNotSent
}

// refusal is the private cause of an error that the server answered.
type refusal struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (r *refusal) Error() string { return r.Message + " (" + strconv.FormatInt(r.Code, 10) + ")" }

func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}

// reason is the text that a server is told when ctx ends a request.
func reason(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(cause, context.Canceled):
		return "cancelled"
	case cause == nil:
		return ""
	}
	return cause.Error()
}

// endOf is the error of a request that ctx ended.
func endOf(ctx context.Context, server, what string) error {
	cause := context.Cause(ctx)
	var e *fault.Error
	switch {
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.New(fault.TimeoutExceeded, "%s on server %s ran out of the caller's time", what, server).At(server, "").Because(cause)
	}
	return fault.New(fault.Cancelled, "%s on server %s was cancelled: %s", what, server, reason(ctx)).At(server, "").Because(cause)
}
