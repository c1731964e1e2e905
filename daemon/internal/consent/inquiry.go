package consent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// Inquiry is what a server asks in the middle of a call: a form, a page to
// visit, or a completion of a model.
type Inquiry struct {
	Session, Root string           // leaf and root
	Bridges       []session.Bridge // in the order in which they are asked; the one that started the run first
	Ended         <-chan struct{}  // closed when the session ends; nil: never
	Origin        proto.Origin
	Run           string
	Server, Tool  string
	Question      *question.Question
	Terminal      bool                 // the caller's own terminal can answer, through Reply; it is asked last
	Timeout       time.Duration        // 0: DefaultTimeout
	Shown         func(proto.Question) // told when it is the terminal's turn; may be nil
	Over          func(proto.Withdraw) // told after Shown, when no answer is wanted any more; may be nil
}

// inquiry is one pending Inquiry.
type inquiry struct {
	q     Inquiry
	wire  proto.Question
	since time.Time
	shown string // where it is before a user; guarded by Router.mu

	once    sync.Once
	settled chan struct{}
	answer  json.RawMessage
	by      string
	err     error
}

func (p *inquiry) settle(answer json.RawMessage, by string, err error) (first bool) {
	p.once.Do(func() {
		p.answer, p.by, p.err, first = answer, by, err, true
		close(p.settled)
	})
	return first
}

// Inquire puts a server's question to one after the other who might answer, and
// gives the first answer that fits the question, as it is to be sent, and who
// gave it. All the while a form or page stands in the queue as well. Errors: ApprovalRequired when nobody can be asked, with the reason of
// each; TimeoutExceeded when nobody answers in time; Cancelled when the session
// ends, else the cause of ctx's end.
func (r *Router) Inquire(ctx context.Context, q Inquiry) (answer json.RawMessage, by string, err error) {
	limit := q.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	p := r.openInquiry(q, limit)
	defer r.closeInquiry(p)

	asking, stop := context.WithCancelCause(ctx)
	exhausted := make(chan struct{})
	go func() {
		defer close(exhausted)
		r.inquireOf(asking, p)
	}()
	// As in Ask: withdrawals come before whatever the caller does next.
	defer func() {
		stop(fault.New(fault.Cancelled, "%s", ending(err)))
		<-exhausted
	}()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.settled:
	case <-timer.C:
		p.settle(nil, "", fault.New(fault.TimeoutExceeded, "nobody answered within %s", limit))
	case <-q.Ended:
		p.settle(nil, "", fault.New(fault.Cancelled, "the session ended"))
	case <-ctx.Done():
		p.settle(nil, "", fault.From(context.Cause(ctx)))
	}
	<-p.settled
	return p.answer, p.by, p.err
}

// ending is what those who are still asked are told.
func ending(err error) string {
	if err == nil {
		return "the question is settled"
	}
	return err.Error()
}

// openInquiry makes the question known to Reply.
func (r *Router) openInquiry(q Inquiry, limit time.Duration) *inquiry {
	now := time.Now()
	p := &inquiry{q: q, since: now, settled: make(chan struct{})}
	r.mu.Lock()
	id := newID()
	for r.inquiries[id] != nil || r.pending[id] != nil {
		id = newID()
	}
	p.wire = proto.Question{
		ID: id, Origin: q.Origin, Run: q.Run, Server: q.Server, Tool: q.Tool,
		Kind: q.Question.Kind, Params: q.Question.Params, Deadline: now.Add(limit).UTC().Format(time.RFC3339),
	}
	r.inquiries[id] = p
	r.mu.Unlock()
	r.inquiryChanged(p, true)
	return p
}

func (r *Router) closeInquiry(p *inquiry) {
	r.mu.Lock()
	delete(r.inquiries, p.wire.ID)
	r.mu.Unlock()
	r.inquiryChanged(p, false)
}

