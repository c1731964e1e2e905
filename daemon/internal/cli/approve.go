package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
	"tenon/proto"
)

// questionOf is a form or page of the queue as the terminal puts it.
func questionOf(q proto.Approval) proto.Question {
	return proto.Question{ID: q.ID, Run: q.Run, Server: q.Server, Tool: q.Tool, Kind: question.Elicitation, Params: q.Params, Deadline: q.Deadline}
}

// asksFor says in a line what an answer to q is about: the arguments of a call,
// the fields of a form, the address of a page.
func asksFor(q proto.Approval) string {
	if q.Kind == "" || q.Params == nil { // the params of others are not shown
		return string(q.Arguments)
	}
	read, err := question.Read(question.Elicitation, q.Params)
	switch {
	case err != nil:
		return "cannot be shown: " + err.Error()
	case read.URL != "":
		return read.URL + "  " + short(read.Message, 60)
	case len(read.Fields) == 0:
		return short(read.Message, 60)
	}
	return strings.Join(fieldsOf(read), ", ") + "  " + short(read.Message, 60)
}

// fieldsOf names the fields of a form with what each takes.
func fieldsOf(q *question.Question) []string {
	out := make([]string, len(q.Fields))
	for i := range q.Fields {
		out[i] = short(q.Fields[i].Name, 60) + " (" + kindOf(&q.Fields[i])
		var offered []string
		for _, o := range q.Fields[i].Options {
			offered = append(offered, short(o.Value, 30))
		}
		if offered != nil {
			out[i] += ": " + short(strings.Join(offered, " | "), 100)
		}
		out[i] += ")"
	}
	return out
}

// approve answers a question of the queue with a yes: values are those of a
// form, as name=value. A form without them is filled in where somebody types.
func approve(ctx context.Context, a *app, id string, always bool, values []string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	reply := proto.ApprovalReply{Decision: "approve"}
	if always {
		reply.Decision = "always"
	}
	pending, err := c.Approvals(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	at := slices.IndexFunc(pending, func(q proto.Approval) bool { return q.ID == id })
	if at < 0 || pending[at].Kind == "" || pending[at].Params == nil { // whoever is not shown what is asked may not answer: the daemon says so
		if at >= 0 && pending[at].Kind == "" && len(values) > 0 {
			return fault.New(fault.UsageError, "%s is no form: --field does not go with it", id)
		}
		return settle(ctx, a, c, id, reply)
	}
	q := questionOf(pending[at])
	read, err := question.Read(q.Kind, q.Params)
	typed := a.canAsk() && !a.flags.json && !a.flags.quiet
	switch {
	case err != nil:
		return fault.New(fault.InvalidToolInput, "what server %s asks cannot be answered here: %w", q.Server, err)
	case always:
		return fault.New(fault.UsageError, "what server %s asks is answered once: --always does not go with it", q.Server)
	case read.URL != "" && len(values) > 0:
		return fault.New(fault.UsageError, "%s is a page to visit: --field does not go with it", id)
	case len(values) == 0 && typed:
		return fillIn(ctx, a, c, q)
	case read.URL != "":
		a.note("server %s wants you to visit a page at %s, which is not opened for you: %s", q.Server, read.Host(), read.URL)
	default:
		if reply.Content, err = contentOf(read, values); err != nil {
			return err
		}
	}
	return settle(ctx, a, c, id, reply)
}

// fillIn asks for the answer on the terminal and sends it. One that the daemon
// refuses may be given again; where nobody types, the question stays.
func fillIn(ctx context.Context, a *app, c *client.Client, q proto.Question) error {
	f := &filling{app: a, ctx: ctx, t: &typist{in: bufio.NewReader(a.In), lines: make(chan entered, 1)}}
	for {
		result, err := f.fill(q)
		if err != nil {
			return interrupted(ctx, fault.New(fault.Cancelled, "nothing was sent: %w", err))
		}
		switch err := c.Reply(ctx, q.ID, proto.Answer{Result: result}); {
		case isUsage(err):
			a.note("%v", err)
			continue
		case err != nil:
			return interrupted(ctx, err)
		}
		var answered struct {
			Action string `json:"action"`
		}
		_ = json.Unmarshal(result, &answered) // it is one of question's own making
		said := map[string]string{question.Accept: "answered", question.Decline: "declined", question.Cancel: "dismissed"}
		return a.done(q.ID+": "+said[answered.Action], map[string]any{"id": q.ID, "decision": answered.Action})
	}
}

// contentOf are the values of a form, each held against its field. The error
// names every mistake.
func contentOf(q *question.Question, values []string) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	var wrong []string
	for _, pair := range values {
		name, text, ok := strings.Cut(pair, "=")
		at := slices.IndexFunc(q.Fields, func(f question.Field) bool { return f.Name == name })
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("--field %s has no value: write name=value", short(pair, 60)))
			continue
		case at < 0:
			wrong = append(wrong, fmt.Sprintf("the form has no field %q", short(name, 60)))
			continue
		case given[name] != nil:
			wrong = append(wrong, fmt.Sprintf("field %q is given twice", name))
			continue
		}
		field := &q.Fields[at]
		value, err := field.Check(valueOf(field, text))
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("field %q %v", name, err))
			value = json.RawMessage("null") // it was given
		}
		given[name] = value
	}
	for _, f := range q.Fields {
		if f.Required && f.Default == nil && given[f.Name] == nil {
			wrong = append(wrong, fmt.Sprintf("field %q is missing", f.Name))
		}
	}
	if wrong != nil {
		return nil, fault.New(fault.UsageError, "%s", strings.Join(wrong, "; ")).
			WithHint("--field name=value for each of: %s", strings.Join(fieldsOf(q), ", "))
	}
	return marshal(given)
}
