//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/legible"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// asker puts questions of one call to the client that made it.
type asker struct{ x *exchange }

var _ session.Bridge = asker{}

// bridge is who is asked first about the call: its client, if that can show a
// question. What was started inside an agent's shell would answer itself: its
// session's host is asked instead.
func (x *exchange) bridge() session.Bridge {
	inside := x.caller.Class != peer.User && !x.caller.Host && x.caller.PID != 0
	if x.r.deaf || inside || !x.elicits() && !x.samples() {
		return nil
	}
	return asker{x}
}

// permits reports whether the client may answer what only the user may: whose
// class was not proven to be the user's answers for servers' questions only.
func (a asker) permits() bool {
	return a.x.caller.Class == peer.User && a.x.forms() && !a.x.mute.Load()
}

func (x *exchange) client() *mcp.ClientCapabilities {
	p := x.ss.InitializeParams()
	if p == nil || p.Capabilities == nil {
		return &mcp.ClientCapabilities{}
	}
	return p.Capabilities
}

func (x *exchange) elicits() bool { return x.client().Elicitation != nil }
func (x *exchange) samples() bool { return x.client().Sampling != nil }

func (a asker) ID() string        { return "mcp " + a.x.c.id }
func (a asker) PID() int          { return a.x.caller.PID }
func (a asker) Host() string      { return "mcp" }
func (a asker) Directory() string { return a.x.caller.Dir }
func (a asker) Interactive() bool { return a.permits() }
func (a asker) Event(proto.Frame) {} // the feed has them

func (a asker) Resolve(context.Context, string) (proto.Resolved, error) {
	return proto.Resolved{}, nil // a client knows no sessions
}

func (a asker) Notice(ctx context.Context, n proto.Notice) error {
	return a.x.c.notice(a.on(ctx), a.x.ss, n)
}

// on is ctx as seen from the call: what is sent with it goes out on the call's
// stream.
func (a asker) on(ctx context.Context) context.Context { return values{ctx, a.x.ctx} }

// values takes the end from one context and the values from another.
type values struct {
	context.Context
	from context.Context
}

func (v values) Value(key any) any { return v.from.Value(key) }

// forms reports whether the client shows forms; one that names neither form nor
// URL is of the protocol that knew forms only.
func (x *exchange) forms() bool {
	e := x.client().Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// answerSchema is the form that a permission question is.
var answerSchema = json.RawMessage(`{"type":"object","properties":{
	"answer":{"type":"string","title":"Answer","enum":["once","always","reject"],
		"enumNames":["Allow once","Always allow in this project","Reject"],"default":"once"},
	"feedback":{"type":"string","title":"What the model should do instead","description":"Only for reject."}
},"required":["answer"]}`)

// Ask puts a permission question as a form. Whom it cannot be put to is passed
// over.
func (a asker) Ask(ctx context.Context, q proto.Ask) (proto.AskReply, error) {
	if !a.permits() {
		return proto.AskReply{}, fault.New(fault.ApprovalRequired, "the MCP client cannot approve")
	}
	res, err := a.x.ss.Elicit(a.on(ctx), &mcp.ElicitParams{Mode: "form", Message: askText(q), RequestedSchema: answerSchema})
	if err != nil {
		if ctx.Err() == nil {
			a.x.mute.Store(true) // it has said that it shows forms, and does not: nobody is there
		}
		return proto.AskReply{}, fault.New(fault.ApprovalRequired, "the MCP client did not answer: %w", err)
	}
	if res.Action != "accept" {
		return proto.AskReply{Reply: "reject"}, nil
	}
	feedback, _ := res.Content["feedback"].(string)
	switch answer, _ := res.Content["answer"].(string); answer {
	case "once", "always":
		return proto.AskReply{Reply: answer}, nil
	default:
		return proto.AskReply{Reply: "reject", Feedback: feedback}, nil
	}
}

// askText is what the user reads before it is allowed. Names and arguments are a
// server's and a model's: what would move a cursor, turn the direction or begin a
// line of its own is written out, so that no question says more than it is.
func askText(q proto.Ask) string {
	text := "Allow " + legible.Line(q.Server+"/"+q.Tool) + "?"
	if len(q.Arguments) > 0 && string(q.Arguments) != "{}" {
		text += "\nArguments: " + legible.Line(short(string(q.Arguments)))
	}
	return text
}

// Question passes a server's question on, as far as the client can show it.
func (a asker) Question(ctx context.Context, q proto.Question) (proto.Answer, error) {
	on := a.on(ctx)
	switch {
	case q.Kind == "elicitation" && a.x.elicits():
		var p mcp.ElicitParams
		if err := json.Unmarshal(q.Params, &p); err != nil {
			return proto.Answer{}, fault.New(fault.InvalidToolOutput, "server %s asks something that cannot be read: %w", q.Server, err)
		}
		var form struct {
			Schema json.RawMessage `json:"requestedSchema"`
		}
		if err := json.Unmarshal(q.Params, &form); err == nil && p.RequestedSchema != nil {
			p.RequestedSchema = form.Schema // as it was written: its order is that of the fields
		}
		if p.Mode == "url" && a.x.client().Elicitation.URL == nil || p.Mode != "url" && !a.x.forms() {
			return proto.Answer{Unavailable: "the MCP client cannot show this kind of question"}, nil
		}
		p.Meta = nil // the server's tokens are none of the client's
		if a.x.c.mode.server == "" {
			// Beside tenon's own questions: whose this is must not be the server's to say.
			p.Message = "Server " + legible.Line(q.Server) + " asks: " + legible.Show(p.Message)
		}
		return answer(a.x.ss.Elicit(on, &p))
	case q.Kind == "sampling" && a.x.samples():
		var p mcp.CreateMessageWithToolsParams
		if err := json.Unmarshal(q.Params, &p); err != nil {
			return proto.Answer{}, fault.New(fault.InvalidToolOutput, "server %s asks something that cannot be read: %w", q.Server, err)
		}
		p.Meta = nil
		return answer(a.x.ss.CreateMessageWithTools(on, &p))
	}
	return proto.Answer{Unavailable: "the MCP client has not declared " + q.Kind}, nil
}

func answer(res any, err error) (proto.Answer, error) {
	if err != nil {
		return proto.Answer{}, fault.New(fault.ServerUnavailable, "the MCP client did not answer: %w", err)
	}
	data, err := json.Marshal(res)
	if err != nil {
		return proto.Answer{}, fault.New(fault.InternalError, "the client's answer cannot be written: %w", err)
	}
	return proto.Answer{Result: data}, nil
}
