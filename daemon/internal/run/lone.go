package run

import (
	"context"
	"encoding/json"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// CallSpec is one call outside a program.
type CallSpec struct {
	Spec         // Exec is not used but for Cwd and CallTimeoutMS
	Server, Tool string
	Method       string // of call.Request; Tool is not set then
	Arguments    json.RawMessage
	Raw          bool             // also return the CallToolResult
	Text         proto.TextLimits // of CallResult.Text
	// OnAnswer hears the server's result as it came, also one that says it has
	// failed; may be nil.
	OnAnswer func(raw json.RawMessage)
	// OnLog and Listener are those of call.Request; may be nil.
	OnLog    func(upstream.Log)
	Listener *call.Listener
}

// maxLoneValue caps value and raw of a call whose text is limited, that is for
// a model: it reads the text.
const maxLoneValue = 256 << 10

// code is the call as a program would write it, for lists of runs.
func (spec CallSpec) code() string {
	var of struct{ URI, Name string } // what a request without a server goes by
	if json.Unmarshal(spec.Arguments, &of) != nil {
		of.URI, of.Name = "", ""
	}
	switch spec.Method {
	case call.ReadResource:
		return "resources.read(" + string(quoted(of.URI)) + ")"
	case call.GetPrompt:
		return "prompts.get(" + string(quoted(of.Name)) + ", …)"
	}
	return "call(" + string(quoted(spec.Server)) + ", " + string(quoted(spec.Tool)) + ", …)"
}

// Call makes one call. It stands among the runs while it lives and in history
// afterwards, with the engine "call"; the end of ctx cancels it. Errors are
// *fault.Error.
func (m *Manager) Call(ctx context.Context, spec CallSpec) (*proto.CallResult, error) {
	if spec.Method != "" {
		spec.Tool = spec.Method
	}
	spec.Exec.Code = spec.code()
	none := int64(0) // the call has its own limit
	spec.Exec.TimeoutMS = &none
	r, err := m.open(spec.Spec, "call")
	if err != nil {
		return nil, err
	}
	// It ends with the run, which stops it.
	stop := context.AfterFunc(ctx, func() { r.cancel(reason(context.Cause(ctx))) })
	r.release = append(r.release, func() { stop() })

	req := r.request()
	req.CallID, req.Lone, req.Server, req.Tool, req.Args = 1, true, spec.Server, spec.Tool, spec.Arguments
	req.Method, req.OnLog, req.Listener = spec.Method, spec.OnLog, spec.Listener
	req.Timeout = r.limits.call
	req.OnProgress = func(p upstream.Progress) {
		r.event("progress", proto.Progress{Call: 1, Progress: p.Progress, Total: p.Total, Message: p.Message}, len(p.Message))
	}
	req.OnStart = func(server, tool string) { spec.Server, spec.Tool = server, tool }
	req.OnAnswer = spec.OnAnswer
	if _, err := r.spend(); err != nil {
		r.finish(r.failed(err), "failed")
		return nil, err
	}
	began := time.Now()
	res, failed := m.o.Path.Call(r.ctx, req)
	failure := fault.From(failed)
	r.settle(1, proto.CallSummary{Server: spec.Server, Tool: spec.Tool, Status: call.Status(failure), MS: ms(time.Since(began))}, res)
	if failure != nil {
		status := "failed"
		if failure.Kind == fault.Cancelled {
			status = "cancelled"
		}
		r.finish(r.failed(failure), status)
		return nil, failure
	}
	return r.answer(spec, res), nil
}

// failed is the result of a call that failed.
func (r *Run) failed(e *fault.Error) *proto.RunResult {
	res := r.shell()
	res.Error = e.Wire()
	return res
}

// shell is a result with nothing but the books.
func (r *Run) shell() *proto.RunResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &proto.RunResult{
		ID: r.ID, Session: r.spec.Session.ID, Value: json.RawMessage("null"), Logs: []proto.Log{}, Emits: []json.RawMessage{},
		Calls: append([]proto.CallSummary{}, r.calls...), Artifacts: append([]proto.Artifact{}, r.artifacts...),
		Warnings: append([]proto.Warning{}, r.warnings...),
	}
}

// answer settles the run of a lone call and makes its result. History keeps the
// value within the run's output limit, and the whole of it as an artifact.
func (r *Run) answer(spec CallSpec, res *call.Result) *proto.CallResult {
	kept := r.shell()
	kept.OK, kept.Value = true, res.Value
	r.cut(kept)
	out := &proto.CallResult{
		Value: res.Value, Artifacts: kept.Artifacts, Warnings: kept.Warnings, Session: r.spec.Session.ID,
	}
	if spec.Raw {
		out.Raw = res.Raw
	}
	out.Text = CallText(out, spec.Text, r.ID)
	if spec.Text != (proto.TextLimits{}) {
		out.Truncated = kept.Truncated
		if len(out.Value) > maxLoneValue {
			out.Value, out.Truncated = kept.Value, true
		}
		if len(out.Raw) > maxLoneValue {
			out.Raw, out.Truncated = nil, true
		}
		out.Images = r.images(res.Artifacts)
	}
	r.finish(kept, "ok")
	out.Timing = r.result.Timing
	return out
}
