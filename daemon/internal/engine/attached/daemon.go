package attached

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// Daemon is the daemon's end of a connection: it takes one run and executes its
// program at the other end.
type Daemon struct {
	link *link

	mu   sync.Mutex
	host engine.Host // guarded by mu: of the program that runs; nil before
}

// Run is one program being run; *run.Run is one.
type Run interface {
	// Frames gives the run's frames from the first on, until it or ctx ends.
	Frames(ctx context.Context) <-chan proto.Frame
	// Wait returns the result when the run has ended.
	Wait() *proto.RunResult
}

// Serve serves one connection until it ends: start begins the run that the
// caller asks for; the context it is given ends, with the reason, when the
// caller takes the request back or is gone.
func Serve(conn io.ReadWriteCloser, in *bufio.Reader, log *slog.Logger, start func(context.Context, *Daemon, proto.ExecRequest) (Run, error)) {
	d := &Daemon{link: newLink(conn, in)}
	var once sync.Once
	d.link.log = log
	d.link.last = proto.MethodExecAttach
	silent := time.AfterFunc(writeWait, func() { d.link.close(errors.New("the caller asked for nothing")) })
	d.link.requests = map[string]func(context.Context, json.RawMessage) (any, error){
		proto.MethodExecAttach: func(ctx context.Context, params json.RawMessage) (result any, err error) {
			silent.Stop()
			err = fault.New(fault.UsageError, "a connection has one run")
			once.Do(func() { result, err = d.attach(ctx, params, start) })
			return result, err
		},
		proto.MethodToolCall:      d.call,
		proto.MethodCatalogSearch: d.search,
		proto.MethodDescribe:      d.describe,
		proto.MethodMaterial:      d.resource,
		proto.MethodScriptRun:     d.runScript,
		proto.MethodArtifactKeep:  d.artifact,
	}
	d.link.notifications = map[string]func(json.RawMessage){proto.MethodProgramLog: d.log, proto.MethodProgramEmit: d.emit}
	d.link.serve()
	silent.Stop()
}

// Lost ends when the connection does.
func (d *Daemon) Lost() <-chan struct{} { return d.link.life.Done() }

// attach runs the caller's program to its end, telling its frames.
func (d *Daemon) attach(ctx context.Context, params json.RawMessage, start func(context.Context, *Daemon, proto.ExecRequest) (Run, error)) (any, error) {
	var req proto.ExecRequest
	if err := proto.Decode(params, &req); err != nil {
		return nil, fault.New(fault.UsageError, "request: %w", err)
	}
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		if d.link.life.Err() != nil { // what the link itself says is of no use to a reader of history
			cancel(gone())
			return
		}
		cancel(context.Cause(ctx))
	})
	defer stop()
	r, err := start(running, d, req)
	if err != nil {
		return nil, err
	}
	for f := range r.Frames(d.link.life) {
		if d.link.tell(proto.MethodRunEvent, f) != nil {
			break
		}
	}
	return r.Wait(), nil
}

// Engine executes programs at the other end, where an engine of that name is.
// compile makes them what that engine reads.
func (d *Daemon) Engine(name string, compile func(context.Context, script.Source) (*script.Program, error)) engine.Engine {
	return &remote{d: d, name: name, compile: compile}
}

// remote implements engine.Engine.
type remote struct {
	d       *Daemon
	name    string
	compile func(context.Context, script.Source) (*script.Program, error)
}

func (r *remote) Name() string { return r.name }
func (r *remote) Close() error { return nil }

// Compile compiles source as Run will.
func (r *remote) Compile(ctx context.Context, source script.Source) (*script.Program, error) {
	return r.compile(ctx, source)
}

