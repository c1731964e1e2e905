// Package engine is the small interface behind which a program is executed. It
// knows nothing of MCP, sessions or permissions: everything a program reaches
// goes through its Host.
package engine

import (
	"context"
	"encoding/json"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// Engine executes programs. It is safe for concurrent use.
type Engine interface {
	// Name is what a user writes: embedded, deno, bun, node.
	Name() string
	// Run executes p in a fresh realm or process and returns its outcome; it
	// always returns an Outcome, and has released everything of the run by then.
	// When ctx ends, context.Cause(ctx) decides between Cancelled and
	// TimeoutExceeded (a *fault.Error cause is used as it is).
	Run(ctx context.Context, p Program, h Host) *Outcome
	// Close ends helpers and frees memory; runs must have ended.
	Close() error
}

// Program is what to execute and within which limits. A zero limit means the
// engine's default; a negative one means none.
type Program struct {
	Source     string          // TypeScript or JavaScript as written
	Name       string          // file name in messages; default "script.ts"
	Export     string          // the export to run in place of the default one
	Modules    *Modules        // what it may import; nil: nothing
	Args       []string        // args
	Input      json.RawMessage // input; nil means undefined
	Stdin      *string         // what the global stdin reads; nil: nothing was piped
	Namespaces []Namespace     // what tools.<ns> offers
	Session    SessionInfo     // the read-only global session
	Fetch      bool            // the embedded engine's global fetch is there
	Limits     Limits
	Clock      Clock // told when compute starts and stops; may be nil

	// What follows is for engines that are processes. The embedded engine is
	// always confined: it has no directory and no environment.
	Sandbox   string            // read-only, workspace-write or full; empty: workspace-write
	Cwd       string            // where the process stands; absolute
	Workspace string            // what workspace-write may write to; empty: Cwd
	Runtime   string            // the engine's program, absolute; empty: it is searched in Env's PATH
	Env       map[string]string // its variables, beside the few that the engine sets itself
}

// Modules are the files of a folder that a program may import by relative paths.
type Modules struct {
	Path  string            // the program's own, from the folder, with slashes
	Files map[string]string // the others' texts, by their paths
}

// Compiled is what script.Compiler takes for p.
func (p Program) Compiled() script.Source {
	s := script.Source{Text: p.Source, Export: p.Export}
	if p.Modules != nil {
		s.Path, s.Modules = p.Modules.Path, p.Modules.Files
	}
	return s
}

// What a program's Limits.Memory may be, in bytes: less does not hold the
// language itself, more cannot be addressed by the embedded engine.
const (
	MinMemory = 4 << 20
	MaxMemory = 2<<30 - 64<<20
)

// SessionInfo is the global session of a program.
type SessionInfo struct {
	ID    string `json:"id"`
	Cwd   string `json:"cwd"`
	RunID string `json:"runId"`
}

// Namespace gives one server's tools their names in a program. Server is the
// name on the wire; Tools maps each identifier to the wire name. Wire names
// work beside the identifiers: tools.ns["original-name"].
type Namespace struct {
	Name   string            // identifier: tools.<Name>
	Global bool              // also as a bare global <Name>
	Server string            // wire name for Host.Call
	Tools  map[string]string // identifier -> wire name; nil: not known yet, every name is taken as it is
}

// Limits bound one run.
type Limits struct {
	CPU         time.Duration // of computing; default 60 s
	Memory      int64         // bytes; default 64 MiB
	Depth       int           // nesting of values that cross; default 100
	Concurrency int           // host calls in flight; default 16
	Capture     int64         // bytes of value, logs and emits, each, kept at all; default 16 MiB
	Logs        int           // records; default 10,000
	Timers      int           // default 10,000
	Float       time.Duration // how long un-awaited calls are waited for; default 5 s
	Grace       time.Duration // between stop and kill; default 20 ms (embedded)
}

// Clock hears when the program computes and when it is parked on a call, a
// timer or a question. The daemon holds a compute token in between.
type Clock interface {
	// Resume blocks until the program may compute; an error ends the run.
	Resume(ctx context.Context) error
	// Park says the program waits for something outside.
	Park()
}

// Host is everything a program can reach. Its methods are called from many
// goroutines; their contexts end with the run. Errors should be *fault.Error.
type Host interface {
	// Call makes one tool call. args is a JSON object. It returns the unwrapped
	// value as JSON; with o.Raw the whole CallToolResult.
	Call(ctx context.Context, server, tool string, args []byte, o CallOptions) (CallValue, error)
	// Search and Describe serve the globals of the same names; both take and
	// return JSON.
	Search(ctx context.Context, query []byte) ([]byte, error)
	Describe(ctx context.Context, path string) ([]byte, error)
	// Resource serves the globals resources and prompts. method is one of the
	// Method constants; params and the answer are JSON objects.
	Resource(ctx context.Context, method string, params []byte) ([]byte, error)
	// RunScript serves the global run: it executes a saved script as a part of the
	// run, and returns its value as JSON, nil when it has none. input is JSON, nil
	// when none was given. What fails the script is the error.
	RunScript(ctx context.Context, name string, input []byte) ([]byte, error)
	// Artifact serves the global artifact: it keeps bytes beside the run's result
	// and returns their handle as JSON.
	Artifact(ctx context.Context, a Artifact) ([]byte, error)
	// Fetch makes one HTTP request of a program that has fetch, see
	// Program.Fetch. ToolFailure where the network failed, PermissionDenied
	// where the request may not be made.
	Fetch(ctx context.Context, r FetchRequest) (*FetchResponse, error)
	// Emit and Log hear each record at once, in order, from one goroutine.
	Emit(value []byte)
	Log(r LogRecord)
}

// Artifact is what a program asks to keep. Its data is bounded by MaxArtifact.
type Artifact struct {
	Name     string
	MimeType string // empty: told from the data
	Data     []byte
}

// MaxArtifact is how long one artifact of a program may be, in bytes.
const MaxArtifact = 16 << 20

// FetchRequest is what fetch asks for, after the defaults of the web's own.
type FetchRequest struct {
	Method   string
	URL      string      // absolute
	Header   [][2]string // in order; a name may come twice
	Body     []byte      // nil: none
	Redirect string      // follow, error or manual; empty: follow
}

// FetchResponse is the whole answer. Its body is decoded as Content-Encoding
// says.
type FetchResponse struct {
	Status     int
	StatusText string
	URL        string      // the last one, without a fragment
	Redirected bool        // URL is not what was asked for
	Header     [][2]string // names in lower case, sorted; set-cookie may come more than once
	Body       []byte
}

// The methods of Host.Resource, as a program writes them.
const (
	MethodResourcesList      = "resources.list"
	MethodResourcesTemplates = "resources.templates"
	MethodResourcesRead      = "resources.read"
	MethodPromptsList        = "prompts.list"
	MethodPromptsGet         = "prompts.get"
)

// CallOptions are the third argument of call().
type CallOptions struct {
	Raw     bool
	Timeout time.Duration // 0: the tool's own limit
}

// CallValue is the answer to a call.
type CallValue struct {
	Value []byte // JSON
	Raw   []byte // the CallToolResult; given to object results as non-enumerable .raw
}

// LogRecord is one record of log.* or console.*.
type LogRecord struct {
	Level    string // debug, info, warn, error
	Message  string
	Attrs    json.RawMessage // a JSON object or nil
	Position *fault.Position
	Time     time.Time
}

// Wire is the record as it travels.
func (l LogRecord) Wire() proto.Log {
	out := proto.Log{Level: l.Level, Message: l.Message, Attrs: l.Attrs}
	if l.Position != nil {
		at := proto.Position(*l.Position)
		out.Position = &at
	}
	if !l.Time.IsZero() {
		out.Time = l.Time.UTC().Format(time.RFC3339Nano)
	}
	return out
}

// Outcome is how a program ended.
type Outcome struct {
	Value    json.RawMessage // nil when undefined
	Stdout   string          // process engines
	Stderr   string
	Logs     []LogRecord
	Emits    []json.RawMessage
	Warnings []Warning
	Err      *fault.Error // nil on success; Position is in the source as written
	Stack    string       // mapped frames, one a line
	Dropped  Dropped      // what Limits.Capture and Limits.Logs left out
	CPU      time.Duration
	Memory   int64
}

// Warning is something that did not fail the program.
type Warning struct {
	Kind    string // UnhandledRejection, CallsNotAwaited, CallsCancelled, …
	Message string
}

// Dropped counts what was not kept.
type Dropped struct {
	LogRecords  int
	LogBytes    int64
	EmitBytes   int64
	ValueBytes  int64
	OutputBytes int64 // of stdout and stderr
}
