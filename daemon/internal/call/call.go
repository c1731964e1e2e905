// Package call is the one path that every tool call takes, whatever surface it
// comes from: resolve in the view, check the arguments, permission, lease,
// recheck, record the intent, call, convert the result, record the outcome.
// Nothing else talks to an upstream server.
package call

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/consent"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/outbound"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// The kinds of waiting that OnWait tells of.
const (
	WaitHuman  = "human"  // somebody is asked for approval
	WaitAnswer = "answer" // somebody is asked what the server wants to know
	WaitQueue  = "queue"  // no instance is free
	WaitTool   = "tool"   // the server works
)

// Request is one call.
type Request struct {
	Caller  *peer.Caller
	Session *session.Session
	View    *config.View
	Cwd     string // empty: the caller's directory, else the session's
	Run     string // empty: nothing is recorded under one
	Lone    bool   // made by itself and not by a program: hints have the form of its surface
	CallID  int64  // number within the run
	Server  string // as configured, or its namespace
	Tool    string // the tool's own name, or its identifier
	// Method is a request other than a tool's call, and Tool is not set then: one
	// of ReadResource and GetPrompt, with Args as they say. Without a Server the
	// one that offers it is found.
	Method  string
	Args    json.RawMessage
	Timeout time.Duration  // 0: the tool's, else the server's
	Origin  proto.Origin   // the host's name of the tool call this belongs to
	Bridge  session.Bridge // that started the run; nil for shells

	// Listener hears what the server says beside its answers; may be nil.
	Listener *Listener

	OnWarn     func(proto.Warning)           // may be nil: warnings of a call that failed; those of others are in Result
	OnArtifact func(proto.Artifact)          // may be nil: artifacts of a call that failed; those of others are in Result
	OnProgress func(upstream.Progress)       // may be nil; must not block
	OnWait     func(kind string, begin bool) // may be nil; for the clocks
	OnAsk      func(proto.Ask)               // may be nil: a question is pending
	OnQuestion func(proto.Question)          // nil: the caller's terminal answers no questions of servers
	OnWithdraw func(proto.Withdraw)          // may be nil: a question told to OnQuestion is over
	OnStart    func(server, tool string)     // may be nil: names are resolved; again, once a list says more
	OnLog      func(upstream.Log)            // may be nil: what the server logs meanwhile; must not block
	OnAnswer   func(raw json.RawMessage)     // may be nil: the server's result as it came, before it is judged
}

// Result is the answer to a call.
type Result struct {
	Server, Tool string          // by their own names
	Value        json.RawMessage // unwrapped; never nil
	Raw          json.RawMessage // the CallToolResult as the server sent it
	Artifacts    []proto.Artifact
	Lifted       []Lifted // of Artifacts, those whose bytes Raw still holds
	Warnings     []proto.Warning
	Times        Times
}

// Times splits the duration of a call.
type Times struct {
	Human, Queue, Tool, Total time.Duration
}

// Leases hands out instances; FromLeases makes one of a *lease.Manager.
type Leases interface {
	// Take waits for an instance; see lease.Manager.Take.
	Take(ctx context.Context, r lease.Request) (context.Context, Use, error)
	// Bound is the id of the instance a key is bound to, or empty.
	Bound(definition, key string) string
	// EndSession ends what a session holds; see lease.Manager.EndSession.
	EndSession(session, reason string)
}

// Use is one call's hold on an instance.
type Use interface {
	Instance() string // id
	Conn() upstream.Conn
	// Tools is the instance's newest list after every announced change was read.
	Tools(ctx context.Context) ([]upstream.Tool, uint64, error)
	// Relist reads the list again even if no change was announced.
	Relist(ctx context.Context) ([]upstream.Tool, uint64, error)
	Lost() bool // the session had used another instance, whose state is gone
	Done()
}

