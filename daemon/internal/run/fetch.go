package run

import (
	"context"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/outbound"
	"tenon/proto"
)

// fetches is whether a program on an engine has fetch: the embedded one is the
// daemon's to let out, and nothing is to be had where no host is allowed.
func (r *Run) fetches(engineName string) bool {
	return engineName == DefaultEngine && len(r.spec.View.Permissions.Net.Allow) > 0
}

// Fetch makes one HTTP request within the run's budget. It stands among the run's
// calls, as "METHOD host" of the server "webfetch".
func (h *host) Fetch(ctx context.Context, q engine.FetchRequest) (*engine.FetchResponse, error) {
	r, wanted := h.r, outbound.Request(q)
	name, shown := outbound.Describe(wanted)
	release, over := r.callPlace(ctx)
	if over != nil {
		return nil, over
	}
	defer release()
	id, err := h.spend()
	if err != nil {
		return nil, err.At(call.WebFetch, name)
	}
	req := h.request
	req.CallID, req.Timeout = id, r.limits.call
	req.OnStart = func(_, tool string) { name = tool } // a redirect gives it another
	began := time.Now()
	r.event("call", proto.CallEvent{ID: id, Server: call.WebFetch, Tool: name, Status: "running", Input: clip(shown, shortInput), Script: h.mark}, shortInput)
	res, failed := r.m.o.Path.Fetch(ctx, req, wanted)
	failure := fault.From(failed)
	r.settle(id, proto.CallSummary{Server: call.WebFetch, Tool: name, Status: call.Status(failure), MS: ms(time.Since(began)), Script: h.mark}, nil)
	if failure != nil {
		if failure.Kind == fault.ApprovalRequired {
			r.cancel(failure) // as for a call
		}
		return nil, failure
	}
	return (*engine.FetchResponse)(res), nil
}
