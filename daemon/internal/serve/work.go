package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/daemon/internal/bridge"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/run"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// work does for the plugins' socket what runs does for the routes. Its
// requests pass the gate one by one, since the connection itself does not.
type work struct{ d *daemon }

var _ bridge.Work = work{}

// spec is what run/start and call/start have in common.
func (w work) spec(c *peer.Caller, b bridge.RunRequest) (run.Spec, error) {
	view, err := w.d.view(c, b.Start.Directory)
	if err != nil {
		return run.Spec{}, err
	}
	return run.Spec{
		Caller: c, Session: c.Session, View: view, Origin: b.Start.Origin, Bridge: b.Bridge,
		Surface: "bridge", OnFrame: b.OnFrame, Attached: true,
	}, nil
}

func (w work) Run(ctx context.Context, r bridge.RunRequest) (*proto.RunDone, error) {
	leave, err := w.d.gate.Enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	spec, err := w.spec(r.Caller, r)
	if err != nil {
		return nil, err
	}
	spec.Exec = proto.ExecRequest{
		Code: r.Start.Code, Engine: r.Start.Engine, Input: r.Start.Input, Cwd: r.Start.Directory,
	}
	spec.Lazy = true // it is waited for at once
	if r.Start.TimeoutMS > 0 {
		spec.Exec.TimeoutMS = &r.Start.TimeoutMS
	}
	started, err := w.d.runs.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	result := started.Wait()
	return &proto.RunDone{Result: *result, Text: run.Text(result, r.Start.Text)}, nil
}

func (w work) CancelRun(_ context.Context, c *peer.Caller, id, reason string) error {
	if reason == "" {
		reason = "cancelled by the host"
	}
	live, ok := w.d.runs.Get(id)
	if !ok {
		return nil // a cancel of something finished is ignored
	}
	if owner := live.Info().Session; !w.hosts(c, owner) {
		return fault.New(fault.PermissionDenied, "run %s belongs to session %q, which this host has not attached", id, owner).
			WithHint("the user ends it: tenon runs cancel %s", id)
	}
	if err := w.d.runs.Cancel(id, fault.New(fault.Cancelled, "%s", reason)); fault.KindOf(err) != fault.NotFound {
		return err
	}
	return nil
}

// hosts reports whether the process behind a bridge has attached the session.
func (w work) hosts(c *peer.Caller, id string) bool {
	s, ok := w.d.sessions.Get(id)
	return ok && slices.ContainsFunc(s.Bridges(), func(b session.Bridge) bool { return b.PID() == c.PID })
}

func (w work) Call(ctx context.Context, r bridge.CallRequest) (*proto.CallResult, error) {
	leave, err := w.d.gate.Enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	spec, err := w.spec(r.Caller, bridge.RunRequest{Bridge: r.Bridge, Start: proto.RunStart{Origin: r.Start.Origin, Directory: r.Start.Directory}})
	if err != nil {
		return nil, err
	}
	spec.Exec = proto.ExecRequest{Cwd: r.Start.Directory}
	return w.d.runs.Call(ctx, run.CallSpec{
		Spec: spec, Server: r.Start.Server, Tool: r.Start.Tool, Arguments: r.Start.Arguments, Raw: true, Text: r.Start.Text,
	})
}

func (w work) Search(ctx context.Context, c *peer.Caller, q proto.Search) (*proto.SearchResult, error) {
	return servers(w).Search(ctx, c, q)
}

func (w work) Catalog(ctx context.Context, c *peer.Caller, q proto.CatalogQuery) (*proto.Catalog, error) {
	return servers(w).Catalog(ctx, c, q)
}

func (w work) Types(ctx context.Context, c *peer.Caller, q proto.TypesQuery) (*proto.Types, error) {
	return servers(w).Types(ctx, c, q)
}

// Outcome records what one of the host's own tools came to.
func (w work) Outcome(c *peer.Caller, o proto.ToolOutcome) {
	actor := "host"
	if c.Session != nil {
		actor = c.Session.ID
	}
	w.d.history.Audit(actor, "tool "+o.Tool, fmt.Sprintf("%s, %d ms", o.Status, o.MS))
}

// Wants lists the variables that a directory's configuration names.
func (w work) Wants(dir, file string) []string { return config.Wanted(dir, file) }

// Status is what one session holds, with the text that a model sees.
func (w work) Status(ctx context.Context, c *peer.Caller) (*proto.SessionStatus, error) {
	out := &proto.SessionStatus{}
	if c.Session == nil {
		return nil, fault.New(fault.UsageError, "no session is named")
	}
	out.Session = c.Session.Info()
	mine := func(id string) bool { return id == c.Session.ID || id == c.Session.Root() }
	for _, l := range w.d.leases.List() {
		if mine(l.Session) || l.Scope == string(config.Shared) {
			out.Leases = append(out.Leases, l)
		}
	}
	for _, r := range w.d.runs.List() {
		if mine(r.Session) {
			out.Runs = append(out.Runs, r)
		}
	}
	for _, a := range w.d.consent.List() {
		if mine(a.Session) || mine(a.Root) {
			out.Approvals = append(out.Approvals, a)
		}
	}
	out.Session.Leases, out.Session.Runs = len(out.Leases), len(out.Runs)
	out.Text = statusText(out)
	return out, nil
}

func statusText(s *proto.SessionStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "session %s (%s), directory %s\n", s.Session.ID, s.Session.State, s.Session.Directory)
	if len(s.Leases) == 0 {
		b.WriteString("no server instances are held\n")
	}
	for _, l := range s.Leases {
		fmt.Fprintf(&b, "%s: %s, scope %s, instance %s, since %s", l.Server, l.State, l.Scope, l.Instance, l.Since)
		if l.Reason != "" {
			fmt.Fprintf(&b, " (%s)", l.Reason)
		}
		b.WriteString("\n")
	}
	for _, r := range s.Runs {
		fmt.Fprintf(&b, "run %s: %s %s, %d calls\n", r.ID, r.Status, r.Waiting, r.Calls)
	}
	for _, a := range s.Approvals {
		fmt.Fprintf(&b, "%s waits for approval until %s\n", a.Key, a.Deadline)
	}
	return b.String()
}
