package script

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/recent"
)

// Options of a Compiler. The zero value of every field but Command is usable.
type Options struct {
	// Command starts a process that calls HelperMain; required.
	Command []string
	// Start starts it; default StartChild.
	Start Starter
	// Timeout is how much processor time one source may take; default 2 s. By
	// the clock it may be ten times as much, since a machine may be busy.
	Timeout time.Duration
	// MaxSource is the longest source, in bytes; default 1 MiB.
	MaxSource int
	// Helpers is how many processes may compile at a time, so that a hostile
	// source holds up nobody else; default 4. Only one is kept when idle.
	Helpers int
	// Idle is how long that one is kept; default 5 min.
	Idle time.Duration
	// CacheBytes bounds the compiled programs that are kept; default 8 MiB.
	CacheBytes int
	// Log hears of helpers that die; default none.
	Log *slog.Logger
}

// Compiler compiles sources that nobody trusts, in processes that may die. It
// is safe for concurrent use.
type Compiler struct {
	o     Options
	cache *recent.Cache[cacheKey, *Program]
	slots chan struct{} // one entry for each helper in use

	mu     sync.Mutex // guards what follows
	idle   *HelperProc
	reap   *time.Timer
	closed bool
}

// NewCompiler returns a Compiler; no process is started before it is needed.
func NewCompiler(o Options) *Compiler {
	set(&o.Timeout, 2*time.Second)
	set(&o.MaxSource, 1<<20)
	set(&o.Helpers, 4)
	set(&o.Idle, 5*time.Minute)
	set(&o.CacheBytes, 8<<20)
	if o.Start == nil {
		o.Start = StartChild
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Compiler{o: o, cache: recent.New[cacheKey](o.CacheBytes, (*Program).Size), slots: make(chan struct{}, o.Helpers)}
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Compile returns source as a program for target. The error is a *fault.Error: ParseError
// with a position for a mistake in the source, ParseError without one for a
// source that is too long or too costly, EngineUnavailable when no helper can
// be started. When ctx ends, the error is context.Cause(ctx).
func (c *Compiler) Compile(ctx context.Context, source Source, target Target) (*Program, error) {
	if size := source.size(); size > c.o.MaxSource {
		return nil, fault.New(fault.ParseError, "the program has %d bytes, more than %d", size, c.o.MaxSource)
	}
	key := source.key(target)
	if p, ok := c.cache.Get(key); ok {
		return p, nil
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		h, reused, err := c.take(ctx)
		if err != nil {
			return nil, err
		}
		resp, timedOut, err := c.exchange(ctx, h, request{source, target, c.o.Timeout}, 10*c.o.Timeout)
		if err == nil {
			c.give(h)
			if resp.Error != nil {
				return nil, fault.FromWire(resp.Error)
			}
			c.cache.Put(key, resp.Program)
			return resp.Program, nil
		}
		h.Kill()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case reused && !timedOut: // it may have died before, for reasons of its own
			continue
		}
		c.o.Log.Warn("compile helper ended", "bytes", source.size(), "reason", err)
		return nil, fault.New(fault.ParseError, "the program is too deeply nested or too costly to compile").
			Because(err).WithHint("it was given %v of processor time and bounded memory; split it or nest it less", c.o.Timeout)
	}
}

// exchange has req compiled in h, which is killed when ctx ends or the time is up.
func (c *Compiler) exchange(ctx context.Context, h *HelperProc, req request, limit time.Duration) (resp *response, timedOut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, h.Kill)
	resp = &response{}
	if err = writeFrame(h.Stdin, req); err == nil {
		err = readFrame(h.Stdout, resp)
	}
	if !stop() && err == nil { // killed just after its answer
		err = context.Cause(ctx)
	}
	return resp, ctx.Err() != nil, err
}

// startTime is how long a new helper may take to answer; a source's own time
// begins after that.
const startTime = 20 * time.Second

// take returns an idle helper or starts one and waits for its first answer.
func (c *Compiler) take(ctx context.Context) (h *HelperProc, reused bool, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, false, fault.New(fault.EngineUnavailable, "the compiler is closed")
	}
	if h = c.idle; h != nil {
		c.idle = nil
		c.mu.Unlock()
		return h, true, nil
	}
	c.mu.Unlock()
	if len(c.o.Command) == 0 {
		return nil, false, fault.New(fault.EngineUnavailable, "the compiler has no helper command")
	}
	started, err := c.o.Start(c.o.Command)
	if err != nil {
		return nil, false, fault.New(fault.EngineUnavailable, "the compile helper does not start: %w", err)
	}
	if _, _, err := c.exchange(ctx, &started, request{}, startTime); err != nil {
		started.Kill()
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		return nil, false, fault.New(fault.EngineUnavailable, "the compile helper does not answer: %w", err)
	}
	return &started, false, nil
}

// give keeps h for the next source, unless another is idle already.
func (c *Compiler) give(h *HelperProc) {
	c.mu.Lock()
	if c.idle != nil || c.closed {
		c.mu.Unlock()
		h.Kill()
		return
	}
	c.idle = h
	if c.reap == nil {
		c.reap = time.AfterFunc(c.o.Idle, c.endIdle)
	} else {
		c.reap.Reset(c.o.Idle)
	}
	c.mu.Unlock()
}

func (c *Compiler) endIdle() {
	c.mu.Lock()
	h := c.idle
	c.idle = nil
	c.mu.Unlock()
	if h != nil {
		h.Kill()
	}
}

// Warm starts a helper, so that the first source need not wait for it.
func (c *Compiler) Warm() error {
	h, _, err := c.take(context.Background())
	if err == nil {
		c.give(h)
	}
	return err
}

// Close ends the helpers; sources being compiled end with an error.
func (c *Compiler) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.reap != nil {
		c.reap.Stop()
	}
	c.mu.Unlock()
	c.endIdle()
	for range cap(c.slots) { // those in use end at their own time limit at the latest
		c.slots <- struct{}{}
	}
	for range cap(c.slots) {
		<-c.slots
	}
	return nil
}
