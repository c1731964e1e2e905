package serve

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"tenon/daemon/internal/local"
)

// ErrAgain is what Run returns when a supervised daemon has ended so that its
// supervisor starts one anew: a newer build has taken its executable's place, or
// somebody has removed its socket.
var ErrAgain = errors.New("ended to be started again")

// errNotNeeded ends a supervised daemon that was told to stop before it served.
var errNotNeeded = errors.New("stopped before it served")

// errServed ends a daemon that a client has started while another came to serve.
var errServed = errors.New("another daemon serves")

// Bounds of waiting for the lock.
const (
	askEvery  = time.Second            // between two requests to end; a command may have started another daemon meanwhile
	lookAgain = 250 * time.Millisecond // whether another serves
)

// every calls a function at once and then at intervals, until stop, which waits for a
// call that goes on.
func every(ctx context.Context, interval time.Duration, call func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	calls.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for ctx.Err() == nil {
			call(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		calls.Wait()
	}
}

// takeTurn waits for the lock on behalf of a client, which wants a daemon and not this
// one: where a supervised daemon comes first, that is the one.
func takeTurn(ctx context.Context, o *Options) (*local.Lock, error) {
	lock, err := o.Paths.TryLock()
	if err == nil || o.Served == nil {
		if err != nil {
			lock, err = o.Paths.TakeLock(ctx)
		}
		return lock, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer every(ctx, lookAgain, func(ctx context.Context) {
		if o.Served(ctx) {
			cancel(errServed)
		}
	})()
	return o.Paths.TakeLock(ctx)
}

// takeOver waits, without a limit, for a daemon that somebody's command has
// started: two must not serve, and a supervisor that is refused tries again and
// again until it gives up. Whoever serves is asked to end.
func takeOver(ctx context.Context, o *Options) (*local.Lock, error) {
	lock, err := o.Paths.TryLock()
	if err == nil {
		return lock, nil
	}
	_ = o.Start.Release() // commands may look, and find the one that serves
	o.Start = nil
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.GiveWay != nil {
		defer every(ctx, askEvery, o.GiveWay)()
	}
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
