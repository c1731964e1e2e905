package attached

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// Job is a program to execute here. Program.Source is not set, and neither is
// Program.Env: the caller's own environment is what it runs in.
type Job struct {
	Engine   string // deno, bun or node
	Program  engine.Program
	Compiled *script.Program
}

// Caller is the end of the command line. Both functions are required.
type Caller struct {
	// Execute executes a job to its end, with everything of it gone; when its
	// context ends, the cause says why.
	Execute func(ctx context.Context, j Job, h engine.Host) *engine.Outcome
	// Frame hears each frame of the run, in order; it must not wait for the daemon.
	Frame func(proto.Frame)
}

// Run has the daemon run a program whose process this end executes, and returns
// its result. The end of ctx cancels the run, whose result is then waited for
// until patience has passed. The error is DaemonUnavailable when the connection
// is lost, in which case the process is gone as well.
func (c *Caller) Run(ctx context.Context, conn io.ReadWriteCloser, in *bufio.Reader, req proto.ExecRequest, patience time.Duration) (*proto.RunResult, error) {
	l := newLink(conn, in)
	stopped, stop := context.WithCancelCause(ctx) // of the program
	defer stop(nil)
	l.requests[proto.MethodProgramRun] = func(asked context.Context, params json.RawMessage) (any, error) {
		var a proto.AttachedProgram
		if err := decode(params, &a); err != nil {
			return nil, err
		}
		here, end := context.WithCancelCause(stopped)
		defer end(nil)
		gone := context.AfterFunc(asked, func() { end(lost()) })
		defer gone()
		return wireOutcome(c.Execute(here, jobOf(a), far{l})), nil
	}
	l.notifications[proto.MethodProgramStop] = func(params json.RawMessage) {
		var s proto.ProgramStop
		if decode(params, &s) == nil {
			stop(fault.FromWire(&s.Error))
		}
	}
	l.notifications[proto.MethodRunEvent] = func(params json.RawMessage) {
		var f proto.Frame
		if json.Unmarshal(params, &f) == nil {
			c.Frame(f)
		}
	}
	served := make(chan struct{})
	go func() { defer close(served); l.serve() }()
	defer func() {
		l.close(lost())
		<-served
	}()
	return c.wait(ctx, l, req, patience)
}

// wait makes the request and waits for its answer, beyond the end of ctx.
func (c *Caller) wait(ctx context.Context, l *link, req proto.ExecRequest, patience time.Duration) (*proto.RunResult, error) {
	asking, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	id := make(chan json.RawMessage, 1)
	cancelled := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(patience, func() { giveUp(context.Cause(ctx)) })
		context.AfterFunc(asking, func() { timer.Stop() })
		_ = l.tell(proto.MethodCancelRequest, proto.CancelRequest{ID: <-id, Reason: fault.From(context.Cause(ctx)).Message}) // a lost link ends the wait as well
	})
	defer cancelled()
	raw, err := l.ask(asking, proto.MethodExecAttach, req, id)
	if err != nil {
		if isLost(err) {
			err = lost().Because(err)
		}
		return nil, err
	}
	var result proto.RunResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fault.New(fault.InternalError, "the result cannot be read: %w", err)
	}
	return &result, nil
}

func lost() *fault.Error {
	return fault.New(fault.DaemonUnavailable, "the daemon went away during the run, and the program's process was ended").
		WithHint("what the program had done stays done; tenon runs list and tenon daemon logs say more")
}

// far is everything that a program reaches, at the other end.
type far struct{ l *link }

var _ engine.Host = far{}

func (f far) Call(ctx context.Context, server, tool string, args []byte, o engine.CallOptions) (engine.CallValue, error) {
	raw, err := f.l.call(ctx, proto.MethodToolCall, proto.ProgramCall{
		Server: server, Tool: tool, Args: args, Raw: o.Raw, TimeoutMS: o.Timeout.Milliseconds(),
	})
	var v proto.ProgramValue
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return engine.CallValue{Value: v.Value, Raw: v.Raw}, err
}

func (f far) Search(ctx context.Context, query []byte) ([]byte, error) {
	return f.l.call(ctx, proto.MethodCatalogSearch, json.RawMessage(query))
}

func (f far) Describe(ctx context.Context, path string) ([]byte, error) {
	return f.l.call(ctx, proto.MethodDescribe, proto.ProgramDescribe{Path: path})
}

// Fetch is not for programs beside their caller: the engines that are processes
// have the fetch of their runtime.
func (f far) Fetch(context.Context, engine.FetchRequest) (*engine.FetchResponse, error) {
	return nil, fault.New(fault.EngineUnavailable, "only the embedded engine has a fetch of the daemon's")
}

func (f far) Resource(ctx context.Context, method string, params []byte) ([]byte, error) {
	return f.l.call(ctx, proto.MethodMaterial, proto.ProgramMaterial{Method: method, Params: params})
}

func (f far) RunScript(ctx context.Context, name string, input []byte) ([]byte, error) {
	value, err := f.l.call(ctx, proto.MethodScriptRun, proto.ProgramScriptRun{Name: name, Input: input})
	if string(value) == "null" { // none, and null itself, which is what a program gets of either
		return nil, err
	}
	return value, err
}

func (f far) Artifact(ctx context.Context, a engine.Artifact) ([]byte, error) {
	return f.l.call(ctx, proto.MethodArtifactKeep, proto.ProgramArtifact{Name: a.Name, MimeType: a.MimeType, Data: base64.StdEncoding.EncodeToString(a.Data)})
}

func (f far) Emit(value []byte) {
	_ = f.l.tell(proto.MethodProgramEmit, proto.ProgramEmit{Value: value}) // the outcome has it as well
}

func (f far) Log(r engine.LogRecord) {
	_ = f.l.tell(proto.MethodProgramLog, r.Wire()) // the outcome has it as well
}