// inquireOf asks the bridges, then the terminal, whose answer comes through
// Reply, then whoever looks at the queue. Where nobody is left it settles with
// the reasons.
func (r *Router) inquireOf(ctx context.Context, p *inquiry) {
	var reasons []string
	for _, b := range p.q.Bridges {
		r.markInquiry(p, b.Host()+" "+b.ID())
		answer, why := r.inquireAt(ctx, b, p)
		if ctx.Err() != nil {
			return
		}
		if why == "" {
			p.settle(answer, b.ID(), nil)
			return
		}
		r.log.Debug("server's question passed on", "ask", p.wire.ID, "bridge", b.ID(), "reason", why)
		reasons = append(reasons, b.Host()+": "+why)
	}
	r.markInquiry(p, "")
	switch {
	case p.q.Terminal && p.queued():
		r.markInquiry(p, "the caller's terminal")
		if p.q.Shown != nil {
			p.q.Shown(p.wire)
		}
		<-ctx.Done()
		if p.q.Over != nil {
			p.q.Over(proto.Withdraw{ID: p.wire.ID, Reason: context.Cause(ctx).Error()})
		}
		return
	case p.queued() && r.watched():
		return // an answer from the queue settles it, or the end of the time for one
	case p.q.Terminal:
		reasons = append(reasons, "a terminal has no model")
	case len(p.q.Bridges) == 0:
		reasons = append(reasons, "no host and no terminal stands behind the call")
	}
	if p.queued() {
		reasons = append(reasons, "no tenon approvals --watch is open")
	}
	p.settle(nil, "", fault.New(fault.ApprovalRequired, "nobody can answer (%s)", strings.Join(reasons, "; ")).
		At(p.q.Server, p.q.Tool))
}

// inquireAt asks one bridge; why says that it brought nothing.
func (r *Router) inquireAt(ctx context.Context, b session.Bridge, p *inquiry) (answer json.RawMessage, why string) {
	got, err := b.Question(ctx, p.wire)
	switch {
	case err != nil:
		return nil, fault.From(err).Message
	case got.Unavailable != "":
		return nil, got.Unavailable
	}
	answer, err = p.q.Question.Check(got.Result)
	if err != nil {
		return nil, "its answer does not fit: " + err.Error()
	}
	return answer, ""
}

// Reply answers a server's question from the caller's terminal. Whether the
// caller may do so is checked before. NotFound when it is no longer pending,
// UsageError for an answer that does not fit: it can be given again.
func (r *Router) Reply(id string, a proto.Answer, by string) error {
	r.mu.Lock()
	p := r.inquiries[id]
	r.mu.Unlock()
	if p == nil {
		return goneQuestion(id)
	}
	var answer json.RawMessage
	var failure error
	if a.Unavailable != "" {
		failure = fault.New(fault.ApprovalRequired, "nobody can answer (%s)", a.Unavailable).At(p.q.Server, p.q.Tool)
	} else {
		var err error
		if answer, err = p.q.Question.Check(a.Result); err != nil {
			return fault.New(fault.UsageError, "the answer to question %s does not fit: %w", id, err)
		}
	}
	if !p.settle(answer, by, failure) {
		return goneQuestion(id)
	}
	return nil
}

func goneQuestion(id string) *fault.Error {
	return fault.New(fault.NotFound, "question %s is not pending", id).
		WithHint("it may have been answered, taken back or expired")
}

// Inquired is who waits for the answer to a server's question.
type Inquired struct {
	ID, Session, Root, Run, Server, Tool string
	Since                                time.Time
}

// Inquiries lists the servers' questions that are pending, in no order.
func (r *Router) Inquiries() []Inquired {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Inquired
	for id, p := range r.inquiries {
		out = append(out, Inquired{
			ID: id, Session: p.q.Session, Root: p.q.Root, Run: p.q.Run, Server: p.q.Server, Tool: p.q.Tool, Since: p.since,
		})
	}
	return out
}

// IsLate reports whether an error of Inquire says that somebody was asked, and
// did not answer in time.
func IsLate(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Kind == fault.TimeoutExceeded
}
