package consent

import (
	"encoding/json"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/question"
	"tenon/proto"
)

// What servers ask stands in the queue beside the calls that must be approved:
// forms and pages, which a person can answer from any terminal. Completions do
// not, since no person is a model.

// queued reports whether the question stands in the queue.
func (p *inquiry) queued() bool { return p.q.Question.Kind == question.Elicitation }

// row is the question as the queue shows it; the caller holds Router.mu.
func (p *inquiry) row() proto.Approval {
	kind := "form"
	if p.q.Question.URL != "" {
		kind = "page"
	}
	return proto.Approval{
		ID: p.wire.ID, Session: p.q.Session, Root: p.q.Root, Run: p.q.Run,
		Key: policy.Key(p.q.Server, question.Elicitation), Server: p.q.Server, Tool: p.q.Tool,
		Since: p.since.UTC().Format(time.RFC3339Nano), Deadline: p.wire.Deadline,
		Shown: p.shown, Reason: "the server asks", Kind: kind, Params: p.q.Question.Params,
	}
}

// markInquiry notes where the question is before a user.
func (r *Router) markInquiry(p *inquiry, where string) {
	r.mu.Lock()
	same := p.shown == where
	p.shown = where
	r.mu.Unlock()
	if !same {
		r.inquiryChanged(p, true)
	}
}

// inquiryChanged tells of a question that stands in the queue.
func (r *Router) inquiryChanged(p *inquiry, pending bool) {
	if !p.queued() {
		return
	}
	r.mu.Lock()
	row := p.row()
	r.mu.Unlock()
	r.changed(row, pending)
}

// answerInquiry is Answer for a form or page: approve sends the values, or
// consents to the visit; deny declines.
func (r *Router) answerInquiry(p *inquiry, reply proto.ApprovalReply, by string) error {
	if reply.Feedback != "" {
		return fault.New(fault.UsageError, "what server %s asks has no place for feedback", p.q.Server)
	}
	if reply.Decision != "approve" && len(reply.Content) > 0 {
		return fault.New(fault.UsageError, "values go with approve, not with %s", reply.Decision)
	}
	switch reply.Decision {
	case "approve":
		values := map[string]json.RawMessage{}
		if len(reply.Content) > 0 && json.Unmarshal(reply.Content, &values) != nil {
			return fault.New(fault.UsageError, "content must be an object with the form's fields")
		}
		if p.q.Question.URL != "" && len(values) > 0 {
			return fault.New(fault.UsageError, "question %s is a page to visit: it takes no values", p.wire.ID)
		}
		result, err := question.Accepted(values)
		if err != nil {
			return fault.New(fault.UsageError, "content: %w", err)
		}
		return r.Reply(p.wire.ID, proto.Answer{Result: result}, by)
	case "deny":
		return r.Reply(p.wire.ID, proto.Answer{Result: question.Refusal(question.Decline)}, by)
	case "always":
		return fault.New(fault.UsageError, "what server %s asks is answered once", p.q.Server).WithHint("use approve or deny")
	}
	return fault.New(fault.UsageError, "decision %q does not exist", reply.Decision).WithHint("use approve or deny")
}
