package attached

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// tools is a double of what programs reach.
type tools struct {
	mu   sync.Mutex
	said []string
}

func (h *tools) note(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, s)
}

func (h *tools) Call(ctx context.Context, server, tool string, args []byte, o engine.CallOptions) (engine.CallValue, error) {
	switch tool {
	case "refuse":
		return engine.CallValue{}, fault.New(fault.PermissionDenied, "no").At(server, tool)
	case "wait":
		h.note("waiting")
		<-ctx.Done()
		h.note("given up: " + context.Cause(ctx).Error())
		return engine.CallValue{}, context.Cause(ctx)
	}
	return engine.CallValue{Value: args, Raw: []byte(`{"content":[]}`)}, nil
}

func (h *tools) Search(_ context.Context, q []byte) ([]byte, error) { return q, nil }

func (h *tools) Fetch(context.Context, engine.FetchRequest) (*engine.FetchResponse, error) {
	return nil, fault.New(fault.PermissionDenied, "net.allow names no host")
}

func (h *tools) Artifact(_ context.Context, a engine.Artifact) ([]byte, error) {
	return json.Marshal(map[string]any{"name": a.Name, "mimeType": a.MimeType, "data": string(a.Data)})
}

func (h *tools) RunScript(_ context.Context, name string, input []byte) ([]byte, error) {
	if name == "missing" {
		return nil, fault.New(fault.NotFound, "there is no saved script %q", name)
	}
	return input, nil
}

func (h *tools) Describe(_ context.Context, path string) ([]byte, error) {
	return json.Marshal("about " + path)
}

func (h *tools) Resource(_ context.Context, method string, params []byte) ([]byte, error) {
	return json.Marshal(map[string]any{"method": method, "params": json.RawMessage(params)})
}

func (h *tools) Emit(v []byte) { h.note("emit " + string(v)) }

func (h *tools) Log(r engine.LogRecord) { h.note("log " + r.Message) }

// aRun is a double of a run in the daemon, on an engine at the other end.
type aRun struct {
	done   chan struct{}
	result *proto.RunResult
	out    *engine.Outcome
	frames []proto.Frame
}

func (r *aRun) Wait() *proto.RunResult { <-r.done; return r.result }

func (r *aRun) Frames(ctx context.Context) <-chan proto.Frame {
	out := make(chan proto.Frame)
	send := func(f proto.Frame) {
		select {
		case out <- f:
		case <-ctx.Done():
		}
	}
	go func() {
		defer close(out)
		for _, f := range r.frames {
			send(f)
		}
		<-r.done
		send(proto.Frame{Type: "end"})
	}()
	return out
}

// rig is both ends of a connection.
type rig struct {
	tools  *tools
	run    *aRun
	frames []string
	limit  func(context.Context) context.Context // of the run; nil: none
	ours   net.Conn                              // the daemon's end
	served chan struct{}
}

// start connects both ends and returns what the caller's Run comes to.
func (r *rig) start(t *testing.T, ctx context.Context, execute func(context.Context, Job, engine.Host) *engine.Outcome) (*proto.RunResult, error) {
	t.Helper()
	theirs := r.connect(t)
	c := Caller{Execute: execute, Frame: func(f proto.Frame) { r.frames = append(r.frames, f.Type) }}
	result, err := c.Run(ctx, theirs, bufio.NewReader(theirs), proto.ExecRequest{Code: "code", Engine: "deno"}, patience)
	<-r.served
	return result, err
}

func (r *rig) connect(t *testing.T) net.Conn {
	t.Helper()
	var theirs net.Conn
	r.ours, theirs = net.Pipe()
	r.tools, r.served = &tools{}, make(chan struct{})
	go func() {
		defer close(r.served)
		Serve(r.ours, bufio.NewReader(r.ours), slog.New(slog.DiscardHandler), func(ctx context.Context, d *Daemon, req proto.ExecRequest) (Run, error) {
			if req.Code == "panic" {
				panic("a handler's mistake")
			}
			if req.Code == "refused" {
				return nil, fault.New(fault.UsageError, "refused")
			}
			e := d.Engine(req.Engine, func(context.Context, script.Source) (*script.Program, error) {
				return &script.Program{Code: "compiled", Above: 1, Skip: 1, Edits: []script.Edit{{Line: 1, New: 8}}}, nil
			})
			r.run = &aRun{done: make(chan struct{}), frames: []proto.Frame{{Type: "start"}}}
			if r.limit != nil {
				ctx = r.limit(ctx)
			}
			go func() {
				defer close(r.run.done)
				r.run.out = e.Run(ctx, engine.Program{
					Source: req.Code, Name: "a.ts", Args: []string{"x"}, Input: json.RawMessage(`{"n":12345678901234567890}`), Sandbox: "full", Cwd: "/w",
					Namespaces: []engine.Namespace{{Name: "fake", Global: true, Server: "fake", Tools: map[string]string{"a_b": "a-b"}}},
					Session:    engine.SessionInfo{ID: "s", Cwd: "/w", RunID: "r"},
					Limits:     engine.Limits{CPU: time.Minute, Memory: 1 << 20, Concurrency: 3, Float: time.Second},
				}, r.tools)
				r.run.result = &proto.RunResult{ID: "r", OK: r.run.out.Err == nil, Value: r.run.out.Value}
				if r.run.out.Err != nil {
					r.run.result.Error = r.run.out.Err.Wire()
				}
			}()
			return r.run, nil
		})
	}()
	return theirs
}
