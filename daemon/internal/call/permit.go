package call

import (
	"context"
	"encoding/json"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/consent"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// grant is a human's approval of this call. It binds the definition and the
// tool as they were shown; the arguments are this call's own.
type grant struct {
	definition  string
	fingerprint string // empty: the tool was not listed yet
	always      bool   // still to be remembered, once the tool is known
}

// permit decides, and asks where the verdict says so.
func (c *call) permit(ctx context.Context) error {
	verdict := c.decide(ctx)
	switch verdict.Action {
	case policy.Allow:
		return nil
	case policy.Ask:
		if c.stillGranted() {
			c.remember(verdict.Key)
			return nil
		}
		return c.ask(ctx, verdict)
	default:
		return c.denied(verdict)
	}
}

// decide gives the verdict by the pinned view and by the newest one, whichever
// is stricter: rules that were tightened hold from the next call on.
func (c *call) decide(ctx context.Context) policy.Verdict {
	verdict, view := c.verdict(ctx, c.toolName, c.fingerprint())
	c.decided = view
	return verdict
}

// verdict is decide for a tool of the call's server, or for what the rules see
// as one, with the hash of the newest view that it rests on. It changes nothing.
func (c *call) verdict(ctx context.Context, tool, fingerprint string) (policy.Verdict, string) {
	in := policy.Input{
		View: c.req.View, Class: peer.Stranger, Server: c.server.Name, Tool: tool, SharedWith: c.sharing(ctx, tool),
	}
	if c.web != "" {
		in.Key, in.Resource, in.SharedWith = WebFetch, c.web, nil
	}
	if c.req.Caller != nil {
		in.Class = c.req.Caller.Class
	}
	in.HostRead = c.hostPattern()
	if s := c.req.Session; s != nil {
		in.Host = s.Rules()
		in.Hosted = in.Host != nil || s.State() == session.Attached || s.State() == session.Provisional
	}
	if c.p.o.Memory != nil {
		in.Remembered = c.p.o.Memory.Allowed(project(c.req.View), c.server.Name, tool, fingerprint)
		in.Outdated = c.p.o.Memory.Outdated(project(c.req.View), c.server.Name, tool, fingerprint)
	}
	verdict := policy.Decide(in)
	now := c.p.o.Current(c.req.View)
	if now == nil || now.Hash == c.req.View.Hash {
		return verdict, c.req.View.Hash
	}
	in.View = now
	if second := policy.Decide(in); policy.Stricter(verdict.Action, second.Action) != verdict.Action {
		verdict = second
	}
	return verdict, now.Hash
}

// stillGranted reports whether a human has approved this very call, and neither
// definition nor tool has changed since.
func (c *call) stillGranted() bool {
	if c.granted == nil || c.granted.definition != c.def.ID {
		return false
	}
	return c.granted.fingerprint == "" || c.granted.fingerprint == c.fingerprint()
}

func (c *call) ask(ctx context.Context, verdict policy.Verdict) error {
	if c.p.o.Consent == nil {
		return fault.New(fault.ApprovalRequired, "%s needs approval, and nobody can be asked here (%s)", verdict.Key, verdict.From()).
			At(c.server.Name, c.toolName).WithHint("allow it with a permission rule for %q", verdict.Key)
	}
	q := c.approval(verdict)
	var answer consent.Answer
	var err error
	c.wait(WaitHuman, &c.times.Human, func() { answer, err = c.p.o.Consent.Ask(ctx, q) })
	c.audit(answer, err, verdict.Key)
	if err != nil {
		return err
	}
	c.granted = &grant{definition: c.def.ID, always: answer.Always, fingerprint: c.fingerprint()}
	c.remember(verdict.Key)
	return nil
}

// approval is the question for leave to make this call.
func (c *call) approval(verdict policy.Verdict) consent.Question {
	q := consent.Question{
		Session: c.session, Root: c.root, Origin: c.origin(), Run: c.req.Run, Bridges: c.answerers(),
		Key: verdict.Key, Resource: c.web, Server: c.server.Name, Tool: c.toolName, Arguments: c.shown(),
		Reason: verdict.From(), Timeout: c.req.View.Permissions.AskTimeout, Shown: c.req.OnAsk,
	}
	if c.req.Caller != nil {
		q.Interactive = c.req.Caller.Interactive
	}
	if s := c.req.Session; s != nil {
		q.Ended = s.Ended()
	}
	return q
}

// origin is the host's name of what the call belongs to. A shell's run has no
// tool call of the host, but it has the session.
func (c *call) origin() proto.Origin {
	o := c.req.Origin
	if o.Session == "" {
		o.Session = c.session
	}
	return o
}

// answerers are the bridges that may ask the session's user: the one that
// started the run, then the others, of which the newest is the likeliest to be
// looked at.
func (c *call) answerers() []session.Bridge {
	var out []session.Bridge
	if c.req.Bridge != nil {
		out = append(out, c.req.Bridge)
	}
	if s := c.req.Session; s != nil {
		bridges := s.Bridges()
		for i := len(bridges) - 1; i >= 0; i-- {
			if c.req.Bridge == nil || bridges[i].ID() != c.req.Bridge.ID() {
				out = append(out, bridges[i])
			}
		}
	}
	return out
}

// remember stores an approval for always, as soon as it is known what exactly
// was approved.
func (c *call) remember(key string) {
	if c.p.o.Memory == nil || !c.granted.always || c.fingerprint() == "" && c.web == "" {
		return
	}
	c.granted.always = false
	err := c.p.o.Memory.Remember(policy.Approval{
		Dir: project(c.req.View), Key: key, Server: c.server.Name, Tool: c.toolName, Fingerprint: c.fingerprint(),
	})
	if err != nil {
		c.warn("ApprovalNotRemembered", "the approval of "+key+" holds until the daemon ends: it could not be written")
		c.p.log.Error("approval not written", "key", key, "error", err)
	}
}

// audit records the answers of humans.
func (c *call) audit(a consent.Answer, err error, key string) {
	if c.p.o.History == nil {
		return
	}
	action := "approve"
	if a.Always {
		action = "approve-always"
	}
	if err != nil {
		if fault.KindOf(err) != fault.PermissionDenied {
			return
		}
		action = "deny"
	}
	c.p.o.History.Audit(a.By, action, key+" session "+c.session+" run "+c.req.Run)
}

// shown are the arguments as a question shows them: shortened, known secrets
// masked.
func (c *call) shown() json.RawMessage {
	text := string(c.args)
	if c.p.o.History != nil {
		text = c.p.o.History.Redactor().Text(text)
	}
	if len(text) <= 2<<10 && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	out, err := json.Marshal(clip(text, 2<<10))
	if err != nil { // a string always marshals
		return nil
	}
	return out
}

func (c *call) denied(verdict policy.Verdict) error {
	e := fault.New(fault.PermissionDenied, "%s is denied by %s", verdict.Key, verdict.From()).At(c.server.Name, c.toolName)
	if c.req.Caller != nil && c.req.Caller.Class == peer.Stranger {
		return e.WithHint("run it inside the agent's session, whose shell has TENON_TICKET and TENON_SESSION_ID; or the user allows it: permissions.rules {%q: \"allow\"}", verdict.Key)
	}
	return e.WithHint("do not try it in another way; the user can change the rule")
}

// listed is an instance's list of tools, as Use.Tools gives it.
type listed struct {
	tools    []upstream.Tool
	revision uint64
	err      error
}

// recheck looks whether tool and rules are what validate and permit saw. It
// reports false when the call must be looked at anew.
func (c *call) recheck(ctx context.Context, use Use, newest listed) (same bool, err error) {
	if newest.err != nil && ctx.Err() != nil {
		return false, c.explain(ctx, newest.err)
	}
	if c.req.Method != "" {
		return c.methodFits(use)
	}
	if newest.err != nil {
		c.warn("ToolsNotListed", "server "+c.server.Name+": its newest list of tools cannot be used, the one before stays: "+fault.From(newest.err).Message)
	}
	list := c.p.o.Catalog.Learn(c.def.ID, use.Instance(), newest.revision, newest.tools)
	now := find(list, c.req.Tool)
	if now == nil {
		// A server may have added it without telling yet.
		c.wait(WaitQueue, &c.times.Queue, func() { newest.tools, newest.revision, newest.err = use.Relist(ctx) })
		if newest.err != nil && ctx.Err() != nil {
			return false, c.explain(ctx, newest.err)
		}
		list = c.p.o.Catalog.Learn(c.def.ID, use.Instance(), newest.revision, newest.tools)
		now = find(list, c.req.Tool)
		if now == nil && newest.err != nil && (list == nil || len(list.Tools) == 0) {
			return false, c.explain(ctx, newest.err) // it may well have the tool
		}
		if now == nil {
			names := c.p.namespaces.of(c.req.View)
			return false, unknownTool(c.req, names.names[c.server.Name], c.server.Name, c.req.Tool, list)
		}
	}
	if c.tool == nil || c.tool.Fingerprint != now.Fingerprint {
		c.tool, c.toolName = now, now.Name
		if c.req.OnStart != nil { // its list was not known when names were resolved
			c.req.OnStart(c.server.Name, c.toolName)
		}
		return false, nil
	}
	c.tool = now
	current := c.p.o.Current(c.req.View)
	if current == nil || current.Hash == c.decided {
		return true, nil
	}
	// Most edits of a configuration are about something else: the rules are asked
	// again without giving up a place that was waited for. Only humans take so
	// long that it must not be kept meanwhile.
	switch verdict := c.decide(ctx); {
	case verdict.Action == policy.Allow, verdict.Action == policy.Ask && c.stillGranted():
		return true, nil
	case verdict.Action == policy.Ask:
		return false, nil
	default:
		return false, c.denied(verdict)
	}
}

// project is the directory that remembered approvals belong to.
func project(v *config.View) string {
	if v.Workspace != "" {
		return v.Workspace
	}
	return v.Dir
}

// clip is at most n bytes of s with a mark that something is missing.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n - len("…")
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
