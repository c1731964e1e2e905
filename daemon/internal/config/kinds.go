package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of servers that this program itself serves. Everything above the
// configuration sees a command: the definition of such a server starts our own
// executable as [KindCommand], and [KindVariable] tells it what to serve.
const (
	KindModule  = "module"  // the exported functions of a TypeScript file
	KindOpenAPI = "openapi" // the operations of an OpenAPI document
	KindCommand = "command" // command lines
)

// ServeKind is the hidden command that serves a kind, and KindVariable the
// variable of its environment that holds a KindSpec as JSON. A command line can
// be read by everybody on the machine, an environment only by its user.
const (
	ServeKind    = "serve-kind"
	KindVariable = "TENON_SERVE_KIND"
)

// KindDir is the directory within RuntimeDir in which servers of a kind have
// directories of their own; the daemon empties it before it starts any.
const KindDir = "kinds"

// maxKindSpec bounds the variable: the kernel takes no longer ones (128 KiB).
const maxKindSpec = 120 << 10

// KindSpec is what a server of a kind serves: in a Server as written, in
// KindVariable with every placeholder replaced and every path absolute.
type KindSpec struct {
	Kind    string       `json:"kind"`
	Name    string       `json:"name"` // of the server, for messages
	Module  *ModuleSpec  `json:"module,omitempty"`
	OpenAPI *OpenAPISpec `json:"openapi,omitempty"`
	Command *CommandSpec `json:"command,omitempty"`
	// Sandbox is the mode of the processes that a module or a command starts:
	// read-only, workspace-write or full. Workspace is what the two strict modes
	// may read or write; empty: nothing but the system's own. Hidden is what they
	// may never reach.
	Sandbox   string   `json:"sandbox,omitempty"`
	Workspace string   `json:"workspace,omitempty"`
	Hidden    []string `json:"hidden,omitempty"`
	// Dir is where the server may have a directory of its own while it runs.
	Dir string `json:"dir,omitempty"`
	// Pins are the files that a project's entry consists of beside the
	// configuration, absolute, each with the SHA-256 of its content that trust was
	// given to: others are not read, nor these with another content. Nil: the
	// user's own entry, whose files are read as they are.
	Pins map[string]string `json:"pins,omitempty"`
}

// ModuleSpec is a server of kind module.
type ModuleSpec struct {
	File    string `json:"file"`
	Engine  string `json:"engine"`            // embedded, deno, bun or node
	Runtime string `json:"runtime,omitempty"` // the engine's program; empty: it is searched in PATH
}

// OpenAPISpec is a server of kind openapi.
type OpenAPISpec struct {
	Document string            `json:"document"` // a file or an address
	BaseURL  string            `json:"baseUrl,omitempty"`
	Bearer   string            `json:"bearer,omitempty"`
	User     string            `json:"user,omitempty"` // with Password: HTTP's basic scheme
	Password string            `json:"password,omitempty"`
	Header   map[string]string `json:"header,omitempty"`
	Query    map[string]string `json:"query,omitempty"`
	Include  []string          `json:"include,omitempty"` // patterns over operations; empty: all
	Exclude  []string          `json:"exclude,omitempty"`
	ReadOnly bool              `json:"readOnly,omitempty"` // only GET and HEAD
}

// CommandSpec is a server of kind command.
type CommandSpec struct {
	Tools []CommandTool `json:"tools"` // in the order of their names
}

// CommandTool is one command line as a tool.
type CommandTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Command     []string        `json:"command"` // the program, then words with placeholders {name}; see docs/commands.md
	Input       json.RawMessage `json:"input"`   // JSON Schema of an object
	Stdin       string          `json:"stdin,omitempty"`
	Cwd         string          `json:"cwd,omitempty"`
	Output      string          `json:"output"`    // text, lines, json, jsonl
	ExitCodes   []int           `json:"exitCodes"` // those that are no failure
	Options     bool            `json:"options,omitempty"`
}

// kindKeys are the keys that an entry of each kind may have beside those of
// every server; the first is required.
var kindKeys = map[string][]string{
	KindModule:  {"module", "engine", "sandbox"},
	KindOpenAPI: {"document", "baseUrl", "auth", "operations"},
	KindCommand: {"tools", "sandbox"},
}

// ofOtherKinds are keys of every server that have no meaning beside kind.
var ofOtherKinds = []string{"command", "args", "url", "type", "headers", "oauth"}

