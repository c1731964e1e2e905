package run

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// host is everything a program reaches.
type host struct {
	r       *Run
	request call.Request // of every call, but for what is called
	chain   []string     // of the scripts within the run that led here; empty: the run's own program
	mark    string       // the last of them
	scripts string       // the directory whose saved scripts it runs
	closed  bool         // it runs none: a project's hook, whose trust would not cover them
	sandbox string       // the mode that its program asked for; empty: none in particular
}

var _ engine.Host = (*host)(nil)

// host is what the run's own program reaches.
func (r *Run) host(request call.Request) *host {
	return &host{r: r, request: request, scripts: r.cwd(), sandbox: r.spec.Exec.Sandbox}
}

// request is the part of a call that is the same for all calls of a run.
func (r *Run) request() call.Request {
	return call.Request{
		Caller: r.spec.Caller, Session: r.spec.Session, View: r.spec.View, Cwd: r.cwd(), Run: r.ID,
		Origin: r.spec.Origin, Bridge: r.spec.Bridge, OnWait: r.clocks.note,
		OnAsk:      func(a proto.Ask) { r.event("ask", a, 256+len(a.Arguments)) },
		OnWarn:     r.warn,
		OnQuestion: func(q proto.Question) { r.event("question", q, 256+len(q.Params)) },
		OnArtifact: r.keepArtifact,
		OnWithdraw: func(w proto.Withdraw) { r.event("withdraw", w, 128) },
	}
}

// namespaces names the servers of the view for the program. Lists are looked up
// only for those the program mentions: the others still work by any name.
func (r *Run) namespaces(request call.Request, code string) []engine.Namespace {
	var out []engine.Namespace
	for _, n := range catalog.Namespaces(r.spec.View) {
		if !call.Usable(r.spec.View.Servers[n.Server]) {
			continue
		}
		one := engine.Namespace{Name: n.Namespace, Global: catalog.Bare(n.Namespace), Server: n.Server}
		if strings.Contains(code, n.Namespace) {
			request.Server = n.Server
			if list := r.m.o.Path.Seen(r.ctx, request); list != nil {
				one.Tools = list.Idents()
			}
		}
		out = append(out, one)
	}
	return out
}

// Call makes one call within the run's budget.
func (h *host) Call(ctx context.Context, server, tool string, args []byte, o engine.CallOptions) (engine.CallValue, error) {
	return h.make(ctx, server, tool, "", args, o)
}

// make makes a call of a tool, or of a method of call.Request.
func (h *host) make(ctx context.Context, server, tool, method string, args []byte, o engine.CallOptions) (engine.CallValue, error) {
	r := h.r
	// The program's own words: they are kept with each call, and no name is longer.
	server, tool = clip(server, maxName), clip(tool, maxName)
	release, over := r.callPlace(ctx)
	if over != nil {
		return engine.CallValue{}, over
	}
	defer release()
	id, err := h.spend()
	if err != nil {
		return engine.CallValue{}, err.At(server, tool)
	}
	req := h.request
	req.CallID, req.Server, req.Tool, req.Method, req.Args = id, server, tool, method, args
	if tool == "" {
		tool = method
	}
	if req.Timeout = o.Timeout; req.Timeout <= 0 {
		req.Timeout = r.limits.call
	}
	req.OnProgress = func(p upstream.Progress) {
		r.event("progress", proto.Progress{Call: id, Progress: p.Progress, Total: p.Total, Message: p.Message}, len(p.Message))
	}
	req.OnStart = func(s, t string) { server, tool = s, t }
	began := time.Now()
	r.event("call", proto.CallEvent{ID: id, Server: server, Tool: tool, Status: "running", Input: clip(string(args), shortInput), Script: h.mark}, shortInput)
	res, failed := r.m.o.Path.Call(ctx, req)
	failure := fault.From(failed)
	r.settle(id, proto.CallSummary{Server: server, Tool: tool, Status: call.Status(failure), MS: ms(time.Since(began)), Script: h.mark}, res)
	if failure != nil {
		if failure.Kind == fault.ApprovalRequired {
			// Nobody can approve, so nothing the program does can help: it ends
			// here, which it must not be able to catch.
			r.cancel(failure)
		}
		return engine.CallValue{}, failure
	}
	if o.Raw {
		return engine.CallValue{Value: res.Raw}, nil
	}
	return engine.CallValue{Value: res.Value, Raw: res.Raw}, nil
}

