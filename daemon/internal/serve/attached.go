package serve

import (
	"context"
	"time"

	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/run"
	"tenon/proto"
)

// Beside reports whether a program is to be executed beside its caller.
func (r runs) Beside(c *peer.Caller, req proto.ExecRequest) (bool, error) {
	view, err := r.d.view(c, req.Cwd)
	if err != nil {
		return false, err
	}
	return r.d.runs.Beside(run.Spec{Caller: c, Session: c.Session, View: view, Exec: req})
}

// ExecAttached starts a run whose program is executed at the other end of at, if
// it is an engine's that can be there.
func (r runs) ExecAttached(ctx context.Context, c *peer.Caller, req proto.ExecRequest, at *attached.Daemon) (attached.Run, error) {
	if req.Where == "" {
		req.Where = run.WhereAuto
	}
	spec, release, err := r.spec(c, &req.Cwd)
	if err != nil {
		return nil, err
	}
	defer release() // the run holds the session from here on
	spec.Exec = req
	beside, err := r.d.runs.Beside(spec)
	if err != nil {
		return nil, err
	}
	if beside {
		spec.Beside = at
	}
	started, err := r.d.runs.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	if beside {
		r.d.tending.Go(func() { r.d.sweepAfter(started, at) })
	}
	return started, nil
}

// Waits for a command that was killed: its connection may be gone a moment
// before its lock is.
const (
	sweepTries = 10
	sweepPause = 200 * time.Millisecond
)

// sweepAfter ends what the command behind a lost connection left running.
func (d *daemon) sweepAfter(r *run.Run, at *attached.Daemon) {
	<-r.Done()
	select {
	case <-at.Lost():
	default:
		return // it is there, and clears up by itself
	}
	look := time.NewTicker(sweepPause) // the lock of another process tells nobody
	defer look.Stop()
	for range sweepTries {
		if attached.Sweep(context.Background(), d.o.Paths.Runtime, d.log) == 0 {
			return
		}
		<-look.C
	}
}
