// Package run owns the life of every run: its program, its limits and clocks,
// its events and its one result. It bridges an engine, which knows nothing of
// MCP, to the one path of calls.
package run

import (
	"context"
	"log/slog"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/outbound"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/shelf"
	"tenon/proto"
)

// Defaults where neither the request nor the view says anything.
const (
	DefaultEngine      = "embedded"
	DefaultOutput      = 64 << 10
	DefaultToolCalls   = 1000
	DefaultConcurrency = 16
)

// Path makes calls and knows what can be called; *call.Path is one.
type Path interface {
	Call(ctx context.Context, r call.Request) (*call.Result, error)
	Search(ctx context.Context, r call.Request, q proto.Search) proto.SearchResult
	Describe(ctx context.Context, r call.Request, path string) (*call.Description, error)
	Resources(ctx context.Context, r call.Request, q proto.OfferQuery) (*proto.Resources, error)
	Templates(ctx context.Context, r call.Request, q proto.OfferQuery) (*proto.ResourceTemplates, error)
	Prompts(ctx context.Context, r call.Request, q proto.OfferQuery) (*proto.Prompts, error)
	Fetch(ctx context.Context, r call.Request, q outbound.Request) (*outbound.Response, error)
	// Seen is the list of one server's tools that the caller sees, without
	// starting the server; nil when it was never listed.
	Seen(ctx context.Context, r call.Request) *catalog.List
	// Types starts servers at the paths that were never listed, and declares
	// their tools. Declarations are those of all that is known, for a type check.
	Types(ctx context.Context, r call.Request, q proto.TypesQuery) (*proto.Types, error)
	Declarations(ctx context.Context, r call.Request) string
}

// Leases hears of runs, so that bindings of a live run are not idle;
// *lease.Manager is one.
type Leases interface {
	RunStarted(run string)
	RunEnded(run string)
}

// Sessions keeps a session alive while a run of it lives; *session.Manager is one.
type Sessions interface {
	Ref(id string) (release func())
}

// Options configure a Manager. Path is required.
type Options struct {
	Path     Path
	Engines  map[string]engine.Engine // by the name a user writes
	Shelf    *shelf.Shelf             // saved scripts; nil: there are none
	Checker  Checker                  // nil: programs are not checked, and strict says so
	Leases   Leases                   // nil: not told
	Sessions Sessions                 // nil: not told
	History  *history.Store           // nil: nothing is kept
	Compute  int                      // programs that may compute at a time; 0: GOMAXPROCS
	Changed  func(proto.Run)          // hears of every start and end; must not block; may be nil
	Ended    func(Ended)              // hears of every end before its caller; as Changed
	Log      *slog.Logger             // nil: discarded
}

// Manager holds the live runs. It is safe for concurrent use.
type Manager struct {
	o      Options
	log    *slog.Logger
	tokens chan struct{}

	mu     sync.Mutex
	live   map[string]*Run
	closed bool
	work   sync.WaitGroup // one for each live run and lone call
}

// New makes a manager.
func New(o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Compute <= 0 {
		o.Compute = runtime.GOMAXPROCS(0)
	}
	if o.Changed == nil {
		o.Changed = func(proto.Run) {}
	}
	return &Manager{o: o, log: o.Log, tokens: make(chan struct{}, o.Compute), live: map[string]*Run{}}
}

// Spec is a run to start.
type Spec struct {
	Caller  *peer.Caller
	Session *session.Session
	View    *config.View
	Exec    proto.ExecRequest
	Origin  proto.Origin
	Bridge  session.Bridge    // that started it; nil for others
	Surface string            // cli, http, mcp, bridge; empty: the caller's
	OnFrame func(proto.Frame) // hears every frame in order; must not block; may be nil
	// Beside is where the program is executed instead of here, by an engine of the
	// same name; nil: here. It must not be the embedded engine's.
	Beside *attached.Daemon
	saved  *shelf.Code // the saved script that Exec names, once it is read; see prepare
	// Attached ties the run to the context given to Start: its end cancels the
	// run with the context's cause (hanging up cancels).
	Attached bool
	// Lazy leaves the execution to the first Wait, which does it on its own
	// goroutine, or the first Frames: waking another for it costs a small program
	// as much as the program. Whoever starts such a run must call one of them.
	Lazy bool
}

