// Package consent puts one question to whoever can answer it and waits for the
// answer: the bridge that started the run, the other bridges of the session, or
// a human at the approvals queue. A question settles exactly once, is taken
// back when nobody needs the answer any more, and fails closed when nobody is
// there. Whether to ask at all is package policy's business. What servers ask in
// the middle of a call goes the same way (Inquiry).
package consent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// Limits of waiting.
const (
	DefaultTimeout = 90 * time.Second // for a human who can see the question
	aloneTimeout   = 2 * time.Second  // for a host where nobody watches: it answers by itself or not at all
	noticeTimeout  = 2 * time.Second
)

// Question is one call that must be approved.
type Question struct {
	Session, Root string           // leaf and root
	Bridges       []session.Bridge // in the order in which they are asked; the one that started the run first
	Ended         <-chan struct{}  // closed when the session ends; nil: never
	Origin        proto.Origin
	Run           string
	Key           string // exact; never a pattern
	Resource      string // the URL of a request of fetch; empty for tools
	Server, Tool  string
	Arguments     json.RawMessage // shortened, secrets masked
	Reason        string          // the rule that asks
	Interactive   bool            // the caller's own terminal shows the question and can answer
	Timeout       time.Duration   // 0: DefaultTimeout
	Shown         func(proto.Ask) // told once, before anybody is asked; may be nil
}

// Answer is an approval. A refusal is an error.
type Answer struct {
	Always bool   // remember it for this tool in this project
	By     string // who answered: a bridge's id, or the queue's caller
}

// Options configure a Router.
type Options struct {
	Log *slog.Logger // nil: discarded
	// Changed hears of every question when it is asked, shown and settled; it
	// must not block.
	Changed func(a proto.Approval, pending bool)
	// Settled hears what came of every question of approval: Approved, Always,
	// Refused, Unanswered or Withdrawn. It must not block; may be nil.
	Settled func(outcome string)
}

// Router holds all pending questions. It is safe for concurrent use.
type Router struct {
	log     *slog.Logger
	changed func(proto.Approval, bool)
	told    func(outcome string)

	mu        sync.Mutex
	pending   map[string]*asked
	inquiries map[string]*inquiry
	watchers  int
}

// asked is one pending Question.
type asked struct {
	q        Question
	ask      proto.Ask
	since    time.Time
	deadline time.Time
	shown    string // where it is before a user; guarded by Router.mu

	once    sync.Once
	settled chan struct{}
	answer  Answer
	err     error
}

// settle gives the question its one answer; late ones are dropped.
func (p *asked) settle(a Answer, err error) (first bool) {
	p.once.Do(func() {
		p.answer, p.err, first = a, err, true
		close(p.settled)
	})
	return first
}

// New makes a router.
func New(o Options) *Router {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(proto.Approval, bool) {}
	}
	if o.Settled == nil {
		o.Settled = func(string) {}
	}
	return &Router{log: o.Log, changed: o.Changed, told: o.Settled, pending: map[string]*asked{}, inquiries: map[string]*inquiry{}}
}

// Watch says that somebody looks at the approvals queue (a dashboard, tenon
// approvals --watch) until release is called.
func (r *Router) Watch() (release func()) {
	r.mu.Lock()
	r.watchers++
	r.mu.Unlock()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.watchers--
		r.mu.Unlock()
	})
}

// Ask waits for the answer. Errors: PermissionDenied when refused (with the
// human's feedback, if any), ApprovalRequired when nobody is there or nobody
// answers in time, Cancelled when the session ends, else the cause of ctx's end.
func (r *Router) Ask(ctx context.Context, q Question) (Answer, error) {
	human := r.human(q)
	if !human && len(q.Bridges) == 0 {
		return Answer{}, nobody(q)
	}
	limit := q.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if !human {
		limit = min(limit, aloneTimeout)
	}
	p := r.open(q, limit)
	defer r.close(p)
	if q.Shown != nil {
		q.Shown(p.ask)
	}

	asking, stop := context.WithCancelCause(ctx)
	exhausted := make(chan struct{})
	go func() {
		defer close(exhausted)
		r.askBridges(asking, p)
	}()
	// The goroutine ends with its context; waiting for it keeps withdrawals
	// ordered before whatever the caller does next.
	defer func() {
		stop(fault.New(fault.Cancelled, "the question is settled"))
		<-exhausted
	}()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	tried := exhausted
	for {
		select {
		case <-p.settled:
			return p.answer, p.err
		case <-tried:
			tried = nil // the queue is all that is left
			if human = r.human(q); !human {
				p.settle(Answer{}, nobody(q))
			}
		case <-timer.C:
			p.settle(Answer{}, late(q, limit, human))
		case <-q.Ended:
			p.settle(Answer{}, fault.New(fault.Cancelled, "the session ended while %s waited for approval", q.Key).At(q.Server, q.Tool))
		case <-ctx.Done():
			p.settle(Answer{}, fault.From(context.Cause(ctx)))
		}
	}
}

// human is whether somebody can see the question now: a bridge may have found out
// that nobody is there.
func (r *Router) human(q Question) bool {
	return q.Interactive || r.watched() || slices.ContainsFunc(q.Bridges, session.Bridge.Interactive)
}

// watched is whether somebody looks at the queue.
func (r *Router) watched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watchers > 0
}

