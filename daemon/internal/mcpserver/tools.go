package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/run"
	"tenon/proto"
)

// outcome is what a tool of code mode came to: the text for the model, and what
// happened besides for whoever reads the transcript.
type outcome struct {
	text   string
	images []proto.Image
	failed *proto.Error
	meta   map[string]any
}

// metaKey names what tenon adds to a result; clients do not show it to models.
const metaKey = "tenon/"

// result is an outcome for the client. A failure is content that says so, with
// kind and hint: an error of JSON-RPC would never reach the model.
func (o outcome) result() *mcp.CallToolResult {
	meta := mcp.Meta{}
	for k, v := range o.meta {
		meta[metaKey+k] = v
	}
	if o.failed != nil {
		meta[metaKey+"error"] = map[string]string{"kind": o.failed.Kind, "message": o.failed.Message, "hint": o.failed.Hint}
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: o.text}}, IsError: o.failed != nil}
	for _, image := range o.images {
		data, err := base64.StdEncoding.DecodeString(image.Data)
		if err == nil { // of our own making
			res.Content = append(res.Content, &mcp.ImageContent{Data: data, MIMEType: image.MimeType})
		}
	}
	if len(meta) > 0 {
		res.Meta = meta
	}
	return res
}

// failure is an outcome that is only an error.
func failure(err error) outcome {
	e := fault.From(err).Wire()
	return outcome{text: run.ErrorText(e), failed: e}
}

// call answers tools/call in any mode.
func (x *exchange) call(p *mcp.CallToolParamsRaw) (mcp.Result, error) {
	feed := x.feed(p.GetProgressToken())
	defer feed.close()
	if !x.c.mode.code() {
		return x.direct(p.Name, p.Arguments, feed)
	}
	x.onFrame = feed.frame()
	tools := gateway()
	i := slices.IndexFunc(tools, func(t gatewayTool) bool { return t.name == p.Name })
	var o outcome
	if i < 0 {
		o = failure(x.unknown(p.Name, p.Arguments))
	} else if given, err := tools[i].read(p.Arguments); err != nil {
		o = failure(err)
	} else {
		o = tools[i].do(x, given)
	}
	feed.close() // what was on the way comes before the answer
	return o.result(), nil
}

// spec is what programs and calls have in common.
func (x *exchange) spec() run.Spec {
	return run.Spec{
		Caller: x.caller, Session: x.caller.Session, View: x.view, Surface: "mcp", Bridge: x.bridge(),
		Origin: proto.Origin{Session: x.caller.Session.ID}, OnFrame: x.onFrame, Attached: true,
	}
}

func (x *exchange) exec(given map[string]json.RawMessage) outcome {
	spec := x.spec()
	spec.Exec = proto.ExecRequest{Code: get[string](given, "code"), Engine: get[string](given, "engine"), Input: given["input"]}
	if _, ok := given["timeout"]; ok {
		ms := int64(math.Round(get[float64](given, "timeout") * 1000))
		spec.Exec.TimeoutMS = &ms
	}
	started, err := x.c.s.o.Runs.Start(x.ctx, spec)
	if err != nil {
		return failure(err)
	}
	res := started.Wait()
	return outcome{text: run.Text(res, textLimits), failed: res.Error, meta: map[string]any{"run": res.ID, "calls": res.Calls, "result": res}}
}

func (x *exchange) callOne(given map[string]json.RawMessage) outcome {
	res, err := x.c.s.o.Runs.Call(x.ctx, run.CallSpec{
		Spec: x.spec(), Server: get[string](given, "server"), Tool: get[string](given, "tool"),
		Arguments: given["arguments"], Text: textLimits,
	})
	if err != nil {
		return failure(err)
	}
	return outcome{text: res.Text, images: res.Images}
}

func (x *exchange) search(given map[string]json.RawMessage) outcome {
	q := proto.Search{
		Query: get[string](given, "query"), Namespace: get[string](given, "namespace"),
		Limit: get[int](given, "limit"), Offset: get[int](given, "offset"),
	}
	found := x.c.s.o.Path.Search(x.ctx, x.request(""), q)
	var lines []string
	for _, item := range found.Items {
		lines = append(lines, foundLine(item))
	}
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("No tool matches %q.", q.Query))
	}
	if found.Next != nil {
		lines = append(lines, fmt.Sprintf("%d more: offset %d", found.Remaining, found.Next.Offset))
	}
	return outcome{text: strings.Join(lines, "\n"), meta: map[string]any{"total": found.Total}}
}

// foundLine is one thing found as a model reads it. What it knows from the line
// already is not said again: that a result is of no known type, and the names of
// server and tool where the path has them.
func foundLine(item proto.SearchItem) string {
	line := strings.TrimSuffix(item.Signature, ": Promise<unknown>")
	if about, _, _ := strings.Cut(item.Description, "\n"); about != "" {
		line += " — " + about
	}
	switch {
	case item.Kind == catalog.KindScript:
		line += " [saved script]"
	case item.Path != "tools."+item.Server+"."+item.Tool:
		line += fmt.Sprintf(" [server %q, tool %q]", item.Server, item.Tool)
	}
	return line
}

func (x *exchange) types(given map[string]json.RawMessage) outcome {
	t, err := x.c.s.o.Path.Types(x.ctx, x.request(""), proto.TypesQuery{Paths: get[[]string](given, "paths")})
	if err != nil {
		return failure(err)
	}
	return outcome{text: t.Text}
}

func (x *exchange) catalogue(given map[string]json.RawMessage) outcome {
	found, err := x.c.s.o.Path.Catalog(x.ctx, x.request(""), proto.CatalogQuery{Budget: get[int](given, "budget"), Since: get[string](given, "since")})
	if err != nil {
		return failure(err)
	}
	x.remember()
	return outcome{text: found.Text + "\nfingerprint: " + found.Fingerprint,
		meta: map[string]any{"fingerprint": found.Fingerprint, "partial": found.Partial, "total": found.Total, "shown": found.Shown}}
}

func (x *exchange) status(map[string]json.RawMessage) outcome {
	st, err := x.c.s.o.Status(x.ctx, x.caller)
	if err != nil {
		return failure(err)
	}
	return outcome{text: st.Text, meta: map[string]any{"session": st.Session.ID}}
}

// direct calls an upstream tool under the name that the client lists it by, and
// gives the server's result as it came. Failures of the path are content, since
// a model must see them; they say isError, as the server's own do.
func (x *exchange) direct(name string, args json.RawMessage, feed *feed) (mcp.Result, error) {
	server, tool := x.c.mode.server, name
	if x.c.mode.flat {
		at, err := x.resolve(name)
		if err != nil {
			return failure(err).result(), nil
		}
		server, tool = at.at.Server, at.tool.Name
	}
	var answer json.RawMessage
	x.onFrame = feed.frame()
	spec := run.CallSpec{
		Spec: x.spec(), Server: server, Tool: tool, Arguments: args,
		OnAnswer: func(raw json.RawMessage) { answer = append(json.RawMessage(nil), raw...) },
		Listener: x.c.listener(), OnLog: feed.serverLog(server),
	}
	_, err := x.c.s.o.Runs.Call(x.ctx, spec)
	feed.close()
	if answer != nil && (err == nil || fault.KindOf(err) == fault.ToolFailure) && json.Valid(answer) {
		return &raw{json: objectResult(answer)}, nil
	}
	if x.c.mode.server != "" {
		err = x.near(err, name)
	}
	return failure(err).result(), nil
}