// Run is one live or finished run.
type Run struct {
	ID string

	m       *Manager
	spec    Spec
	began   time.Time
	engine  string
	limits  limits
	ctx     context.Context
	cancel  context.CancelCauseFunc
	clocks  *clocks
	stream  *stream
	done    chan struct{}
	result  *proto.RunResult // after done
	status  string           // after done
	release []func()
	begun   sync.Once       // see begin
	places  chan struct{}   // of calls: one for each in flight
	levels  []chan struct{} // of programs within the run, by their depth

	mu           sync.Mutex
	made         int // calls begun
	calls        []proto.CallSummary
	warnings     []proto.Warning
	artifacts    []proto.Artifact
	ownArtifacts int    // guarded by mu: what the program kept itself
	ownBytes     int    // guarded by mu: of those
	nest         nest   // of programs within the run
	hookCalls    int    // of made, how many hooks began
	lifted       lifted // has a lock of its own
}

// Start starts a run. What is wrong with the program or the engine is in its
// result; an error means that there is no run: the daemon is stopping, or a
// limit is out of its range (UsageError).
func (m *Manager) Start(ctx context.Context, spec Spec) (*Run, error) {
	if err := checkLimits(spec.Exec); err != nil {
		return nil, err
	}
	if err := m.prepare(&spec); err != nil {
		return nil, err
	}
	r, err := m.open(spec, nameOfEngine(spec))
	if err != nil {
		return nil, err
	}
	if spec.Attached {
		// It ends with the run, which stops it.
		stop := context.AfterFunc(ctx, func() { r.cancel(reason(context.Cause(ctx))) })
		r.release = append(r.release, func() { stop() })
	}
	if !spec.Lazy {
		go r.begin()
	}
	return r, nil
}

// begin executes the run unless it was begun already, and returns once it has
// ended.
func (r *Run) begin() { r.begun.Do(r.execute) }

func nameOfEngine(spec Spec) string {
	name := spec.Exec.Engine
	if name == "" {
		name = spec.View.Script.Engine
	}
	if name == "" || name == "auto" {
		return DefaultEngine
	}
	return name
}

// open enters a run into the books; Run.finish pairs with it.
func (m *Manager) open(spec Spec, engineName string) (*Run, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fault.New(fault.InternalError, "run id: %w", err)
	}
	if spec.Surface == "" && spec.Caller != nil {
		spec.Surface = spec.Caller.Surface
	}
	r := &Run{
		ID: "run_" + id.String(), m: m, spec: spec, began: time.Now(), engine: engineName,
		limits: limitsOf(spec.Exec, spec.View.Script), done: make(chan struct{}),
	}
	r.openPlaces()
	r.stream = &stream{run: r.ID, live: spec.OnFrame}
	r.ctx, r.cancel = context.WithCancelCause(context.Background()) // a run outlives the request that started it
	r.clocks = newClocks(m.tokens, r.limits.wall, func() {
		r.cancel(fault.New(fault.TimeoutExceeded, "the run exceeded its limit of %s", r.limits.wall).
			WithHint("give it more with --timeout, or script.timeout in the config; time spent waiting for a human does not count"))
	})
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		r.clocks.stop()
		r.cancel(nil)
		return nil, fault.New(fault.DaemonUnavailable, "the daemon is stopping").WithHint("try again; the next command starts a new one")
	}
	m.live[r.ID] = r
	m.work.Add(1)
	m.mu.Unlock()
	if m.o.Leases != nil {
		m.o.Leases.RunStarted(r.ID)
		r.release = append(r.release, func() { m.o.Leases.RunEnded(r.ID) })
	}
	if m.o.Sessions != nil {
		r.release = append(r.release, m.o.Sessions.Ref(spec.Session.ID))
	}
	if m.o.History != nil {
		m.o.History.RunStarted(r.start())
	}
	r.event("start", r.Info(), 512)
	m.o.Changed(r.Info())
	return r, nil
}

func (r *Run) cwd() string { return dirOf(&r.spec) }

// execute runs the program to its end.
func (r *Run) execute() {
	r.finish(r.build(r.hooked(r.program)))
}

