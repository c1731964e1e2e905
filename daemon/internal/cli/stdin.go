package cli

import (
	"context"
	"io"

	"tenon/daemon/internal/fault"
)

// maxInput bounds what is read of standard input: as JSON, in which some characters
// take two bytes, it fits a request to the daemon.
const maxInput = 16 << 20

// readInput reads standard input to its end. A terminal or a pipe that nobody
// closes does not keep the user's interrupt waiting.
func (a *app) readInput(ctx context.Context, what string) ([]byte, error) {
	if a.inTerminal {
		a.say("type %s; Ctrl-D ends it", what)
	}
	type outcome struct {
		raw []byte
		err error
	}
	done := make(chan outcome, 1)
	go func() { // reading ends with the input, or with this process
		raw, err := io.ReadAll(io.LimitReader(a.In, maxInput+1))
		done <- outcome{raw, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fault.New(fault.Cancelled, "cancelled")
	case o := <-done:
		switch {
		case o.err != nil:
			return nil, fault.New(fault.UsageError, "cannot read standard input: %w", o.err)
		case len(o.raw) > maxInput:
			return nil, fault.New(fault.UsageError, "standard input has more than %d bytes", maxInput)
		}
		return o.raw, nil
	}
}
