package call

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"tenon/daemon/internal/consent"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/question"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// samplingTool is the name under which the rules know a server's wish for a
// completion: the key is <server>_sampling.
const samplingTool = "sampling"

// noModels is the host that has no way to a model for its plugins. It is not
// asked for leave to do what it cannot do.
const noModels = "opencode-v1"

// questions answers what the server asks during one upstream call. It runs
// beside that call: what it notes is handed to the call by close.
type questions struct {
	c *call

	mu       sync.Mutex
	open     int       // waits of humans that are going on
	since    time.Time // since when, while open > 0
	human    time.Duration
	warnings []proto.Warning
	closed   bool
}

var _ upstream.Questions = (*questions)(nil)

// Ask puts the question to whoever can answer it.
func (q *questions) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	asked, err := question.Read(question.KindOf(method), params)
	if err != nil {
		failure := fault.New(fault.InvalidToolInput, "%s cannot be put to anybody: %w", method, err)
		q.Declined(method, failure.Message)
		return nil, failure
	}
	answer, err := q.ask(ctx, asked)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil: // nobody wants an answer any more, and nothing went wrong
		return nil, err
	}
	q.Declined(method, fault.From(err).Message)
	if consent.IsLate(err) && asked.Kind == question.Elicitation {
		return question.Refusal(question.Cancel), nil // somebody was asked, and chose nothing
	}
	return nil, err
}

func (q *questions) ask(ctx context.Context, asked *question.Question) (json.RawMessage, error) {
	c := q.c
	if c.p.o.Consent == nil {
		return nil, fault.New(fault.ApprovalRequired, "nobody can be asked here")
	}
	bridges := c.answerers()
	if asked.Kind == question.Sampling {
		if err := q.permit(ctx, bridges); err != nil {
			return nil, err
		}
	}
	in := consent.Inquiry{
		Session: c.session, Root: c.root, Bridges: bridges, Origin: c.origin(), Run: c.req.Run,
		Server: c.server.Name, Tool: c.toolName, Question: asked,
		Timeout: c.req.View.Permissions.AskTimeout, Shown: c.req.OnQuestion, Over: c.req.OnWithdraw,
	}
	if s := c.req.Session; s != nil {
		in.Ended = s.Ended()
	}
	if who := c.req.Caller; who != nil {
		// Whoever may not approve may not answer in the user's place either.
		in.Terminal = who.Interactive && c.req.OnQuestion != nil && who.May(peer.Approve) == nil
	}
	var answer json.RawMessage
	var by string
	var err error
	q.Waiting(func() { answer, by, err = c.p.o.Consent.Inquire(ctx, in) })
	if err == nil && c.p.o.History != nil {
		// That it was answered is kept, what was answered is not.
		c.p.o.History.Audit(by, "answer "+asked.Kind, c.server.Name+"/"+c.toolName+" session "+c.session+" run "+c.req.Run)
	}
	return answer, err
}

// permit holds a wish for a completion against the rules: it spends the user's
// tokens on a server's words.
func (q *questions) permit(ctx context.Context, bridges []session.Bridge) error {
	c := q.c
	verdict, _ := c.verdict(ctx, samplingTool, "")
	switch verdict.Action {
	case policy.Allow:
		return nil
	case policy.Deny:
		return fault.New(fault.PermissionDenied, "%s is denied by %s", verdict.Key, verdict.From())
	}
	var able []session.Bridge
	for _, b := range bridges {
		if b.Host() != noModels {
			able = append(able, b)
		}
	}
	if len(able) == 0 {
		return nil // Inquire says who cannot, and why
	}
	ask := c.approval(verdict)
	ask.Tool, ask.Arguments, ask.Bridges = samplingTool, nil, able
	var answer consent.Answer
	var err error
	q.Waiting(func() { answer, err = c.p.o.Consent.Ask(ctx, ask) })
	c.audit(answer, err, verdict.Key)
	return err
}

// Declined warns the caller of a question that was put to nobody.
func (q *questions) Declined(method, why string) {
	w := proto.Warning{Kind: "QuestionDeclined", Message: fmt.Sprintf("server %s asked %s, which was declined: %s", q.c.server.Name, method, why)}
	q.c.p.log.Info("server's question declined", "server", q.c.server.Name, "tool", q.c.toolName,
		"session", q.c.session, "run", q.c.req.Run, "method", method, "reason", why)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.warnings = append(q.warnings, w)
	}
}

// Waiting runs a wait for a human. While there is one the tool's clock of the
// run stands still and the human's runs.
func (q *questions) Waiting(wait func()) {
	q.mu.Lock()
	if q.open++; q.open == 1 && !q.closed {
		q.since = time.Now()
		q.clock(true)
	}
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.open--; q.open == 0 && !q.closed {
			q.human += time.Since(q.since)
			q.clock(false)
		}
	}()
	wait()
}

// clock changes between the tool's clock and the human's.
func (q *questions) clock(human bool) {
	if on := q.c.req.OnWait; on != nil {
		on(WaitTool, !human)
		on(WaitAnswer, human)
	}
}

// close ends the accounts when the upstream call has returned: waits that go on
// beyond it are nobody's.
func (q *questions) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if q.open > 0 {
		q.human += time.Since(q.since)
		q.clock(false)
	}
	q.c.times.Human += q.human
	q.c.times.Tool -= q.human
	for _, w := range q.warnings {
		q.c.warn(w.Kind, w.Message)
	}
}
