package proto

import "encoding/json"

// Methods of GET /v1/exec/attached; schema/program.json describes each. The
// others that it uses are the bridge's.
const (
	MethodExecAttach   = "exec/attach"
	MethodToolCall     = "tool/call"
	MethodDescribe     = "catalog/describe"
	MethodMaterial     = "material/ask"
	MethodScriptRun    = "script/run"
	MethodArtifactKeep = "artifact/keep"
	MethodProgramLog   = "program/log"
	MethodProgramEmit  = "program/emit"
	MethodProgramRun   = "program/run"
	MethodProgramStop  = "program/stop"
)

// UpgradeAttached is the protocol to which GET /v1/exec/attached upgrades.
const UpgradeAttached = "tenon-attached"

// AttachedProgram is a program to execute beside its caller: the parameters of
// program/run.
type AttachedProgram struct {
	Engine     string          `json:"engine"` // deno, bun or node
	Script     ProgramScript   `json:"script"`
	Name       string          `json:"name"` // file name for messages
	Args       []string        `json:"args"`
	Input      json.RawMessage `json:"input,omitempty"` // absent: none
	Stdin      *string         `json:"stdin,omitempty"` // what it reads as stdin; absent: nothing was piped
	Namespaces []ProgramSpace  `json:"namespaces"`
	Session    ProgramSession  `json:"session"`
	Limits     ProgramLimits   `json:"limits"`
	Sandbox    string          `json:"sandbox"` // read-only, workspace-write or full
	Cwd        string          `json:"cwd"`
	Workspace  string          `json:"workspace"` // what workspace-write may write to; empty: cwd
	Runtime    string          `json:"runtime"`   // the engine's program; empty: searched for in the caller's PATH
}

// ProgramScript is a compiled program with the way back to its source.
type ProgramScript struct {
	Code     string        `json:"code"`
	Mappings string        `json:"mappings"` // of a source map, version 3
	Above    int           `json:"above"`    // lines of code before the mapped ones
	Skip     int           `json:"skip"`     // lines of the mapped source before the author's first
	Edits    []ProgramEdit `json:"edits"`
	Sources  []string      `json:"sources,omitempty"` // files of the mappings, the program's own as ""; absent: only that
}

// ProgramEdit is a piece of one line of the code that was replaced after it was
// mapped; all numbers from 0.
type ProgramEdit struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Old    int `json:"old"` // bytes before
	New    int `json:"new"` // bytes after
}

// ProgramSpace gives the tools of one server their names in a program.
type ProgramSpace struct {
	Name   string            `json:"name"`
	Global bool              `json:"global"`
	Server string            `json:"server"`
	Tools  map[string]string `json:"tools,omitempty"` // from identifier to name; absent: not known
}

// ProgramSession is the global session of a program.
type ProgramSession struct {
	ID    string `json:"id"`
	Cwd   string `json:"cwd"`
	RunID string `json:"runId"`
}

// ProgramLimits bound what a program uses; 0 means the default, less means
// none.
type ProgramLimits struct {
	CPUMS        int64 `json:"cpuMs"`
	MemoryBytes  int64 `json:"memoryBytes"`
	Depth        int   `json:"depth"`
	Concurrency  int   `json:"concurrency"`
	CaptureBytes int64 `json:"captureBytes"`
	Logs         int   `json:"logs"`
	Timers       int   `json:"timers"`
	FloatMS      int64 `json:"floatMs"`
}

// ProgramOutcome is how an attached program ended: the answer to program/run.
type ProgramOutcome struct {
	Value       json.RawMessage   `json:"value,omitempty"` // absent: none
	Stdout      string            `json:"stdout"`
	Stderr      string            `json:"stderr"`
	Logs        []Log             `json:"logs"`
	Emits       []json.RawMessage `json:"emits"`
	Warnings    []Warning         `json:"warnings"`
	Error       *Error            `json:"error,omitempty"`
	Dropped     ProgramDropped    `json:"dropped"`
	CPUMS       float64           `json:"cpuMs"`
	MemoryBytes int64             `json:"memoryBytes"`
}

// ProgramDropped counts what was not kept of an attached program.
type ProgramDropped struct {
	LogRecords  int   `json:"logRecords"`
	LogBytes    int64 `json:"logBytes"`
	EmitBytes   int64 `json:"emitBytes"`
	ValueBytes  int64 `json:"valueBytes"`
	OutputBytes int64 `json:"outputBytes"`
}

// ProgramCall is one tool call of an attached program: the parameters of
// tool/call.
type ProgramCall struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"` // a JSON object
	Raw       bool            `json:"raw"`
	TimeoutMS int64           `json:"timeoutMs"` // 0: the tool's own limit
}

// ProgramValue is the answer to tool/call.
type ProgramValue struct {
	Value json.RawMessage `json:"value"`         // what the program gets
	Raw   json.RawMessage `json:"raw,omitempty"` // the CallToolResult; absent: value is it
}

// ProgramDescribe is the parameters of catalog/describe.
type ProgramDescribe struct {
	Path string `json:"path"`
}

// ProgramMaterial is what a program asks of the globals resources and prompts:
// the parameters of material/ask, whose answer is what the program gets.
type ProgramMaterial struct {
	Method string          `json:"method"` // resources.list, resources.templates, resources.read, prompts.list or prompts.get
	Params json.RawMessage `json:"params"` // a JSON object
}

// ProgramScriptRun is the parameters of script/run, answered with the value of
// the saved script.
type ProgramScriptRun struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"` // absent: none
}

// ProgramArtifact is what a program asks to keep: the parameters of
// artifact/keep, answered with the handle.
type ProgramArtifact struct {
	Name     string `json:"name"`
	MimeType string `json:"mimeType,omitempty"` // absent: told from the data
	Data     string `json:"data"`               // as base64
}

// ProgramEmit is a value that an attached program emitted.
type ProgramEmit struct {
	Value json.RawMessage `json:"value"` // any JSON
}

// ProgramStop ends an attached program with that reason.
type ProgramStop struct {
	Error Error `json:"error"`
}

// MarshalJSON writes absent lists as empty arrays.
func (p AttachedProgram) MarshalJSON() ([]byte, error) {
	type plain AttachedProgram
	p.Args, p.Namespaces = list(p.Args), list(p.Namespaces)
	return Marshal(plain(p))
}

// MarshalJSON writes an absent list as an empty array.
func (p ProgramScript) MarshalJSON() ([]byte, error) {
	type plain ProgramScript
	p.Edits = list(p.Edits)
	return Marshal(plain(p))
}

// MarshalJSON writes absent lists as empty arrays.
func (o ProgramOutcome) MarshalJSON() ([]byte, error) {
	type plain ProgramOutcome
	o.Logs, o.Emits, o.Warnings = list(o.Logs), list(o.Emits), list(o.Warnings)
	return Marshal(plain(o))
}
