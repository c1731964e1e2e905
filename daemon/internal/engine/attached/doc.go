// Package attached executes programs beside their caller: a command line opens
// one connection to the daemon, which owns the run (its clocks, limits, events,
// calls, result and history) and sends it the compiled program; the command
// line starts, confines, pumps and kills. [Daemon] is the daemon's end and
// [Caller] the other.
//
// The connection is the run's identity: no token names it, and whatever comes
// over it is that run's. When it is lost, the daemon cancels the run, and the
// caller kills the process.
//
// It knows neither engines of processes nor HTTP: both come from outside.
package attached

import "time"

// Bounds of a connection. docs/programs.md prints the second.
const (
	// maxMessage is the longest message, in bytes: an outcome holds 16 MiB each of
	// value, logs, emits and output.
	maxMessage = 128 << 20
	// stopWait is how long the daemon waits for the outcome of a program that it
	// has stopped: the grace of the process, and the time to kill it.
	stopWait = 10 * time.Second
	// maxRequests is how many requests of the other end are handled at a time: a
	// program has at most script.concurrency calls in flight, and searches beside.
	maxRequests = 256
	// writeWait is how long the other end may read nothing.
	writeWait = 30 * time.Second
)