// Options configure a Path. Leases and Catalog are required.
type Options struct {
	Leases  Leases
	Catalog *catalog.Catalog
	Memory  *policy.Memory  // nil: nothing is remembered
	Consent *consent.Router // nil: nobody can be asked
	History *history.Store  // nil: nothing is recorded
	// Define expands a server; nil: the view's own Define.
	Define func(v *config.View, server string, env config.Env, p config.Placeholders) (*config.Definition, error)
	// Scripts are the saved scripts that a caller may run, for search and
	// describe; nil: there are none. Request has View, Session and Caller.
	Scripts func(ctx context.Context, r Request) []catalog.Script
	// Network makes the requests of fetch; nil: nobody has it.
	Network *outbound.Network
	// Current is the newest view of the same place, for rules that were
	// tightened meanwhile; nil: the request's own.
	Current func(v *config.View) *config.View
	// Ensure resolves a session that is known by its id only, before its first
	// scope key is made; nil: not needed.
	Ensure func(ctx context.Context, s *session.Session) error
	// SessionDirs holds the private directories of ${sessionDir}.
	SessionDirs string
	Log         *slog.Logger // nil: discarded
	// Ended hears of the end of every call; it must not block. May be nil.
	Ended func(Ended)
}

// Ended is the end of a call, for statistics.
type Ended struct {
	Server string     // as configured; empty: none was found
	Status string     // one of the statuses
	Kind   fault.Kind // empty for StatusOK
	Times  Times
}

// Path makes calls. It is safe for concurrent use.
type Path struct {
	o           Options
	log         *slog.Logger
	definitions definitions
	namespaces  namespaces
	indexes     indexes
	told        catalog.Told
	akin        akin
	listening   listening
}

// New makes the path.
func New(o Options) *Path {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Define == nil {
		o.Define = (*config.View).Define
	}
	if o.Current == nil {
		o.Current = func(v *config.View) *config.View { return v }
	}
	return &Path{o: o, log: o.Log}
}

// maxPasses is how often a call is validated and permitted anew because the
// tool or the rules changed while it waited; design.md §1: once. A tool never
// listed before takes one more.
const maxPasses = 2

// Call makes one call. Its errors are *fault.Error with server and tool; a call
// is never repeated, whatever happened to it. The end of ctx cancels the call
// upstream with the text of context.Cause(ctx) as the reason.
func (p *Path) Call(ctx context.Context, req Request) (*Result, error) {
	began := time.Now()
	c := &call{p: p, req: &req, began: began}
	result, err := c.do(ctx)
	if err != nil {
		failure := fault.From(err)
		if failure.Server == "" { // a copy: it may be why the whole run ends
			named := *failure
			named.Server, named.Tool = req.Server, req.Tool
			failure = &named
		}
		if req.OnWarn != nil {
			for _, w := range c.warnings {
				req.OnWarn(w)
			}
		}
		if req.OnArtifact != nil {
			for _, a := range c.artifacts {
				req.OnArtifact(a)
			}
		}
		c.finish(failure)
		return nil, failure
	}
	if c.tool != nil {
		p.o.Catalog.Observe(c.tool, result.Value)
	}
	result.Times = c.times
	result.Times.Total = time.Since(began)
	c.finish(nil)
	return result, nil
}

// call is the state of one Call.
type call struct {
	p     *Path
	req   *Request
	began time.Time
	times Times

	target
	granted   *grant // what a human approved
	decided   string // hash of the newest view that the verdict rests on
	warnings  []proto.Warning
	artifacts []proto.Artifact
	lifted    []Lifted
	intent    history.Intent
	intentID  uint64
}

func (c *call) do(ctx context.Context) (*Result, error) {
	if err := c.resolve(ctx); err != nil {
		return nil, err
	}
	for pass := 0; ; pass++ {
		if err := c.validate(); err != nil {
			return nil, err
		}
		if err := c.permit(ctx); err != nil {
			return nil, err
		}
		result, changed, err := c.leased(ctx)
		if !changed || err != nil {
			return result, err
		}
		if pass == maxPasses {
			return nil, fault.New(fault.ServerUnavailable, "%s/%s changes its definition faster than it can be called", c.server.Name, c.toolName).
				WithHint("the call was not made; look at the server with tenon ls %s", c.server.Name)
		}
	}
}

