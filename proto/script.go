package proto

import "encoding/json"

// ExecRequest is POST /v1/exec, answered with RunResult, or with frames.
type ExecRequest struct {
	Code           string          `json:"code,omitempty"` // of the program; absent: the one that script names
	Args           []string        `json:"args,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	Engine         string          `json:"engine,omitempty"`
	Cwd            string          `json:"cwd,omitempty"`
	TimeoutMS      *int64          `json:"timeoutMs,omitempty"` // 0 = none; absent = the setting
	CallTimeoutMS  int64           `json:"callTimeoutMs,omitempty"`
	MaxOutputBytes int64           `json:"maxOutputBytes,omitempty"`
	MaxToolCalls   int             `json:"maxToolCalls,omitempty"`
	MemoryBytes    int64           `json:"memoryBytes,omitempty"`
	Name           string          `json:"name,omitempty"`      // file name for messages
	Sandbox        string          `json:"sandbox,omitempty"`   // confined, read-only, workspace-write, full; absent: permissions.sandbox
	Typecheck      string          `json:"typecheck,omitempty"` // off, warn, strict; absent: the setting
	Where          string          `json:"where,omitempty"`     // auto, local, remote: see HeaderAttach; absent: remote

	Script string            `json:"script,omitempty"` // name of a saved script to run in place of code
	Export string            `json:"export,omitempty"` // the export to run in place of the default one
	Params map[string]string `json:"params,omitempty"` // parameters of a saved script as words, read by their types; they win over input
	Stdin  *string           `json:"stdin,omitempty"`  // what the program reads as stdin; without input it is the input as well
}

// Script is one saved script: GET /v1/scripts lists them, GET
// /v1/scripts/{name} gives one with its code.
type Script struct {
	Name        string        `json:"name"` // with slashes for folders, without the file's extension
	Description string        `json:"description,omitempty"`
	Params      []ScriptParam `json:"params"`
	Examples    []string      `json:"examples"`
	Engine      string        `json:"engine,omitempty"` // that its header asks for; absent: the setting
	File        string        `json:"file"`
	Where       string        `json:"where"`              // project or user
	Shadowed    string        `json:"shadowed,omitempty"` // the nearer file of the same name, which runs in its place
	Problem     string        `json:"problem,omitempty"`  // what is wrong with its header
	Signature   string        `json:"signature"`          // run("name", {…}) as a program writes it
	Code        string        `json:"code,omitempty"`     // only where one script is asked for
}

// ScriptParam is one @param of a saved script.
type ScriptParam struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"` // in TypeScript
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`
}

// ScriptSave is POST /v1/scripts, answered with Script: keeps a program under a
// name. Exactly one of code and run is given.
type ScriptSave struct {
	Name  string `json:"name"`
	Code  string `json:"code,omitempty"`
	Run   string `json:"run,omitempty"`   // the run whose program is kept
	Where string `json:"where,omitempty"` // project or user; absent: project
	Force bool   `json:"force,omitempty"` // replace what is there
}

// MarshalJSON writes absent lists as empty arrays.
func (s Script) MarshalJSON() ([]byte, error) {
	type plain Script
	s.Params, s.Examples = list(s.Params), list(s.Examples)
	return Marshal(plain(s))
}
