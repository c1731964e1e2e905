package run

import (
	"context"
	"encoding/json"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// everyServer stands for a server's name where all of them are listed.
const everyServer = "*"

// Resource serves the globals resources and prompts. Each use is one call of the
// run's budget: a list as well, since servers are asked for it.
func (h *host) Resource(ctx context.Context, method string, params []byte) ([]byte, error) {
	var p struct {
		Server    string          `json:"server"`
		Cursor    string          `json:"cursor"`
		Limit     int             `json:"limit"`
		URI       string          `json:"uri"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Raw       bool            `json:"raw"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fault.New(fault.InvalidToolInput, "%s: its arguments are not of the right types", clip(method, maxName)).Because(err).
			WithHint("types shows what it takes")
	}
	p.Server = clip(p.Server, maxName)
	switch method {
	case engine.MethodResourcesRead:
		return h.material(ctx, p.Server, call.ReadResource, map[string]any{"uri": p.URI}, p.Raw)
	case engine.MethodPromptsGet:
		args := map[string]any{"name": p.Name}
		if len(p.Arguments) > 0 {
			args["arguments"] = p.Arguments
		}
		return h.material(ctx, p.Server, call.GetPrompt, args, p.Raw)
	}
	q := proto.OfferQuery{Server: p.Server, Cursor: p.Cursor, Limit: p.Limit}
	path := h.r.m.o.Path
	switch method {
	case engine.MethodResourcesList:
		return listed(ctx, h, "resources/list", q, func() (*proto.Resources, error) { return path.Resources(ctx, h.request, q) })
	case engine.MethodResourcesTemplates:
		return listed(ctx, h, "resources/templates/list", q, func() (*proto.ResourceTemplates, error) { return path.Templates(ctx, h.request, q) })
	case engine.MethodPromptsList:
		return listed(ctx, h, "prompts/list", q, func() (*proto.Prompts, error) { return path.Prompts(ctx, h.request, q) })
	}
	return nil, fault.New(fault.UsageError, "there is no method %q", clip(method, maxName))
}

// material makes one call that is no tool's.
func (h *host) material(ctx context.Context, server, method string, args any, raw bool) ([]byte, error) {
	data, err := proto.Marshal(args)
	if err != nil { // texts and what was JSON already
		return nil, fault.New(fault.InternalError, "%w", err)
	}
	v, err := h.make(ctx, server, "", method, data, engine.CallOptions{Raw: raw})
	return v.Value, err
}

// listed makes a list within the run's budget. It stands among the run's calls;
// history, which tells what was done, has only what was read.
func listed[T any](ctx context.Context, h *host, method string, q proto.OfferQuery, list func() (T, error)) ([]byte, error) {
	r := h.r
	server := q.Server
	if server == "" {
		server = everyServer
	}
	release, over := r.callPlace(ctx)
	if over != nil {
		return nil, over
	}
	defer release()
	id, spent := h.spend()
	if spent != nil {
		return nil, spent.At(server, method)
	}
	began := time.Now()
	r.event("call", proto.CallEvent{ID: id, Server: server, Tool: method, Status: "running", Script: h.mark}, 0)
	out, err := list()
	failure := fault.From(err)
	r.settle(id, proto.CallSummary{Server: server, Tool: method, Status: call.Status(failure), MS: ms(time.Since(began)), Script: h.mark}, nil)
	if failure != nil {
		return nil, failure
	}
	return proto.Marshal(out)
}
