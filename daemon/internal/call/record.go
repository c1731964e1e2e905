package call

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
)

// Statuses of a call, as CallSummary.Status and history have them.
const (
	StatusOK        = "ok"
	StatusError     = "error"
	StatusDenied    = "denied"
	StatusCancelled = "cancelled"
	StatusUnknown   = "unknown" // sent, and nobody knows whether it took effect
)

// Status is the status of a call that ended with err; nil is ok.
func Status(err *fault.Error) string {
	if err == nil {
		return StatusOK
	}
	switch err.Kind {
	case fault.PermissionDenied, fault.ApprovalRequired:
		return StatusDenied
	case fault.Cancelled:
		return StatusCancelled
	case fault.ServerUnavailable:
		var data struct {
			Fate string `json:"fate"`
		}
		if json.Unmarshal(err.Data, &data) == nil && data.Fate == "unknown" {
			return StatusUnknown
		}
	}
	return StatusError
}

// doubted marks the failure of a call that was sent and whose answer nobody
// waited for any longer: it may have taken effect, so it is never made again by
// itself. Where the server went away, the transport has said so.
func doubted(e *fault.Error) *fault.Error {
	if e.Kind != fault.TimeoutExceeded && e.Kind != fault.Cancelled || len(e.Data) > 0 {
		return e
	}
	told := *e
	told.Data = []byte(`{"fate":"unknown"}`)
	if told.Hint != "" {
		told.Hint += "; "
	}
	told.Hint += "the call was sent and may have taken effect: look before it is made again"
	return &told
}

// begin records the intent before the call is sent; finish pairs with it.
func (c *call) begin(instance string) {
	if c.p.o.History == nil {
		return
	}
	c.intent = history.Intent{
		Run: c.req.Run, Session: c.session, Server: c.server.Name, Tool: c.toolName,
		Instance: instance, Call: c.req.CallID, Started: time.Now(),
	}
	c.intentID = c.p.o.History.Begin(c.intent)
}

// finish records the outcome, also of a call that was never sent.
func (c *call) finish(failure *fault.Error) {
	status := Status(failure)
	c.tell(status, failure)
	if c.p.o.History == nil {
		return
	}
	if c.intentID == 0 {
		server, tool := c.req.Server, c.req.Tool
		if c.server != nil {
			server, tool = c.server.Name, c.toolName
		}
		c.intent = history.Intent{
			Run: c.req.Run, Session: c.session, Server: server, Tool: tool, Call: c.req.CallID, Started: c.began,
		}
		c.intentID = c.p.o.History.Begin(c.intent)
	}
	o := history.Outcome{Status: status, MS: float64(time.Since(c.began).Microseconds()) / 1000, Input: c.args}
	if failure != nil {
		o.Kind, o.Message = string(failure.Kind), failure.Message
	}
	c.p.o.History.Finish(c.intentID, c.intent, o)
}

// tell passes the end on to the log and to whoever counts.
func (c *call) tell(status string, failure *fault.Error) {
	e := Ended{Status: status, Times: c.times}
	e.Times.Total = time.Since(c.began)
	if c.server != nil {
		e.Server = c.server.Name
	}
	if failure != nil {
		e.Kind = failure.Kind
	}
	c.log(e)
	if c.p.o.Ended != nil {
		c.p.o.Ended(e)
	}
}

// log writes a line for the call. One of unknown fate is of interest to whoever
// looks after the daemon; how others ended is their caller's business.
func (c *call) log(e Ended) {
	level := slog.LevelDebug
	if e.Status == StatusUnknown {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !c.p.log.Enabled(ctx, level) {
		return
	}
	c.p.log.Log(ctx, level, "call ended", "run", c.req.Run, "call", c.req.CallID, "session", c.session, "server", e.Server, "tool", c.toolName,
		"instance", c.intent.Instance, "status", e.Status, "kind", e.Kind, "ms", e.Times.Total.Milliseconds())
}
