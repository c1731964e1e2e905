// Package guest is the program's side of an engine, as far as it is the same on
// every engine: the core of the prelude that gives a program its globals, the
// names that lead to tools, the calls in flight, what is kept of its output, and
// what its failures become. An engine adds how the two sides speak.
package guest

import (
	_ "embed" // the prelude
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// Core, Asks and Console are functions in JavaScript, as expressions. Core is
// called with the one function that leads out, host(operation, …), and returns
// what the others are called with, in this order; see prelude/core.js.
var (
	//go:embed prelude/core.js
	Core string
	//go:embed prelude/asks.js
	Asks string
	//go:embed prelude/console.js
	Console string
)

// The operations of host(operation, …); prelude/core.js and prelude/asks.js have
// the same list. An engine numbers its own from [OpOwn] on.
const (
	OpCall = iota
	OpLog
	OpEmit
	OpTimer
	OpUntimer
	OpDone
	OpFail
	OpSearch
	OpDescribe
	OpNames
	OpResource
	OpRun
	OpWarn
	OpStdin
	OpArtifact

	OpOwn = 32 // leaves room for more that all engines have
)

// States of an answer, as the prelude's settle knows them.
const (
	StateFailed = 0
	StatePlain  = 1
	StateBig    = 2 // the JSON holds integers that a double cannot
)

// File is the program's name inside an engine; frames that leave get its own.
const File = "program"

// DefaultMemory is the limit of memory where nothing is said.
const DefaultMemory = 64 << 20

// WithDefaults fills the zero limits, but for Grace, which is each engine's own;
// negative ones become the largest value there is.
func WithDefaults(l engine.Limits) engine.Limits {
	Limit(&l.CPU, 60*time.Second, 1<<62)
	Limit(&l.Memory, DefaultMemory, engine.MaxMemory)
	Limit(&l.Depth, 100, 1<<30)
	Limit(&l.Concurrency, 16, 1<<30)
	Limit(&l.Capture, 16<<20, 1<<62)
	Limit(&l.Logs, 10_000, 1<<30)
	Limit(&l.Timers, 10_000, 1<<30)
	Limit(&l.Float, 5*time.Second, 1<<62)
	l.Memory = min(max(l.Memory, engine.MinMemory), engine.MaxMemory)
	return l
}

// Limit sets a limit that is zero to its standard, one that is negative to what
// stands for none.
func Limit[T int | int64 | time.Duration](field *T, standard, none T) {
	switch {
	case *field == 0:
		*field = standard
	case *field < 0:
		*field = none
	}
}

// Timeout reads the option timeout of a call: milliseconds, or a text like
// "30s".
func Timeout(text string, isText bool, ms float64) (time.Duration, error) {
	if isText {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fault.New(fault.InvalidToolInput, "the timeout %q is not a duration", Clip(text, 100)).
				WithHint(`write milliseconds, or a text like "30s"`)
		}
		return d, nil
	}
	if ms > 0 {
		return Milliseconds(ms), nil
	}
	return 0, fault.New(fault.InvalidToolInput, "the timeout must be more than 0 ms")
}

// Milliseconds is a JavaScript delay; NaN and negative numbers are 0.
func Milliseconds(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, math.MaxInt32*1000) * float64(time.Millisecond))
}

// Valid makes text of a program UTF-8: lone surrogates become U+FFFD.
func Valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Clip is at most limit bytes of s, with a mark where something is missing.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// headOf is at most n bytes of s, cut between characters.
func headOf(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