// leased takes an instance, looks whether everything still holds, and calls.
// Changed means that the call was not made and must be looked at anew.
func (c *call) leased(ctx context.Context) (result *Result, changed bool, err error) {
	if err := c.ended(); err != nil {
		return nil, false, err
	}
	var held context.Context
	var use Use
	var list listed
	c.wait(WaitQueue, &c.times.Queue, func() {
		held, use, err = c.p.o.Leases.Take(ctx, lease.Request{
			Def: c.def, Scope: c.server.Scope, Key: c.key, Timeout: c.limit(),
			Holder: lease.Holder{Session: c.session, Root: c.root, Run: c.req.Run, Dir: c.cwd},
		})
		if err == nil {
			list.tools, list.revision, list.err = use.Tools(held)
		}
	})
	if err != nil {
		return nil, false, c.explain(ctx, err)
	}
	defer use.Done()
	// Told before anything else can end this pass: leases say it once.
	if use.Lost() && !(c.server.Stateless && c.server.Scope == config.Shared) {
		c.warn("StateLost", "server "+c.server.Name+": the instance this session used before is gone, and its state with it")
	}
	if err := c.ended(); err != nil {
		// Its end may have come before the binding: nobody else would end that.
		c.p.o.Leases.EndSession(c.session, err.Message)
		return nil, false, err
	}
	c.p.listening.join(held, c, use)
	same, err := c.recheck(held, use, list)
	if err != nil || !same {
		return nil, !same && err == nil, err
	}
	result, err = c.send(held, use)
	return result, false, err
}

// ended refuses a call of a session that is over: it must not make bindings
// that nobody gives back.
func (c *call) ended() *fault.Error {
	if c.req.Session == nil {
		return nil
	}
	select {
	case <-c.req.Session.Ended():
		return fault.New(fault.Cancelled, "session %s has ended", c.session).At(c.server.Name, c.toolName)
	default:
		return nil
	}
}

// send records the intent and makes the one upstream call.
func (c *call) send(ctx context.Context, use Use) (*Result, error) {
	conn := use.Conn()
	if conn == nil {
		return nil, fault.New(fault.ServerUnavailable, "server %s went away before the call was sent", c.server.Name).
			WithHint("the call was not made; it can be tried again")
	}
	c.begin(use.Instance())
	var raw json.RawMessage
	var err error
	q := &questions{c: c}
	c.wait(WaitTool, &c.times.Tool, func() {
		defer q.close()
		raw, err = conn.Call(ctx, upstream.Call{
			Tool: c.toolName, Method: c.req.Method, Owner: c.owner(), Log: c.req.OnLog, Arguments: c.args, Timeout: c.limit(), Wall: c.server.CallWall, Progress: c.req.OnProgress,
			Questions: q, Patience: c.patience(),
		})
	})
	if err != nil {
		return nil, doubted(fault.From(c.explain(ctx, err)))
	}
	if c.req.OnAnswer != nil {
		c.req.OnAnswer(raw)
	}
	if c.req.Method != "" {
		return c.convertMethod(raw)
	}
	return c.convert(raw)
}

// explain prefers the reason why a context ended over what a lower room made
// of it, and names server and tool.
func (c *call) explain(ctx context.Context, err error) error {
	failure := fault.From(err)
	if ctx.Err() != nil && (failure.Kind == fault.Cancelled || failure.Kind == fault.InternalError) {
		if cause := fault.From(context.Cause(ctx)); cause != nil {
			copied := *cause
			failure = &copied
		}
	}
	if failure.Server == "" {
		named := *failure
		named.Server, named.Tool = c.server.Name, c.toolName
		return &named
	}
	return failure
}

// limit is how long the server may take until it reports progress.
func (c *call) limit() time.Duration {
	if c.req.Timeout > 0 {
		return c.req.Timeout
	}
	if t := c.server.Tools[c.toolName].CallTimeout; t > 0 {
		return t
	}
	return c.server.CallTimeout
}

// patience is how long a human may take.
func (c *call) patience() time.Duration {
	if t := c.req.View.Permissions.AskTimeout; t > 0 {
		return t
	}
	return consent.DefaultTimeout
}

// wait runs f on one of the clocks.
func (c *call) wait(kind string, total *time.Duration, f func()) {
	if c.req.OnWait != nil {
		c.req.OnWait(kind, true)
		defer c.req.OnWait(kind, false)
	}
	began := time.Now()
	f()
	*total += time.Since(began)
}

func (c *call) warn(kind, message string) {
	for _, w := range c.warnings {
		if w.Kind == kind && w.Message == message {
			return
		}
	}
	c.warnings = append(c.warnings, proto.Warning{Kind: kind, Message: message})
}
