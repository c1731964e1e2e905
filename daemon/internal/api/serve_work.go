package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// serveExec runs a program. The client chooses one document or frames; either
// way the run ends when the client hangs up.
func (s *Server) serveExec(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.ExecRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	if err := s.beside(w, c, req); err != nil {
		return err
	}
	ctx, hangUp := hangUp(r)
	defer hangUp()
	run, err := s.o.Runs.Exec(ctx, c, req)
	if err != nil {
		return err
	}
	kind := wanted(r)
	if kind == oneDocument {
		return answer(w, run.Wait())
	}
	s.pump(ctx, newStream(w, kind), run)
	return nil
}

// hangUp makes a context that ends with the connection, with the reason that
// upstream servers and the run's record should see.
func hangUp(r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(r.Context(), func() {
		cancel(fault.New(fault.Cancelled, "the caller hung up"))
	})
	return ctx, func() { stop(); cancel(nil) }
}

// gatherFrames is how long frames that only tell of progress may wait for others
// to travel with: a program makes thousands of calls a second.
const gatherFrames = 25 * time.Millisecond

// pump writes a run's frames until they end or the peer goes. Frames may be
// dropped for a slow reader or for their size; the result is not among those
// that may.
func (s *Server) pump(ctx context.Context, out *stream, run Run) {
	frames := run.Frames(ctx)
	beat := time.NewTicker(keepAlive)
	defer beat.Stop()
	late := time.NewTimer(gatherFrames)
	late.Stop()
	defer late.Stop()
	told, waiting := false, false
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				_ = out.rc.Flush() // the peer may be gone
				return
			}
			told = told || f.Type == "result"
			if f.Type == "end" && !told && s.tellResult(out, f, run.Wait()) != nil {
				return
			}
			mayWait := f.Type == "call" || f.Type == "progress"
			if out.send(f.Type, f.Seq, f, !mayWait) != nil {
				return
			}
			if mayWait && !waiting {
				late.Reset(gatherFrames)
			}
			waiting = mayWait
		case <-late.C:
			waiting = false
			if out.rc.Flush() != nil {
				return
			}
		case <-beat.C:
			if out.beat() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// tellResult sends the result before its end frame.
func (s *Server) tellResult(out *stream, end proto.Frame, result *proto.RunResult) error {
	data, err := proto.Marshal(result)
	if err != nil {
		return err
	}
	seq := max(end.Seq-1, 0)
	return out.send("result", seq, proto.Frame{Seq: seq, Type: "result", Run: end.Run, Data: data}, false)
}

// serveCall makes one call. As frames it also tells of questions that the call
// waits for, and of their end: ask, question, withdraw, then result or error.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.CallRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	return framed(s, w, r, func(ctx context.Context, asked func(proto.Frame)) (*proto.CallResult, error) {
		return s.o.Runs.Call(ctx, c, req, asked)
	})
}

// framed does what has one result and writes that, or the frames of it.
func framed[T any](s *Server, w http.ResponseWriter, r *http.Request, call func(context.Context, func(proto.Frame)) (*T, error)) error {
	ctx, hangUp := hangUp(r)
	defer hangUp()
	kind := wanted(r)
	if kind == oneDocument {
		result, err := call(ctx, nil)
		return one(w, result, err)
	}
	out := newStream(w, kind)
	var mu sync.Mutex // asked is called from the call's goroutines
	var seq int64
	send := func(kind string, v any) {
		mu.Lock()
		defer mu.Unlock()
		data, err := proto.Marshal(v)
		if err != nil {
			s.o.Log.Error("frame was not written", "type", kind, "error", err)
			return
		}
		_ = out.send(kind, seq, proto.Frame{Seq: seq, Type: kind, Data: data}, true) // the peer may be gone
		seq++
	}
	result, err := call(ctx, func(f proto.Frame) { send(f.Type, f.Data) })
	if err != nil {
		send("error", fault.From(err).Wire())
		return nil
	}
	send("result", result)
	return nil
}

// serveMCP hands the request to the MCP server.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, _ *peer.Caller) error {
	if s.o.MCP == nil {
		return fault.New(fault.NotFound, "this daemon serves no MCP")
	}
	return s.o.MCP.Serve(w, r)
}

// serveBridge hands the connection to the plugins' socket.
func (s *Server) serveBridge(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	if s.o.Bridge == nil {
		return fault.New(fault.NotFound, "this daemon has no bridge")
	}
	if err := c.May(peer.Hello); err != nil {
		return err
	}
	s.o.Bridge.ServeHTTP(w, r)
	return nil
}
