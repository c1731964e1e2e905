package serve

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"time"

	"tenon/daemon/internal/api"
	"tenon/daemon/internal/call"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/run"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/typecheck"
	"tenon/proto"
)

// openRuns makes the room of runs with its engines.
func (d *daemon) openRuns() {
	d.runs = run.New(run.Options{
		Path: d.calls, Engines: d.openEngines(d.engine.Compiler()),
		Checker: typecheck.New(typecheck.Options{
			Record: d.record, Dir: filepath.Join(d.o.Paths.Runtime, "checks"), Executable: d.o.Executable,
			Env: config.EnvFrom(d.o.Environ), Log: d.log,
		}),
		Shelf: d.shelf, Leases: d.leases, Sessions: d.sessions, History: d.history, Log: d.log,
		Changed: func(r proto.Run) {
			d.trim.work(time.Now())
			d.hub.Publish("run", r)
		},
		Ended: d.numbers.runEnded,
	})
}

// live is the number of runs and lone calls that go on.
func (d *daemon) live() int { return len(d.runs.List()) }

// cancelRuns ends every run that goes on.
func (d *daemon) cancelRuns(why *fault.Error) {
	for _, r := range d.runs.List() {
		_ = d.runs.Cancel(r.ID, why) // one that has ended meanwhile is what we want
	}
}

// sessionOf is the session that a caller acts in. A lone command gets one of
// its own, which ends with it; release pairs with it.
func (d *daemon) sessionOf(c *peer.Caller, dir string) (s *session.Session, release func()) {
	s = c.Session
	if s == nil {
		if dir == "" {
			dir = c.Dir
		}
		s = d.sessions.Ephemeral(c.Surface, dir, c.Env)
	}
	return s, d.sessions.Ref(s.ID)
}

// runs serves the routes about programs and calls.
type runs struct{ d *daemon }

// spec is what exec and call have in common. Cwd is made absolute.
func (r runs) spec(c *peer.Caller, cwd *string) (run.Spec, func(), error) {
	if *cwd != "" && !filepath.IsAbs(*cwd) {
		if c.Dir == "" {
			return run.Spec{}, nil, fault.New(fault.UsageError, "cwd %q is relative, and the caller's directory is not known", *cwd)
		}
		*cwd = filepath.Join(c.Dir, *cwd)
	}
	view, err := r.d.view(c, *cwd)
	if err != nil {
		return run.Spec{}, nil, err
	}
	s, release := r.d.sessionOf(c, *cwd)
	caller := *c
	caller.Session = s
	return run.Spec{Caller: &caller, Session: s, View: view, Surface: c.Surface, Origin: proto.Origin{Session: s.ID}, Attached: true}, release, nil
}

func (r runs) Exec(ctx context.Context, c *peer.Caller, req proto.ExecRequest) (api.Run, error) {
	spec, release, err := r.spec(c, &req.Cwd)
	if err != nil {
		return nil, err
	}
	defer release()                  // the run holds the session from here on
	spec.Exec, spec.Lazy = req, true // it is waited for, or its frames are
	started, err := r.d.runs.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return started, nil
}

func (r runs) Call(ctx context.Context, c *peer.Caller, req proto.CallRequest, asked func(proto.Frame)) (*proto.CallResult, error) {
	return r.one(ctx, c, run.CallSpec{Server: req.Server, Tool: req.Tool, Arguments: req.Arguments, Raw: req.Raw}, req.Cwd, req.CallTimeoutMS, asked)
}

// ReadResource reads one resource.
func (r runs) ReadResource(ctx context.Context, c *peer.Caller, req proto.ResourceRead, asked func(proto.Frame)) (*proto.CallResult, error) {
	args, err := proto.Marshal(map[string]string{"uri": req.URI})
	if err != nil {
		return nil, fault.New(fault.InternalError, "%w", err)
	}
	return r.one(ctx, c, run.CallSpec{Server: req.Server, Method: call.ReadResource, Arguments: args, Raw: req.Raw}, req.Cwd, req.CallTimeoutMS, asked)
}

// GetPrompt gets one prompt.
func (r runs) GetPrompt(ctx context.Context, c *peer.Caller, req proto.PromptGet, asked func(proto.Frame)) (*proto.CallResult, error) {
	given := map[string]any{"name": req.Name}
	if len(req.Arguments) > 0 {
		given["arguments"] = req.Arguments
	}
	args, err := proto.Marshal(given)
	if err != nil {
		return nil, fault.New(fault.InternalError, "%w", err)
	}
	return r.one(ctx, c, run.CallSpec{Server: req.Server, Method: call.GetPrompt, Arguments: args, Raw: req.Raw}, req.Cwd, req.CallTimeoutMS, asked)
}