// readKind takes over what the entry m says of its kind, if it has one. The
// document is checked; only rules between keys are left to test.
func (s *Server) readKind(m member) error {
	kind := m.value.get("kind")
	if kind == nil {
		for _, field := range m.value.members {
			if field.name != "tools" && slices.ContainsFunc(slices.Collect(maps.Values(kindKeys)), func(keys []string) bool { return slices.Contains(keys, field.name) }) {
				return &placed{at: field.at, message: fmt.Sprintf("server %s: %s needs a kind", m.name, field.name), hint: kindHint(field.name)}
			}
			if field.name == "tools" {
				if err := noCommandTools(m.name, field.value); err != nil {
					return err
				}
			}
		}
		return nil
	}
	own := kindKeys[kind.text]
	for _, field := range m.value.members {
		if slices.Contains(ofOtherKinds, field.name) {
			return &placed{at: field.at, message: fmt.Sprintf("server %s: kind %s has no %s: tenon itself is what is started", m.name, kind.text, field.name)}
		}
		if field.name != "tools" && !slices.Contains(own, field.name) && kindHint(field.name) != "" {
			return &placed{at: field.at, message: fmt.Sprintf("server %s: kind %s has no %s", m.name, kind.text, field.name), hint: kindHint(field.name)}
		}
	}
	first := m.value.get(own[0])
	if first == nil {
		return &placed{at: m.at, message: fmt.Sprintf("server %s: kind %s needs %s", m.name, kind.text, own[0])}
	}
	spec := &KindSpec{Kind: kind.text, Name: m.name}
	if n := m.value.get("sandbox"); n != nil {
		spec.Sandbox = n.text
	}
	var err error
	shown := ""
	switch kind.text {
	case KindModule:
		shown, err = spec.readModule(m.value)
	case KindOpenAPI:
		shown, err = spec.readOpenAPI(m.value)
	case KindCommand:
		err = spec.readCommands(m.name, first)
	}
	if kind.text != KindCommand && err == nil {
		if n := m.value.get("tools"); n != nil {
			err = noCommandTools(m.name, n)
		}
	}
	if err != nil {
		return err
	}
	s.Served = spec
	s.Command = []string{"tenon", ServeKind, kind.text}
	if shown != "" {
		s.Command = append(s.Command, shown)
	}
	return nil
}

// kindHint says which kinds have a key; empty for keys of every server.
func kindHint(key string) string {
	var kinds []string
	for _, kind := range []string{KindModule, KindOpenAPI, KindCommand} {
		if slices.Contains(kindKeys[kind], key) && key != "tools" {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return key + ` is for servers with "kind": "` + strings.Join(kinds, `" or "`) + `"`
}

func (k *KindSpec) readModule(n *node) (shown string, err error) {
	k.Module = &ModuleSpec{File: n.get("module").text, Engine: defaultOf("servers.*.engine")}
	if e := n.get("engine"); e != nil {
		k.Module.Engine = e.text
	}
	if k.Module.File == "" {
		return "", badAt(n.get("module"), "module is empty")
	}
	embedded := k.Module.Engine == defaultOf("servers.*.engine")
	switch {
	case embedded && k.Sandbox != "":
		p := badAt(n.get("sandbox"), "the embedded engine is always confined: it has no files and no network")
		p.hint = `"engine": "node" (or deno, bun) reads files, and with "sandbox": "full" has the network`
		return "", p
	case !embedded && k.Sandbox == "":
		k.Sandbox = "read-only"
	}
	return k.Module.File, nil
}

func (k *KindSpec) readOpenAPI(n *node) (shown string, err error) {
	o := &OpenAPISpec{Document: n.get("document").text}
	k.OpenAPI = o
	if o.Document == "" {
		return "", badAt(n.get("document"), "document is empty")
	}
	if v := n.get("baseUrl"); v != nil {
		o.BaseURL = v.text
	}
	ways := 0
	for _, m := range membersOf(n.get("auth")) {
		switch m.name {
		case "bearer":
			o.Bearer, ways = m.value.text, ways+1
		case "basic":
			user, password := m.value.get("username"), m.value.get("password")
			if user == nil || password == nil {
				return "", badAt(m.value, "auth.basic needs username and password")
			}
			o.User, o.Password, ways = user.text, password.text, ways+1
		case "header":
			o.Header = stringMap(m.value)
		case "query":
			o.Query = stringMap(m.value)
		}
	}
	if ways > 1 {
		return "", badAt(n.get("auth"), "auth has both bearer and basic, which are one header; keep one")
	}
	operations := n.get("operations")
	if v := operations.get("include"); v != nil {
		o.Include, _ = v.strings()
	}
	if v := operations.get("exclude"); v != nil {
		o.Exclude, _ = v.strings()
	}
	if v := operations.get("readOnly"); v != nil {
		o.ReadOnly = v.text == "true"
	}
	return o.Document, nil
}

func membersOf(n *node) []member {
	if n == nil {
		return nil
	}
	return n.members
}

// IsAddress reports whether an OpenAPI document is fetched, and no file.
func IsAddress(document string) bool {
	return strings.HasPrefix(document, "http://") || strings.HasPrefix(document, "https://")
}

// absolute is a path of an entry: ~ is the home directory, and what is relative
// is meant from base.
func absolute(path, home, base string) string {
	path = expandHome(path, home)
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// Lines that a server of a kind writes to its standard error, for those who look
// at it: what is wrong with its files as they are now follows the first; the
// second says that they are good again.
const (
	KindProblem  = "tenon: problem: "
	KindReloaded = "tenon: reloaded"
)

// KindProblemIn is what is wrong with the files of a server of a kind, going by
// the last lines of its standard error; empty when nothing is.
func KindProblemIn(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if problem, ok := strings.CutPrefix(line, KindProblem); ok {
			return problem
		}
		if line == KindReloaded {
			return ""
		}
	}
	return ""
}