// program runs it on its engine; it always gives an outcome.
func (r *Run) program() *engine.Outcome {
	e, failure := r.executor()
	if failure != nil {
		return &engine.Outcome{Err: failure}
	}
	request := r.request()
	namespaces := r.namespaces(request, r.spec.Exec.Code)
	if failure := r.check(e, request, namespaces); failure != nil {
		return &engine.Outcome{Err: failure}
	}
	p := engine.Program{
		Source: r.spec.Exec.Code, Name: r.spec.Exec.Name, Args: r.spec.Exec.Args, Input: r.spec.Exec.Input,
		Export: r.spec.Exec.Export, Stdin: r.spec.Exec.Stdin,
		Namespaces: namespaces,
		Session:    engine.SessionInfo{ID: r.spec.Session.ID, Cwd: r.cwd(), RunID: r.ID},
		Fetch:      r.fetches(e.Name()),
		Limits:     r.limits.engine,
		Clock:      r.clocks,
	}
	if c := r.spec.saved; c != nil {
		p.Modules = c.Modules
	}
	if failure := r.place(&p); failure != nil {
		return &engine.Outcome{Err: failure}
	}
	if script.Fenced(p.Source) {
		r.warn(proto.Warning{Kind: "CodeFence", Message: "the program stood in a Markdown code fence, which was left out: give the program alone"})
	}
	o := e.Run(r.ctx, p, r.host(request))
	r.clocks.computed(o.CPU)
	hintName(o.Err, namespaces)
	return o
}

func (m *Manager) noEngine(name string) *fault.Error {
	var known []string
	for n := range m.o.Engines {
		known = append(known, n)
	}
	sort.Strings(known)
	return fault.New(fault.EngineUnavailable, "there is no engine %q", name).WithHint("there are: %s", strings.Join(known, ", "))
}

// finish settles the result; it pairs with open.
func (r *Run) finish(result *proto.RunResult, status string) {
	r.clocks.stop()
	r.cancel(nil)
	result.Timing = r.clocks.timing()
	r.result, r.status = result, status
	if r.m.o.History != nil {
		kind := ""
		if result.Error != nil {
			kind = result.Error.Kind
		}
		text, err := proto.Marshal(result)
		if err != nil {
			r.m.log.Error("result not kept", "run", r.ID, "error", err)
		}
		begun := r.start()
		r.m.o.History.RunEnded(history.RunEnd{
			ID: r.ID, Status: status, Kind: kind, Ended: time.Now(), Calls: len(result.Calls), Result: text, Run: &begun,
		})
	}
	if result.Error != nil {
		r.event("error", result.Error, 512)
	}
	r.event("result", result, int(r.limits.output))
	r.event("end", nil, 0)
	r.m.mu.Lock()
	delete(r.m.live, r.ID)
	r.m.mu.Unlock()
	for _, release := range r.release {
		release()
	}
	r.tell()
	close(r.done)
	r.m.o.Changed(r.Info())
	r.m.work.Done()
}

// Wait waits for the end and returns the result, which must not be changed.
func (r *Run) Wait() *proto.RunResult {
	if r.spec.Lazy {
		r.begin()
	}
	<-r.done
	return r.result
}

// Done is closed when the result is there.
func (r *Run) Done() <-chan struct{} { return r.done }

// Frames gives every frame of the run from the first on, to the end frame or
// the end of ctx; see docs on slow readers at stream.read.
func (r *Run) Frames(ctx context.Context) <-chan proto.Frame {
	if r.spec.Lazy {
		go r.begin()
	}
	return r.stream.read(ctx)
}

// Info is the row that lists of runs show.
func (r *Run) Info() proto.Run {
	out := proto.Run{
		ID: r.ID, Session: r.spec.Session.ID, Status: "running", Surface: r.spec.Surface, Engine: r.engine,
		Cwd: r.cwd(), Code: clip(r.spec.Exec.Code, codeHead), Started: r.began.UTC().Format(time.RFC3339Nano),
		Waiting: r.clocks.waiting(),
	}
	if how := r.options(); !how.IsZero() {
		out.Options = &how
	}
	select {
	case <-r.done:
		out.Status, out.Ended, out.Waiting = r.status, r.began.Add(time.Duration(r.result.Timing.Total*float64(time.Millisecond))).UTC().Format(time.RFC3339Nano), ""
		if r.result.Error != nil {
			out.Kind = r.result.Error.Kind
		}
		out.Calls = len(r.result.Calls)
	default:
		r.mu.Lock()
		out.Calls = r.made
		r.mu.Unlock()
	}
	return out
}

// codeHead is how much of a program a row shows.
const codeHead = 200

// event adds a frame.
func (r *Run) event(kind string, data any, size int) { r.stream.add(kind, data, size) }
