package pool

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

const (
	// pingWithin bounds the check of a doubtful instance.
	pingWithin = 2 * time.Second
	// hopeless is how many calls in a row may time out before an instance that
	// does not answer a ping is ended in spite of other calls in flight.
	hopeless = 3
)

// counted is an instance's connection with its calls accounted for.
type counted struct {
	upstream.Conn
	inst *Instance
}

// Call makes the call and notes what its outcome says about the instance.
func (c *counted) Call(ctx context.Context, call upstream.Call) (json.RawMessage, error) {
	c.inst.calls.Add(1)
	c.inst.inFlight.Add(1)
	raw, err := c.Conn.Call(ctx, call)
	c.inst.inFlight.Add(-1)
	c.inst.settle(err)
	return raw, c.inst.because(err)
}

// because gives a call that broke since its instance was ended the reason of
// that end: the connection knows only that it was closed. The call's fate stays.
func (i *Instance) because(err error) error {
	ended := i.ended.Load()
	if ended == nil || fault.KindOf(err) != fault.ServerUnavailable {
		return err
	}
	why := *ended
	why.Data = fault.From(err).Data
	return why.Because(err)
}

// settle learns from the outcome of a call. An error of the tool is an answer:
// the server lives. After a timeout, or a connection that broke in the middle
// (its end may show itself later than the call's), it is doubtful. The end of
// the caller's ctx teaches nothing.
func (i *Instance) settle(err error) {
	if err != nil {
		switch fault.KindOf(err) {
		case fault.TimeoutExceeded, fault.ServerUnavailable:
			i.timeouts.Add(1)
			return
		case fault.ToolFailure, fault.UnknownTool, fault.InvalidToolInput, fault.InvalidToolOutput:
		default:
			return
		}
	}
	if i.timeouts.Load() != 0 {
		i.timeouts.Store(0)
	}
	if !i.tmpl.troubled.Load() {
		return
	}
	i.pool.mu.Lock()
	i.tmpl.health.answered()
	i.tmpl.troubled.Store(false)
	i.pool.mu.Unlock()
}

// Doubtful reports whether a call timed out or broke, and none was answered
// since: the connection may only look alive.
func (i *Instance) Doubtful() bool { return i.timeouts.Load() > 0 }

// check is the one ping of a doubtful instance that all its users share.
type check struct {
	mu      sync.Mutex
	running chan struct{} // guarded by mu; closed when the ping is over
}

// Check pings a doubtful instance, for at most two seconds, and reports
// whether it can be used. One that does not answer is ended, unless other
// calls are in flight on it and few timed out: a server may be deaf while it
// works. Concurrent checks share one ping.
func (i *Instance) Check(ctx context.Context) (usable bool, err error) {
	if !i.Doubtful() {
		return i.Usable(), nil
	}
	i.check.mu.Lock()
	running := i.check.running
	if running == nil {
		running = make(chan struct{})
		i.check.running = running
		go i.ping(running)
	}
	i.check.mu.Unlock()
	select {
	case <-running:
		return i.Usable(), nil
	case <-ctx.Done():
		return false, fault.From(context.Cause(ctx))
	}
}

func (i *Instance) ping(over chan struct{}) {
	conn := i.conn.Load().Conn
	ctx, cancel := context.WithTimeout(i.life, pingWithin)
	err := conn.Ping(ctx)
	if fault.KindOf(err) == fault.ServerUnavailable && i.local() {
		select { // a broken pipe: the end of the process is near
		case <-conn.Done():
		case <-ctx.Done():
		}
	}
	cancel()
	switch {
	case err == nil:
		i.timeouts.Store(0)
	case i.brokeBy(conn):
	case i.inFlight.Load() == 0 || i.timeouts.Load() >= hopeless:
		i.pool.log.Warn("instance does not answer", "server", i.def.Server.Name, "instance", i.id, "error", err)
		i.pool.End(i, "it did not answer a ping after a call had timed out")
	}
	i.check.mu.Lock()
	i.check.running = nil
	i.check.mu.Unlock()
	close(over)
}

// local reports whether the server is a process of ours.
func (i *Instance) local() bool { return i.def.Server.Kind != "http" && i.def.Server.Kind != "sse" }

// brokeBy reports whether the connection is gone by itself, in which case the
// crash is counted now: the next start must know of it.
func (i *Instance) brokeBy(conn upstream.Conn) bool {
	select {
	case <-conn.Done():
	default:
		return false
	}
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	if i.endReason == "" {
		i.crashedLocked(conn)
	}
	return true
}
