package module

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	eng "tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

const (
	leaveTime = 2 * time.Second // for calls that go on when a worker is to stop
	hearTime  = 3 * time.Second // for a worker whose call was given up to show that it still listens
)

// worker is one process. It asks for calls one after another, by a host call of
// its own, and answers each with another.
type worker struct {
	host
	compiled *script.Program

	cancel context.CancelCauseFunc
	jobs   chan job
	ready  chan struct{} // closed when the top level has run
	ended  chan struct{} // closed when the process is gone
	begun  sync.Once     // closes ready

	functions []string // set before ready is closed

	mu      sync.Mutex // guards what follows
	last    int64
	pending map[int64]chan answer
	heard   []chan struct{} // of pings that were taken: closed when it asks again
	failure *fault.Error    // set before ended is closed
}

type answer struct {
	ID     int64           `json:"id"`
	Value  json.RawMessage `json:"value"`
	Failed *struct {
		Name    string  `json:"name"`
		Message string  `json:"message"`
		Stack   string  `json:"stack"`
		Thrown  *string `json:"thrown"`
	} `json:"failed"`
}

// spawn starts a process and waits until it is ready.
func (w *workers) spawn(ctx context.Context, b *bundle) (*worker, error) {
	p := w.program(b)
	compiled, err := w.engine.Compile(ctx, p.Compiled())
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancelCause(context.Background())
	one := &worker{
		host: host{w.s, b.where}, compiled: compiled, cancel: cancel,
		jobs: make(chan job), ready: make(chan struct{}), ended: make(chan struct{}), pending: map[int64]chan answer{},
	}
	go func() { // ends with the process, which stop guarantees
		defer close(one.ended)
		out := w.engine.RunJob(life, process.Job{Program: p, Compiled: compiled, Stdout: w.s.o.Stderr, Stderr: w.s.o.Stderr}, one)
		one.end(out)
	}()
	select {
	case <-one.ready:
		return one, nil
	case <-one.ended:
		return nil, one.why()
	case <-ctx.Done():
		one.cancel(fault.New(fault.Cancelled, "the start was given up"))
		<-one.ended
		return nil, context.Cause(ctx)
	}
}

// end notes why the process ended and lets everybody know who waits for it.
func (w *worker) end(out *eng.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = out.Err
	if w.failure == nil {
		w.failure = fault.New(fault.ServerUnavailable, "the module ended its process")
	}
}

func (w *worker) why() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.host.fault(w.failure)
}

// stop lets calls that go on come to their end, then ends the process.
func (w *worker) stop() {
	t := time.NewTimer(leaveTime)
	defer t.Stop()
	select {
	case w.jobs <- job{Stop: true}:
	case <-w.ended:
	case <-t.C:
	}
	select {
	case <-w.ended:
	case <-t.C:
		w.cancel(fault.New(fault.Cancelled, "the module's server ends"))
		<-w.ended
	}
}

// call makes one call. When ctx ends, the function is not waited for; it cannot
// be interrupted, but a process that hears nothing any more is ended.
func (k *kept) call(ctx context.Context, j job) (json.RawMessage, error) {
	w, err := k.alive(ctx)
	if err != nil {
		return nil, err
	}
	done := make(chan answer, 1)
	w.mu.Lock()
	w.last++
	j.ID = w.last
	w.pending[j.ID] = done
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.pending, j.ID)
		w.mu.Unlock()
	}()
	select {
	case w.jobs <- j:
	case <-w.ended:
		return nil, w.lost()
	case <-ctx.Done():
		go w.listens()
		return nil, context.Cause(ctx)
	}
	select {
	case a := <-done:
		return w.result(a)
	case <-w.ended:
		return nil, w.lost()
	case <-ctx.Done():
		go w.listens()
		return nil, context.Cause(ctx)
	}
}

// lost is the failure of a call whose process ended.
func (w *worker) lost() error {
	return fault.New(fault.ServerUnavailable, "the module's process ended during the call: %w", w.why()).
		WithHint("the next call starts another one; what the module kept in memory is lost")
}

// listens ends a process that takes no more calls: it computes without end.
func (w *worker) listens() {
	t := time.NewTimer(hearTime)
	defer t.Stop()
	heard := make(chan struct{})
	select {
	case w.jobs <- job{Ping: true, heard: heard}:
	case <-w.ended:
		return
	case <-t.C:
		w.cancel(fault.New(fault.TimeoutExceeded, "a call computed without end, and the process was ended"))
		return
	}
	select {
	case <-heard:
	case <-w.ended:
	case <-t.C:
		w.cancel(fault.New(fault.TimeoutExceeded, "a call computed without end, and the process was ended"))
	}
}

func (w *worker) result(a answer) (json.RawMessage, error) {
	f := a.Failed
	if f == nil {
		return a.Value, nil
	}
	if f.Thrown != nil {
		return nil, fault.New(fault.ScriptError, "the function threw %s", guest.Clip(*f.Thrown, 2000))
	}
	e := fault.New(fault.ScriptError, "%s: %s", f.Name, guest.Clip(f.Message, 8000))
	// Deno names the function's file in two parts, V8 marks asynchronous frames.
	stack := strings.ReplaceAll(f.Stack, guest.File+", <anonymous>:", guest.File+":")
	if frames := w.compiled.Frames(strings.ReplaceAll(stack, "at async ", "at "), guest.File); len(frames) > 0 {
		e.Position = &frames[0].Position
	}
	return nil, w.host.fault(e)
}

// Call is how the inside asks for calls and answers them; all else is refused.
func (w *worker) Call(ctx context.Context, server, tool string, args []byte, o eng.CallOptions) (eng.CallValue, error) {
	if server != "module" {
		return w.host.Call(ctx, server, tool, args, o)
	}
	null := eng.CallValue{Value: []byte("null")}
	switch tool {
	case "ready":
		var said struct {
			Names []string `json:"names"`
		}
		if err := json.Unmarshal(args, &said); err != nil {
			return null, fault.New(fault.InvalidToolInput, "%w", err)
		}
		w.begun.Do(func() {
			w.functions = said.Names
			close(w.ready)
		})
		return null, nil
	case "next":
		w.mu.Lock()
		for _, heard := range w.heard {
			close(heard)
		}
		w.heard = nil
		w.mu.Unlock()
		select {
		case j := <-w.jobs:
			if j.Ping {
				w.mu.Lock()
				w.heard = append(w.heard, j.heard)
				w.mu.Unlock()
			}
			text, err := json.Marshal(j)
			return eng.CallValue{Value: text}, err
		case <-ctx.Done():
			return null, context.Cause(ctx)
		}
	case "done":
		var a answer
		if err := json.Unmarshal(args, &a); err != nil {
			return null, fault.New(fault.InvalidToolInput, "%w", err)
		}
		w.mu.Lock()
		waits := w.pending[a.ID]
		delete(w.pending, a.ID)
		w.mu.Unlock()
		if waits != nil {
			waits <- a
		}
		return null, nil
	}
	return w.host.Call(ctx, server, tool, args, o)
}
