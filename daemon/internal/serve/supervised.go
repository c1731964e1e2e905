package serve

import (
	"context"
	"errors"
	"os"

	"tenon/daemon/internal/local"
)

// ErrAgain is what Run returns when a supervised daemon has ended so that its
// supervisor starts one anew: a newer build has taken its executable's place, or
// somebody has removed its socket.
var ErrAgain = errors.New("ended to be started again")

// errNotNeeded ends a supervised daemon that was told to stop before it served.
var errNotNeeded = errors.New("stopped before it served")

// takeOver waits, without a limit, for a daemon that somebody's command has
// started: two must not serve, and a supervisor that is refused tries again and
// again until it gives up.
func takeOver(ctx context.Context, o *Options) (*local.Lock, error) {
	lock, err := o.Paths.TryLock()
	if err == nil {
		return lock, nil
	}
	_ = o.Start.Release() // commands may look, and find the one that serves
	o.Start = nil
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting := make(chan struct{})
	defer close(waiting)
	go func() {
		select {
		case <-o.Signals:
			cancel(errNotNeeded)
		case <-waiting:
		}
	}()
	lock, err = o.Paths.TakeLock(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNotNeeded) {
		return nil, errNotNeeded
	}
	return lock, err
}

// executable notes which file a daemon was started from.
func executable(path string) os.FileInfo {
	st, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return st
}

// replaced reports whether another file has the executable's name by now.
func replaced(path string, was os.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && was != nil && (!os.SameFile(now, was) || !now.ModTime().Equal(was.ModTime()))
}
