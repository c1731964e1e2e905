// Package typecheck holds a program against the types of the tools that it
// calls, with a TypeScript checker of this machine. tenon brings no checker of
// its own: it finds one, runs it in a bounded process and reads what it says.
package typecheck

import (
	"context"
	"log/slog"
	"os"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/recent"
)

// What a run can ask for (script.typecheck, --typecheck).
const (
	Off    = "off"
	Warn   = "warn"   // mistakes are warnings of the result
	Strict = "strict" // a mistake, or no checker, and nothing runs
)

// Modes are the words that a run may say; the empty word means the setting.
var Modes = []string{Off, Warn, Strict}

// WarningKind is the kind of what warn reports.
const WarningKind = "TypeCheck"

// Options of a Checker. Record and Dir are required.
type Options struct {
	Record *proctree.Record
	// Dir holds the files of checks that go on, one directory for each. It is
	// the Checker's own: what a killed predecessor left there is removed.
	Dir string
	// Executable is this program's own binary, which confines a project's
	// checker; empty: it is not confined.
	Executable string
	Env        map[string]string // for callers whose variables are not known
	Timeout    time.Duration     // of one check; 0: 30 s
	Checks     int               // that may go on at a time, others wait; 0: 2
	Keep       int               // results that are kept; 0: 256
	Log        *slog.Logger      // nil: discarded
}

// Request is one program to check.
type Request struct {
	Source string // as written
	Module bool   // it has exports, so that it cannot stand in a function
	Name   string // its file name, for .js; empty: TypeScript
	// Types are the declarations of everything that tenon gives the program;
	// what its language environment has is added here.
	Types string
	// Process says that a process of its own executes it, whose runtime has
	// globals and modules that are not known here: those are not checked.
	Process bool
	Fetch   bool // the embedded engine's program has fetch
	Place   Place
}

// Place is where a checker is looked for.
type Place struct {
	Dir       string // the run's directory
	Workspace string // the project's top: nothing above it is looked at
	Trusted   bool   // the user has agreed to run what the project names
	// Env are the caller's variables: its PATH is searched, and a checker gets
	// PATH and HOME of it.
	Env map[string]string
}

// Report is what a checker said.
type Report struct {
	Checker     string // its name, version and path
	Diagnostics []Diagnostic
}

// Diagnostic is one mistake, in the checker's own words.
type Diagnostic struct {
	fault.Position
	Code    int // TypeScript's number
	Message string
}

// Checker checks programs. It is safe for concurrent use.
type Checker struct {
	o     Options
	slots chan struct{}
	cache *recent.Cache[cacheKey, *Report]
}

// New makes a Checker; nothing is looked for or started yet.
func New(o Options) *Checker {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Checks <= 0 {
		o.Checks = 2
	}
	if o.Keep <= 0 {
		o.Keep = 256
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		o.Log.Warn("leftovers of former type checks stay", "dir", o.Dir, "error", err)
	}
	return &Checker{o: o, slots: make(chan struct{}, o.Checks), cache: recent.New[cacheKey, *Report](o.Keep, nil)}
}

// Check checks one program. The error is a *fault.Error: TypeCheckError when
// there is no checker, or when it failed or took too long, so that it is not
// known whether the program fits. When ctx ends, the error is its cause.
func (c *Checker) Check(ctx context.Context, r Request) (*Report, error) {
	if r.Place.Env["PATH"] == "" {
		r.Place.Env = c.o.Env
	}
	tool, err := find(r.Place)
	if err != nil {
		return nil, err
	}
	p := programOf(r)
	key := p.key(tool)
	if have, ok := c.cache.Get(key); ok {
		return have, nil
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	report, err := c.run(ctx, tool, p, r.Place)
	if err != nil {
		return nil, err
	}
	c.cache.Put(key, report)
	return report, nil
}
