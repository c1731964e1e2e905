package pool

import (
	"context"
	"errors"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

// run is the life of an instance, in one goroutine: back-off, turn to start,
// start, service, end. The slot is free when it returns.
func (i *Instance) run() {
	defer i.pool.running.Done()
	conn, err := i.start()
	if err != nil {
		i.startFailed(conn, err)
		return
	}
	i.serve(conn)
}

// start waits for its turn and connects. On success the connection and the
// first list of tools are in place; on failure there may be a connection that
// has to be closed.
func (i *Instance) start() (upstream.Conn, error) {
	if err := i.backOff(); err != nil {
		return nil, err
	}
	if err := i.pool.starts.enter(i.life); err != nil {
		return nil, err
	}
	defer i.pool.starts.leave()

	limit := i.def.Server.StartTimeout
	if limit <= 0 {
		limit = DefaultStartTimeout
	}
	// A connection that keeps the limit itself knows better what it waited for:
	// let it speak first.
	ctx, cancel := context.WithTimeout(i.life, limit+min(limit/10, time.Second))
	defer cancel()
	began := time.Now()
	defer func() { i.slow = time.Since(began) >= limit }()
	conn, err := i.pool.dial(ctx, i.def, i.roots, &i.rec)
	if err != nil {
		return nil, i.startError(ctx, limit, err)
	}
	i.conn.Store(&counted{Conn: conn, inst: i})
	if err := i.firstList(ctx, conn); err != nil {
		return conn, i.startError(ctx, limit, err)
	}
	return conn, nil
}

// backOff holds the start back after crashes.
func (i *Instance) backOff() error {
	wait := i.notBefore.Sub(i.pool.now())
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-i.life.Done():
		return context.Cause(i.life)
	}
}

// firstList reads the tools. A server that answers with an error, or with a
// list that is refused, serves on without tools, and `ls` says why; one that
// is gone or silent has not started.
func (i *Instance) firstList(ctx context.Context, conn upstream.Conn) error {
	err := i.relist(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	select {
	case <-conn.Done():
		if cause := conn.Err(); cause != nil {
			return cause
		}
		return err
	default:
		i.pool.log.Warn("tools cannot be listed", "server", i.def.Server.Name, "instance", i.id, "error", err)
		return nil
	}
}

// startError says why the start failed: ended by us, too slow, or by itself.
func (i *Instance) startError(ctx context.Context, limit time.Duration, err error) error {
	if i.life.Err() != nil {
		return context.Cause(i.life)
	}
	name := i.def.Server.Name
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e := fault.New(fault.ServerUnavailable, "server %q was not ready within %s%s", name, limit, i.lastWords()).
			Because(err)
		return e.At(name, "").WithHint("raise startTimeout of %q if it needs longer, and call again", name)
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	return fault.New(fault.ServerUnavailable, "server %q did not start: %v", name, err).Because(err).At(name, "").
		WithHint("tenon ls %s shows what it printed", name)
}

// lastWords quotes the last line of stderr, for messages.
func (i *Instance) lastWords() string {
	lines := i.rec.records().Stderr
	if len(lines) == 0 {
		return ""
	}
	return "; it printed last: " + strings.TrimSpace(lines[len(lines)-1])
}

// startFailed settles a start that came to nothing. Too slow is no crash, and
// neither is a login that is missing: the next use tries again at once.
func (i *Instance) startFailed(conn upstream.Conn, err error) {
	reason := err.Error()
	p := i.pool
	p.mu.Lock()
	i.phase.Store(phaseEnding)
	if i.endReason == "" && !i.slow && fault.KindOf(err) != fault.Unauthorized {
		i.countCrashLocked(reason)
	}
	i.failed = err
	close(i.started)
	p.emit(StartFailed, i, reason)
	p.mu.Unlock()
	i.stop(err)
	p.log.Warn("instance did not start", "server", i.def.Server.Name, "instance", i.id, "reason", reason)
	if conn != nil {
		i.closeConn(conn)
	}
	p.free(i, reason)
}

// serve publishes the instance and looks after it until its end.
func (i *Instance) serve(conn upstream.Conn) {
	p := i.pool
	p.mu.Lock()
	if i.endReason == "" {
		i.phase.Store(phaseServing)
		p.emit(Ready, i, "")
	} else {
		i.failed = context.Cause(i.life)
	}
	close(i.started)
	p.mu.Unlock()
	p.log.Info("instance ready", "server", i.def.Server.Name, "instance", i.id, "pid", conn.Info().PID)

	i.watch(conn)
	reason := i.leave(conn)
	i.closeConn(conn)
	p.log.Info("instance gone", "server", i.def.Server.Name, "instance", i.id, "reason", reason)
	p.free(i, reason)
}

// watch keeps the list of tools current until the instance is ended or its
// connection breaks.
func (i *Instance) watch(conn upstream.Conn) {
	delay := time.NewTimer(time.Hour)
	delay.Stop()
	defer delay.Stop()
	for {
		select {
		case <-i.life.Done():
			return
		case <-conn.Done():
			return
		case <-i.lists.nudge:
			delay.Reset(relistDelay)
			continue
		case <-i.lists.now:
		case <-delay.C:
		}
		if i.lists.stale() { // not read meanwhile for somebody in a hurry
			i.relistAndTell()
		}
	}
}

// relistAndTell reads the list again and reports what came of it.
func (i *Instance) relistAndTell() {
	_, before, _ := i.Tools()
	limit := i.def.Server.StartTimeout
	if limit <= 0 {
		limit = DefaultStartTimeout
	}
	ctx, cancel := context.WithTimeout(i.life, limit)
	err := i.relist(ctx)
	cancel()
	if i.life.Err() != nil {
		return
	}
	if err != nil {
		i.pool.log.Warn("tools cannot be listed again; the list before stays", "server", i.def.Server.Name, "instance", i.id, "error", err)
		i.pool.emit(ToolsFailed, i, err.Error())
		return
	}
	if _, after, _ := i.Tools(); after != before {
		i.pool.emit(ToolsChanged, i, "")
	}
}

// leave marks the instance as ending, and as crashed when nobody ended it.
func (i *Instance) leave(conn upstream.Conn) (reason string) {
	p := i.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	i.phase.Store(phaseEnding)
	if i.endReason == "" {
		i.crashedLocked(conn)
	}
	return i.endReason
}

// crashedLocked notes that the connection broke by itself. Pool.mu is held.
func (i *Instance) crashedLocked(conn upstream.Conn) {
	var cause error = fault.New(fault.ServerUnavailable, "server %q went away", i.def.Server.Name).At(i.def.Server.Name, "")
	if err := conn.Err(); err != nil {
		cause = err
	}
	i.phase.Store(phaseEnding)
	i.endReason = cause.Error()
	i.stop(cause)
	i.countCrashLocked(i.endReason)
	i.pool.emit(Crashed, i, i.endReason)
}

func (i *Instance) countCrashLocked(reason string) {
	i.tmpl.health.crashed(i.gen, i.pool.lastGen, !i.local(), reason, i.pool.now())
	i.tmpl.troubled.Store(true)
}

// closeConn ends the server and waits until its process tree is gone.
func (i *Instance) closeConn(conn upstream.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		i.pool.log.Warn("instance did not end cleanly", "server", i.def.Server.Name, "instance", i.id, "error", err)
	}
}
