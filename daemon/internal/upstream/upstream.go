// Package upstream speaks MCP to one running server: transports that forgive
// noise and huge lines, raw tool calls beneath the SDK's session, progress,
// cancellation and questions.
package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Spec is what to connect to.
type Spec struct {
	Name         string   // for messages
	Kind         string   // stdio, http, sse
	Command      []string // stdio; [0] absolute
	Env          []string // stdio: the complete environment, KEY=value
	Cwd          string
	URL          string
	Headers      map[string]string
	StartTimeout time.Duration // initialize and the first tools/list together
	MaxMessage   int64         // bytes of one message; 0: DefaultMaxMessage
	Roots        []string      // directories answered to roots/list until SetRoots
	Secrets      []string      // masked in stderr, noise and errors
	Login        Login         // http, sse: whose token is sent; nil: none is
	Observer     Observer
}

// Login gives the tokens of a remote server. Methods may be called at the same
// time.
type Login interface {
	// Token is what to send as a bearer token; empty: nothing.
	Token(ctx context.Context) (string, error)
	// Refused hears that a request with token was answered 401 or 403, and gives
	// the token to send it once more with; empty: the answer is no matter of it.
	Refused(ctx context.Context, token string, status int, header http.Header) (string, error)
	// Rejected is the error of a request that was refused 401 with the token of
	// Refused as well.
	Rejected() error
	// Mask replaces tokens in a text.
	Mask(text string) string
}

// DefaultMaxMessage caps one message from a server (documented in docs/upstreams.md).
const DefaultMaxMessage = 64 << 20

// Observer hears what a connection notices. Methods must not block.
type Observer interface {
	ToolsChanged()       // notifications/tools/list_changed, not debounced
	Noise(sample string) // a line on stdout that is not MCP (rate-limited)
	Stderr(line string)  // every line
	ServerLog(level, msg string)
	// Noticed hears of changed resources and prompts, and of log messages that
	// no Call.Log hears.
	Noticed(n Notice)
}

// Tool is one tool as listed, raw schemas kept byte for byte.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	// Unusable says why this entry of the list is no tool, naming its place;
	// nobody can call it. Never taken from the server.
	Unusable string `json:"unusable,omitempty"`
}

// Call is one tools/call, or another request that Method names.
type Call struct {
	Tool string
	// Method is a request other than tools/call, whose params are Arguments; Tool
	// is only its name in messages then. Empty: tools/call.
	Method    string
	Arguments json.RawMessage // always a JSON object; nil is sent as {}
	Timeout   time.Duration   // re-armed by each progress notification; 0: none
	Wall      time.Duration   // hard limit; 0: none
	Progress  func(Progress)  // may be nil; called in order, must not block; may run in the goroutine of Call
	Questions Questions       // who answers elicitation and sampling for this call; nil: declined
	Patience  time.Duration   // how long a page that somebody was sent to may take; 0: not waited for
	// Owner is whom the server works for: what it logs while calls of several
	// owners are in flight is nobody's. Log hears what it logs meanwhile; nil: the
	// Observer does. It must not block, and may be called once more when Call is
	// returning.
	Owner string
	Log   func(Log)
}

// Progress is one notifications/progress.
type Progress struct {
	Progress float64
	Total    float64
	Message  string
}

// Questions answers what a server asks during one call. Params and result are
// raw JSON of the MCP request. Methods may be called at the same time, and
// until the call has returned.
type Questions interface {
	// Ask blocks until there is an answer or ctx ends. InvalidToolInput says that
	// the question itself is wrong; any other error, that nobody answers it.
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Declined tells of a question that was put to nobody, and why. It must not
	// block.
	Declined(method, why string)
	// Waiting runs a wait for somebody who was sent to a page; the time is
	// theirs, not the tool's.
	Waiting(wait func())
}

// Info is what a connection knows of its server.
type Info struct {
	Protocol     string // negotiated version
	ServerName   string
	ServerVer    string
	Instructions string
	PID          int // stdio
	Capabilities json.RawMessage
}

// Conn is one live connection. It is safe for concurrent use.
//
//   - Tools lists every page, with a guard against endless cursors.
//   - Call sends one tools/call and returns the raw CallToolResult. When ctx
//     ends first it sends notifications/cancelled with the text of
//     context.Cause(ctx) and returns at once. A connection that breaks with the
//     call in flight gives ServerUnavailable with Unknown fate.
//   - Close ends the server: stdin closed, TERM to the group, KILL, each after a
//     bounded wait (at most 5 s in all); it returns when the process tree is gone.
//     The end of ctx skips the polite waits. Close is needed after Done too.
type Conn interface {
	Info() Info
	Tools(ctx context.Context) ([]Tool, error)
	Call(ctx context.Context, c Call) (json.RawMessage, error)
	Ping(ctx context.Context) error
	// SetRoots replaces the directories answered to roots/list, telling the
	// server when they changed.
	SetRoots(dirs []string)
	Done() <-chan struct{} // closed when the connection is gone
	Err() error            // after Done: why, a *fault.Error
	StderrTail() string    // last lines, masked
	Close(ctx context.Context) error
}
