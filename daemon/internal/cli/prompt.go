package cli

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strings"

	"tenon/daemon/internal/client"
	"tenon/proto"
)

// put puts one question and sends the answer; false means that nobody types,
// and the daemon's own limit ends the question.
func (a *app) put(ctx context.Context, c *client.Client, t *typist, who string, q proto.Ask, over <-chan struct{}) bool {
	a.note("%s wants to call %s %s", who, q.Key, short(string(q.Arguments), 200))
	a.note("allow? [y]es, [a]lways here, [n]o (or: no, and why)")
	line, err := t.line(ctx, over)
	if errors.Is(err, errOver) {
		a.note("%s: %v", q.ID, err)
		return true
	}
	if err != nil || ctx.Err() != nil {
		return false
	}
	if err := c.Answer(ctx, q.ID, reply(line)); err != nil && ctx.Err() == nil {
		a.note("%s: %v", q.ID, err)
	}
	return true
}

// queued is a question of the approvals queue.
type queued struct {
	proto.Approval
	over <-chan struct{} // closed when nobody wants the answer any more
}

// putAll puts the questions of others, as they come, to the person at the
// terminal; one that was settled meanwhile is passed over.
func (a *app) putAll(ctx context.Context, c *client.Client, questions <-chan queued) {
	d := &desk{app: a, client: c}
	t := &typist{in: bufio.NewReader(a.In), lines: make(chan entered, 1)}
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-questions:
			pending, err := c.Approvals(ctx)
			if err == nil && !slices.ContainsFunc(pending, func(p proto.Approval) bool { return p.ID == q.ID }) {
				continue
			}
			if q.Kind != "" {
				asked := questionOf(q.Approval)
				if !d.answer(ctx, t, put{question: &asked, over: q.over}) {
					return
				}
				continue
			}
			ask := proto.Ask{ID: q.ID, Key: q.Key, Arguments: q.Arguments}
			if !a.put(ctx, c, t, q.ID+", session "+q.Session+",", ask, q.over) {
				return
			}
		}
	}
}

// reply reads what somebody typed; anything but a clear yes is a no, and what
// follows the no is told to the program.
func reply(line string) proto.ApprovalReply {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(strings.TrimRight(word, ",.")) {
	case "y", "yes":
		return proto.ApprovalReply{Decision: "approve"}
	case "a", "always":
		return proto.ApprovalReply{Decision: "always"}
	case "n", "no", "":
		return proto.ApprovalReply{Decision: "deny", Feedback: strings.TrimSpace(rest)}
	default:
		return proto.ApprovalReply{Decision: "deny", Feedback: strings.TrimSpace(line)}
	}
}
