package proto

import "encoding/json"

// RunResult is the one result of a run: CLI --json, HTTP and bridge give
// exactly this, on success and on failure.
type RunResult struct {
	ID        string            `json:"id"`
	Session   string            `json:"session"`
	OK        bool              `json:"ok"`
	Value     json.RawMessage   `json:"value"` // JSON null when there is none
	Stdout    string            `json:"stdout"`
	Stderr    string            `json:"stderr"`
	Logs      []Log             `json:"logs"`
	Emits     []json.RawMessage `json:"emits"`
	Warnings  []Warning         `json:"warnings"`
	Calls     []CallSummary     `json:"calls"`
	Artifacts []Artifact        `json:"artifacts"`
	Scripts   []ScriptRun       `json:"scripts,omitempty"` // saved scripts and hooks that ran within it
	Error     *Error            `json:"error,omitempty"`
	Truncated bool              `json:"truncated"`
	Timing    Timing            `json:"timing"`
}

// ScriptRun is one saved script that a program ran with run(name, input), or one
// hook: a part of its run, whose calls, logs and emits are the run's.
type ScriptRun struct {
	Name   string  `json:"name"`           // as run was given it, or "hook before"
	Path   string  `json:"path,omitempty"` // those that ran it, outermost first: a > b; absent: the program itself
	Engine string  `json:"engine"`
	Status string  `json:"status"` // ok, failed, cancelled; in frames also running
	Kind   string  `json:"kind,omitempty"`
	MS     float64 `json:"ms"`
}

// Log is one record of log.* or console.*.
type Log struct {
	Level    string          `json:"level"` // debug, info, warn, error
	Message  string          `json:"message"`
	Attrs    json.RawMessage `json:"attrs,omitempty"` // a JSON object
	Position *Position       `json:"position,omitempty"`
	Time     string          `json:"time,omitempty"`   // RFC 3339, UTC
	Script   string          `json:"script,omitempty"` // the saved script or hook within the run that said it
}

// Position is a place in a program as written; line and column start at 1.
type Position struct {
	File   string `json:"file,omitempty"` // that a saved script imported; absent: the program's own
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Warning is something the caller should know that did not fail the run, such
// as UnhandledRejection or StateLost.
type Warning struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// CallSummary is one call of a run.
type CallSummary struct {
	Server string  `json:"server"`
	Tool   string  `json:"tool"`
	Status string  `json:"status"` // ok, error, denied, cancelled, unknown
	MS     float64 `json:"ms"`
	Script string  `json:"script,omitempty"` // the saved script or hook within the run that made it
}

// Artifact is a handle to bytes kept by the daemon.
type Artifact struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
	Bytes    int64  `json:"bytes"`
}

// Error is a failure as a caller sees it. Kind is one of the closed list.
type Error struct {
	Kind     string          `json:"kind"`
	Message  string          `json:"message"`
	Server   string          `json:"server,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Pointer  string          `json:"pointer,omitempty"`
	Position *Position       `json:"position,omitempty"`
	Stack    string          `json:"stack,omitempty"`
	Hint     string          `json:"hint"`
	Content  json.RawMessage `json:"content,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// Timing splits a run's time; all in milliseconds. Human time counts against
// no limit of the run.
type Timing struct {
	Compute float64 `json:"compute"`
	Tools   float64 `json:"tools"`
	Human   float64 `json:"human"`
	Queue   float64 `json:"queue"`
	Total   float64 `json:"total"`
}

// CallResult is the answer to one call outside a program.
type CallResult struct {
	Value     json.RawMessage `json:"value"`            // unwrapped, interface §3
	Raw       json.RawMessage `json:"raw,omitempty"`    // the CallToolResult as the server sent it
	Text      string          `json:"text"`             // what a model sees
	Images    []Image         `json:"images,omitempty"` // pictures among the artifacts, for a host that shows them to its model
	Artifacts []Artifact      `json:"artifacts"`
	Warnings  []Warning       `json:"warnings"`
	Truncated bool            `json:"truncated"`
	Timing    Timing          `json:"timing"`
	Session   string          `json:"session"`
}

// Image is a picture with its bytes.
type Image struct {
	Artifact string `json:"artifact"`
	MimeType string `json:"mimeType"` // image/png, image/jpeg, image/gif
	Data     string `json:"data"`     // as base64
}

// Problem is an RFC 9457 problem document (application/problem+json).
type Problem struct {
	Type   string `json:"type"` // docs/errors/<Kind>.md
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Error         // kind, message, hint, … as members of the document
}

// Frame is one event of a run's stream, in order of Seq.
type Frame struct {
	Seq  int64           `json:"seq"`
	Type string          `json:"type"` // start, log, emit, call, script, progress, ask, question, withdraw, login, artifact, result, error, end
	Run  string          `json:"run"`
	Call string          `json:"call,omitempty"` // on a bridge: the host's tool call that started the run
	Data json.RawMessage `json:"data,omitempty"` // by type: Log, any JSON, CallEvent, ScriptRun, Progress, Ask, Question, Withdraw, LoginPrompt, Artifact, RunResult, Error
}

// CallEvent is the data of a "call" frame: once when it starts, once when it ends.
type CallEvent struct {
	ID     int64   `json:"id"` // within the run
	Server string  `json:"server"`
	Tool   string  `json:"tool"`
	Status string  `json:"status"` // running, then as CallSummary.Status
	Input  string  `json:"input,omitempty"`
	MS     float64 `json:"ms,omitempty"`
	Script string  `json:"script,omitempty"` // as CallSummary.Script
}

// Progress is the data of a "progress" frame.
type Progress struct {
	Call     int64   `json:"call"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}