// one makes a call outside a program.
func (r runs) one(ctx context.Context, c *peer.Caller, one run.CallSpec, cwd string, timeoutMS int64, asked func(proto.Frame)) (*proto.CallResult, error) {
	spec, release, err := r.spec(c, &cwd)
	if err != nil {
		return nil, err
	}
	defer release()
	spec.Exec = proto.ExecRequest{Cwd: cwd, CallTimeoutMS: timeoutMS}
	if asked != nil {
		spec.OnFrame = func(f proto.Frame) {
			switch f.Type {
			case "ask", "question", "withdraw":
				asked(f)
			}
		}
	}
	one.Spec = spec
	return r.d.runs.Call(ctx, one)
}

// List shows live runs first, then what history keeps, newest first. Of the runs
// of others the program is left out, and what it was given.
func (r runs) List(ctx context.Context, c *peer.Caller, q api.RunQuery) ([]proto.Run, error) {
	rows, err := r.list(ctx, q)
	for i := range rows {
		if c.MayTouch(peer.ReadRun, rows[i].Session) != nil {
			rows[i].Code, rows[i].Options = "", nil
		}
	}
	return rows, err
}

func (r runs) list(ctx context.Context, q api.RunQuery) ([]proto.Run, error) {
	live := r.d.runs.List()
	slices.Reverse(live)
	if q.Session != "" {
		live = slices.DeleteFunc(live, func(x proto.Run) bool { return x.Session != q.Session })
	}
	live = slices.DeleteFunc(live, func(x proto.Run) bool { return !r.wanted(x, q) })
	if q.Live {
		return live, nil
	}
	past, err := r.d.history.List(ctx, historyFilter(q))
	if err != nil {
		return nil, err
	}
	for _, p := range past {
		if !slices.ContainsFunc(live, func(x proto.Run) bool { return x.ID == p.ID }) {
			live = append(live, p)
		}
	}
	if q.Limit > 0 && len(live) > q.Limit {
		live = live[:q.Limit]
	}
	return live, nil
}

func (r runs) Get(ctx context.Context, c *peer.Caller, id string) (*proto.Run, error) {
	if err := r.mayRead(ctx, c, id); err != nil {
		return nil, err
	}
	if live, ok := r.d.runs.Get(id); ok {
		info := live.Info()
		return &info, nil
	}
	return r.d.history.Show(ctx, id)
}

// mayRead refuses what belongs to a run of somebody else's: a session would
// read there what its own rules deny it. An artifact without a run, of a lone
// call, is known to nobody but its caller.
func (r runs) mayRead(ctx context.Context, c *peer.Caller, id string) error {
	if c.May(peer.ReadRun) == nil {
		return nil
	}
	if live, ok := r.d.runs.Get(id); ok {
		return c.MayTouch(peer.ReadRun, live.Info().Session)
	}
	owner, err := r.d.history.Session(ctx, id)
	if err != nil || owner == "" {
		return err
	}
	return c.MayTouch(peer.ReadRun, owner)
}

func (r runs) Output(ctx context.Context, c *peer.Caller, id, artifact string) (api.Output, error) {
	if artifact != "" {
		id = artifact
	}
	if err := r.mayRead(ctx, c, id); err != nil {
		return api.Output{}, err
	}
	a, data, err := r.d.runs.Output(ctx, id)
	if err != nil {
		return api.Output{}, err
	}
	return api.Output{Body: io.NopCloser(bytes.NewReader(data)), MimeType: a.MimeType, Name: a.Name}, nil
}

// artifact is Output for the resources of MCP.
func (r runs) artifact(ctx context.Context, c *peer.Caller, id string) ([]byte, string, error) {
	if err := r.mayRead(ctx, c, id); err != nil {
		return nil, "", err
	}
	a, data, err := r.d.runs.Output(ctx, id)
	return data, a.MimeType, err
}

func (r runs) Cancel(_ context.Context, c *peer.Caller, id, why string) error {
	live, ok := r.d.runs.Get(id)
	if !ok {
		// The same answer for one that has ended and one that never was.
		return r.d.runs.Cancel(id, nil)
	}
	if err := c.MayTouch(peer.EndRun, live.Info().Session); err != nil {
		return err
	}
	return r.d.runs.Cancel(id, fault.New(fault.Cancelled, "%s", why))
}