// maxName bounds the names of a server and a tool that is called, in bytes.
const maxName = 300

// shortInput is how much of a call's arguments its event shows.
const shortInput = 200

// spend takes one call from the budget.
func (r *Run) spend() (id int64, err *fault.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made-r.hookCalls >= r.limits.calls {
		return 0, fault.New(fault.ToolCallLimitExceeded, "the run has made its %d calls", r.limits.calls).
			WithHint("raise --max-calls or script.maxToolCalls, or split the work")
	}
	r.made++
	return int64(r.made), nil
}

// settle records the end of a call in the run's books.
func (r *Run) settle(id int64, s proto.CallSummary, res *call.Result) {
	r.mu.Lock()
	for int64(len(r.calls)) < id { // calls end in any order; the list is in the order of their beginnings
		r.calls = append(r.calls, proto.CallSummary{})
	}
	r.calls[id-1] = s
	r.mu.Unlock()
	r.event("call", proto.CallEvent{ID: id, Server: s.Server, Tool: s.Tool, Status: s.Status, MS: s.MS, Script: s.Script}, 0)
	if res == nil {
		return
	}
	for _, w := range res.Warnings {
		r.warn(w)
	}
	for _, a := range res.Artifacts {
		r.keepArtifact(a)
	}
	r.lifted.add(res.Lifted)
}

// warn adds a warning; one of the same words only once.
func (r *Run) warn(w proto.Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.warnings {
		if have == w {
			return
		}
	}
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, w)
	}
}

// maxWarnings bounds what a result carries; a loop over a bad server says the
// same things over and over.
const maxWarnings = 100

// Search serves search(query, options). It is no call and costs no budget.
func (h *host) Search(ctx context.Context, query []byte) ([]byte, error) {
	var q proto.Search
	if err := json.Unmarshal(query, &q); err != nil {
		return nil, fault.New(fault.InvalidToolInput, "search takes words and {namespace, limit, offset}").Because(err).
			WithHint(`for example search("screenshot", {limit: 5})`)
	}
	if q.Limit < 0 || q.Offset < 0 {
		return nil, fault.New(fault.InvalidToolInput, "limit and offset of a search are whole numbers, not below 0")
	}
	return proto.Marshal(h.r.m.o.Path.Search(ctx, h.request, q))
}

// Describe serves describe(path).
func (h *host) Describe(ctx context.Context, path string) ([]byte, error) {
	d, err := h.r.m.o.Path.Describe(ctx, h.request, path)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(d)
}

// Emit passes a value on at once. The event is cut at the run's output limit;
// the result has its own account of it.
func (h *host) Emit(value []byte) {
	value = h.r.lifted.redact(value)
	data := json.RawMessage(value)
	if int64(len(value)) > h.r.limits.output {
		data = quoted(clip(string(value), int(h.r.limits.output)))
	}
	h.r.mu.Lock()
	if n := &h.r.nest; len(n.emitted) < maxEmitted {
		n.emitted = append(n.emitted, h.part())
	}
	h.r.mu.Unlock()
	h.r.event("emit", data, len(data))
}

// part is the host itself where it is that of a program within the run, else nil.
func (h *host) part() *host {
	if len(h.chain) == 0 {
		return nil
	}
	return h
}

// Log passes a record on at once.
func (h *host) Log(l engine.LogRecord) {
	record := l.Wire()
	record.Script = h.mark
	record.Message, record.Attrs = h.r.lifted.text(record.Message), h.r.lifted.redact(record.Attrs)
	record.Message = clip(record.Message, int(h.r.limits.output))
	if int64(len(record.Attrs)) > h.r.limits.output {
		record.Attrs = nil
	}
	h.r.event("log", record, len(record.Message)+len(record.Attrs)+64)
}

// quoted is s as a JSON string.
func quoted(s string) json.RawMessage {
	text, err := proto.Marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return text
}

// clip is at most n bytes of s, cut between characters, with a mark that
// something is missing.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return headOf(s, max(0, n-len("…"))) + "…"
}

// headOf is at most n bytes of s, cut between characters.
func headOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