// Run executes p at the other end; see engine.Engine. The program computes
// there, so no clock is told of it.
func (r *remote) Run(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
	compiled, err := r.compile(ctx, p.Compiled())
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &engine.Outcome{Err: fault.From(err)}
	}
	r.d.mu.Lock()
	r.d.host = h
	r.d.mu.Unlock()
	defer func() { // calls that come late find nobody
		r.d.mu.Lock()
		r.d.host = nil
		r.d.mu.Unlock()
	}()
	waiting, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	stop := context.AfterFunc(ctx, func() {
		why := fault.From(context.Cause(ctx))
		_ = r.d.link.tell(proto.MethodProgramStop, proto.ProgramStop{Error: *why.Wire()}) // a lost link has stopped it already
		time.AfterFunc(stopWait, func() { giveUp(why) })
	})
	defer stop()
	raw, err := r.d.link.call(waiting, proto.MethodProgramRun, programOf(r.name, compiled, p))
	var o proto.ProgramOutcome
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	switch {
	case err == nil:
		return outcomeOf(o)
	case ctx.Err() != nil:
		return &engine.Outcome{Err: fault.From(context.Cause(ctx))}
	case isLost(err):
		return &engine.Outcome{Err: gone().Because(err)}
	}
	return &engine.Outcome{Err: fault.From(err)}
}

func gone() *fault.Error {
	return fault.New(fault.Cancelled, "the command that executed the program is gone")
}

func (d *Daemon) running() (engine.Host, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.host == nil {
		return nil, fault.New(fault.Cancelled, "the run has ended")
	}
	return d.host, nil
}

func (d *Daemon) call(ctx context.Context, params json.RawMessage) (any, error) {
	var c proto.ProgramCall
	h, err := d.running()
	if err == nil {
		err = decode(params, &c)
	}
	if err != nil {
		return nil, err
	}
	v, err := h.Call(ctx, c.Server, c.Tool, c.Args, engine.CallOptions{Raw: c.Raw, Timeout: time.Duration(c.TimeoutMS) * time.Millisecond})
	return proto.ProgramValue{Value: v.Value, Raw: v.Raw}, err
}

func (d *Daemon) search(ctx context.Context, params json.RawMessage) (any, error) {
	h, err := d.running()
	if err != nil {
		return nil, err
	}
	found, err := h.Search(ctx, params)
	return json.RawMessage(found), err
}

func (d *Daemon) describe(ctx context.Context, params json.RawMessage) (any, error) {
	var p proto.ProgramDescribe
	h, err := d.running()
	if err == nil {
		err = decode(params, &p)
	}
	if err != nil {
		return nil, err
	}
	found, err := h.Describe(ctx, p.Path)
	return json.RawMessage(found), err
}

func (d *Daemon) resource(ctx context.Context, params json.RawMessage) (any, error) {
	var p proto.ProgramMaterial
	h, err := d.running()
	if err == nil {
		err = decode(params, &p)
	}
	if err != nil {
		return nil, err
	}
	found, err := h.Resource(ctx, p.Method, p.Params)
	return json.RawMessage(found), err
}

func (d *Daemon) runScript(ctx context.Context, params json.RawMessage) (any, error) {
	var p proto.ProgramScriptRun
	h, err := d.running()
	if err == nil {
		err = decode(params, &p)
	}
	if err != nil {
		return nil, err
	}
	value, err := h.RunScript(ctx, p.Name, p.Input)
	return json.RawMessage(value), err
}

func (d *Daemon) artifact(ctx context.Context, params json.RawMessage) (any, error) {
	var p proto.ProgramArtifact
	h, err := d.running()
	if err == nil {
		err = decode(params, &p)
	}
	var data []byte
	if err == nil {
		data, err = base64.StdEncoding.DecodeString(p.Data)
	}
	if err != nil {
		return nil, err
	}
	handle, err := h.Artifact(ctx, engine.Artifact{Name: p.Name, MimeType: p.MimeType, Data: data})
	return json.RawMessage(handle), err
}

func (d *Daemon) log(params json.RawMessage) {
	var l proto.Log
	if h, err := d.running(); err == nil && decode(params, &l) == nil {
		h.Log(recordOf(l))
	}
}

func (d *Daemon) emit(params json.RawMessage) {
	var e proto.ProgramEmit
	if h, err := d.running(); err == nil && decode(params, &e) == nil {
		h.Emit(e.Value)
	}
}

func decode(params json.RawMessage, v any) error {
	if err := proto.Decode(params, v); err != nil {
		return fault.New(fault.UsageError, "message not understood: %w", err)
	}
	return nil
}