// open enters the question into the queue.
func (r *Router) open(q Question, limit time.Duration) *asked {
	now := time.Now()
	p := &asked{q: q, since: now, deadline: now.Add(limit), settled: make(chan struct{})}
	r.mu.Lock()
	id := newID()
	for r.pending[id] != nil {
		id = newID()
	}
	p.ask = proto.Ask{
		ID: id, Origin: q.Origin, Run: q.Run, Key: q.Key, Resource: q.Resource, Server: q.Server, Tool: q.Tool,
		Arguments: q.Arguments, Deadline: p.deadline.UTC().Format(time.RFC3339),
	}
	r.pending[id] = p
	row := p.row()
	r.mu.Unlock()
	r.changed(row, true)
	return p
}

// close takes the question out of the queue; it pairs with open.
func (r *Router) close(p *asked) {
	r.mu.Lock()
	delete(r.pending, p.ask.ID)
	row := p.row()
	r.mu.Unlock()
	r.changed(row, false)
	r.told(p.outcome())
}

// askBridges asks one bridge after the other until one answers. Those that
// cannot show the question in time, or are gone, are passed over. When none can,
// those with a user say where to answer.
func (r *Router) askBridges(ctx context.Context, p *asked) {
	for _, b := range p.q.Bridges {
		r.mark(p, b.Host()+" "+b.ID())
		reply, err := b.Ask(ctx, p.ask)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.log.Debug("question passed on", "ask", p.ask.ID, "bridge", b.ID(), "error", err)
			continue
		}
		switch reply.Reply {
		case "once", "always": // a host that remembers its own "always" says "once"
			p.settle(Answer{Always: reply.Reply == "always", By: b.ID()}, nil)
			return
		case "reject":
			p.settle(Answer{}, refused(p.q, reply.Feedback, reply.Denied))
			return
		}
	}
	r.mark(p, "")
	for _, b := range p.q.Bridges {
		if !b.Interactive() {
			continue
		}
		notice, cancel := context.WithTimeout(ctx, noticeTimeout)
		err := b.Notice(notice, proto.Notice{
			Level: "warning", Session: p.q.Session,
			Message: p.q.Key + " waits for approval: tenon approve " + p.ask.ID,
		})
		cancel()
		if err == nil {
			r.mark(p, "notice at "+b.Host()+" "+b.ID())
			return
		}
	}
}

// mark notes where the question is before a user.
func (r *Router) mark(p *asked, where string) {
	r.mu.Lock()
	p.shown = where
	row := p.row()
	r.mu.Unlock()
	r.changed(row, true)
}

// List shows the pending questions, oldest first: calls that must be approved,
// and the forms and pages of servers.
func (r *Router) List() []proto.Approval {
	r.mu.Lock()
	out := make([]proto.Approval, 0, len(r.pending))
	for _, p := range r.pending {
		out = append(out, p.row())
	}
	for _, p := range r.inquiries {
		if p.queued() {
			out = append(out, p.row())
		}
	}
	r.mu.Unlock()
	sort.Slice(out, func(i, j int) bool {
		if out[i].Since != out[j].Since {
			return out[i].Since < out[j].Since
		}
		return out[i].ID < out[j].ID
	})
	return out
}

// Answer answers a question from the queue. Whether the caller may do so is
// checked before. NotFound when it is no longer pending, UsageError for a
// decision that does not exist, or values that do not fit the form that is asked.
func (r *Router) Answer(id string, reply proto.ApprovalReply, by string) error {
	r.mu.Lock()
	p, inquired := r.pending[id], r.inquiries[id]
	r.mu.Unlock()
	switch {
	case p == nil && inquired != nil && inquired.queued():
		return r.answerInquiry(inquired, reply, by)
	case p == nil:
		return gone(id)
	case len(reply.Content) > 0:
		return fault.New(fault.UsageError, "question %s is no form: it takes no values", id)
	}
	var first bool
	switch reply.Decision {
	case "approve", "always":
		first = p.settle(Answer{Always: reply.Decision == "always", By: by}, nil)
	case "deny":
		first = p.settle(Answer{}, refused(p.q, reply.Feedback, false))
	default:
		return fault.New(fault.UsageError, "decision %q does not exist", reply.Decision).
			WithHint("use approve, always or deny")
	}
	if !first {
		return gone(id)
	}
	return nil
}

// Pending finds a question's row; for checks of who may answer it.
func (r *Router) Pending(id string) (proto.Approval, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending[id]
	if p == nil {
		return proto.Approval{}, false
	}
	return p.row(), true
}

// EndSession settles every question of a session, leaf or root, as Cancelled.
func (r *Router) EndSession(id, reason string) {
	r.mu.Lock()
	var ending []*asked
	for _, p := range r.pending {
		if p.q.Session == id || p.q.Root == id {
			ending = append(ending, p)
		}
	}
	r.mu.Unlock()
	for _, p := range ending {
		p.settle(Answer{}, fault.New(fault.Cancelled, "the session ended: %s", reason).At(p.q.Server, p.q.Tool))
	}
}

// row is the question as the queue shows it; the caller holds Router.mu.
func (p *asked) row() proto.Approval {
	return proto.Approval{
		ID: p.ask.ID, Session: p.q.Session, Root: p.q.Root, Run: p.q.Run, Key: p.q.Key,
		Server: p.q.Server, Tool: p.q.Tool, Arguments: p.q.Arguments,
		Since: p.since.UTC().Format(time.RFC3339Nano), Deadline: p.ask.Deadline,
		Shown: p.shown, Reason: p.q.Reason,
	}
}

func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "ask_" + hex.EncodeToString(b[:])
}
