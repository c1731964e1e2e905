// Package serve wires the rooms of the daemon together: it starts them in
// order, serves until told to stop or idle for long enough, and ends them so
// that no work is lost that could be finished. Only it imports everything.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// Options say how the daemon runs.
type Options struct {
	secrets *history.Redactor // what the log and history mask

	Paths local.Paths
	// UserFile is read in place of the user's configuration file; absolute.
	// Empty: the one that Paths finds.
	UserFile string
	// Start is the start lock that the starter passed down; nil: it is taken
	// here, so that a start by hand and one by a client do not meet.
	Start *local.Lock
	// Ready is told once how the start went: nil when the daemon serves. May be nil.
	Ready func(error)
	// LogTo receives the log of a daemon in the foreground; nil: the log file,
	// which then also receives standard output and error of this process.
	LogTo    io.Writer
	LogLevel slog.Level
	// LogFixed is whether LogLevel stays, whatever daemon.logLevel says.
	LogFixed bool
	level    *slog.LevelVar
	// Executable is this program, for its helper processes.
	Executable string
	// Environ is the daemon's own environment, KEY=value: the fallback for
	// what a caller does not send.
	Environ []string
	// Supervised is whether a service manager keeps the daemon running: it waits
	// for one that serves instead of failing, does not end for having nothing to
	// do, and ends with ErrAgain where the manager should start one anew.
	Supervised bool
	// Served reports whether another daemon serves and takes work: one that a client
	// has started ends then, instead of waiting for its turn. Nil: that is not asked.
	Served func(context.Context) bool
	// GiveWay asks a daemon that serves to end once nothing is lost by it; there may
	// be none. A supervised one asks whoever serves. Nil: it only waits.
	GiveWay func(context.Context)
	// Signals stop the daemon: the first gracefully, the second at once. Nil:
	// only ctx and the API do.
	Signals <-chan os.Signal
}

// Bounds of starting and stopping (docs/daemon.md prints them).
const (
	lockWait     = 40 * time.Second // for a predecessor to end
	drainTimeout = 30 * time.Second // for what runs to finish after a stop
	closeTimeout = 15 * time.Second // for servers to end; each has 5 s
)

// Run serves until the daemon is stopped, replaced or idle. It returns nil
// when it ended as it should.
func Run(ctx context.Context, o Options) (err error) {
	ready := o.Ready
	tell := func(err error) {
		if ready != nil {
			ready(err)
			ready = nil
		}
	}
	defer func() { tell(err) }()

	if err := o.Paths.Ensure(); err != nil {
		return err
	}
	o.secrets, o.level = &history.Redactor{}, &slog.LevelVar{}
	o.level.Set(o.LogLevel)
	log, closeLog, err := openLog(o)
	if err != nil {
		return err
	}
	defer closeLog()
	tuneMemory()

	began := executable(o.Executable)
	defer func() { // also where there is nothing to start
		if o.Start != nil {
			_ = o.Start.Release()
		}
	}()
	lock, err := takeLocks(ctx, &o)
	if errors.Is(err, errNotNeeded) || errors.Is(err, errServed) {
		return nil
	}
	if err != nil {
		log.Error("not started", "error", err)
		return err
	}
	// The lock goes last: whoever gets it may touch the socket.
	defer func() { err = errors.Join(err, lock.Remove()) }()

	d, err := open(ctx, o, log)
	if err != nil {
		log.Error("not started", "error", err)
		return err
	}
	if err := d.listen(lock); err != nil {
		log.Error("not started", "error", err)
		d.close(context.Background())
		return err
	}
	info := local.Info{PID: os.Getpid(), Protocol: proto.Protocol, Build: local.Build(), Socket: o.Paths.Socket, Started: d.started, Log: o.Paths.LogFile()}
	if err := o.Paths.WriteInfo(info); err != nil {
		log.Warn("daemon.json is not written", "error", err)
	}
	defer o.Paths.RemoveInfo()
	log.Info("serving", "pid", os.Getpid(), "socket", o.Paths.Socket, "build", local.FormatBuild(local.Build()))
	if o.Start != nil {
		_ = o.Start.Release() // those who waited to start one may look again
		o.Start = nil
	}
	tell(nil)

	reason := d.untilStopped(ctx)
	lost := d.unfindable() // before the end removes the socket itself
	log.Info("stopping", "reason", reason)
	d.shutdown()
	log.Info("stopped")
	if o.Supervised && (lost || d.newer.Load() != nil && replaced(o.Executable, began)) {
		return ErrAgain
	}
	return nil
}

// takeLocks serialises starts and waits for a predecessor that is ending.
func takeLocks(ctx context.Context, o *Options) (*local.Lock, error) {
	if o.Start == nil {
		lock, err := o.Paths.TakeStart(ctx)
		if err != nil {
			return nil, err
		}
		o.Start = lock
		if o.Supervised {
			return takeOver(ctx, o)
		}
		// By hand: say at once that one is running, instead of waiting for it.
		return o.Paths.TryLock()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, fault.New(fault.DaemonUnavailable,
		"another daemon held %s for %s", o.Paths.Runtime, lockWait).
		WithHint("tenon daemon status shows it; tenon daemon stop --force ends it"))
	defer cancel()
	return takeTurn(ctx, o)
}

// environ turns KEY=value pairs into what a process is given.
func environ(sets ...map[string]string) []string {
	merged := map[string]string{}
	for _, set := range sets {
		for k, v := range set {
			merged[k] = v
		}
	}
	out := make([]string, 0, len(merged))
	for k, v := range merged {
		out = append(out, fmt.Sprintf("%s=%s", k, v))
	}
	return out
}
