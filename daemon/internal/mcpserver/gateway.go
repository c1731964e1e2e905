package mcpserver

import "encoding/json"

// gatewayTool is one tool of code mode: what a model reads of it, and what it
// does. Texts and arguments are those of the plugins, but for the prefix: hosts
// put the server's name in front.
type gatewayTool struct {
	name, description string
	args              []argument
	do                func(x *exchange, given map[string]json.RawMessage) outcome
}

// argument is one argument: its schema, and the check of what comes.
type argument struct {
	name, kind, description string // kind as in JSON Schema; empty: anything
	required                bool
	min, max                *float64
	items                   string // kind of an array's elements
}

func number(n float64) *float64 { return &n }

// gateway are the tools of code mode, in the order in which they are listed.
func gateway() []gatewayTool {
	return []gatewayTool{
		{"exec", "Runs a program that calls the project's MCP tools; only its result enters the conversation. Use it for several " +
			"calls, loops, filtering or joining. Names live inside the program (`await tools.<namespace>.<tool>({...})`), " +
			"never as direct tools; find them with search. State of session-scoped servers (a browser) lasts between runs.",
			[]argument{
				{name: "code", kind: "string", required: true, description: "TypeScript or JavaScript. Call tools as `await tools.<namespace>.<tool>({...})`; the value of the last " +
					"expression, or of `return`, is the result. A call gives the tool's structured result, its JSON parsed, or its text; " +
					"a failure throws ToolError. Also: search(), describe(), run(script), resources, prompts, emit(), artifact(), log.*, " +
					"input, session. By default there is no import, file or process."},
				{name: "timeout", kind: "number", description: "Seconds, human time not counted.", min: number(0.1), max: number(86_400)},
				{name: "engine", kind: "string", description: "How to execute it; leave it out for the usual one."},
				{name: "input", description: "Any JSON, the global `input` of the program."},
			}, (*exchange).exec},
		{"call", "Calls one tool of one MCP server and gives its unwrapped result. For more than one call write a program with exec.",
			[]argument{
				{name: "server", kind: "string", required: true, description: "The server's name."},
				{name: "tool", kind: "string", required: true, description: "The tool's own name."},
				{name: "arguments", kind: "object", description: "The tool's arguments."},
			}, (*exchange).callOne},
		{"search", "Finds tools of the project's MCP servers, and saved scripts. Answers with signatures as they are called inside exec.",
			[]argument{
				{name: "query", kind: "string", required: true, description: "A few words; empty lists everything."},
				{name: "namespace", kind: "string", description: "Only tools of this namespace; scripts: only saved scripts."},
				{name: "limit", kind: "integer", description: "At most so many; 10 by default, 100 at most.", min: number(0)},
				{name: "offset", kind: "integer", description: "Where the next page starts.", min: number(0)},
			}, (*exchange).search},
		{"types", "TypeScript declarations of the project's MCP tools, exact where search is short. Read them before a program " +
			"with arguments or results that are not plain.",
			[]argument{
				{name: "paths", kind: "array", items: "string", description: "Namespaces, or `namespace.tool`; everything when left out."},
			}, (*exchange).types},
		{"catalog", "Lists what the project's MCP servers offer, within a budget of tokens; with `since`, only what changed. The names " +
			"are for programs (exec) and call.",
			[]argument{
				{name: "budget", kind: "integer", description: "Tokens it may cost; 2000 by default.", min: number(0)},
				{name: "since", kind: "string", description: "The fingerprint you have; answers with what changed since."},
			}, (*exchange).catalogue},
		{"status", "Shows what this session holds: server instances, running programs, questions that wait for the user.",
			nil, (*exchange).status},
	}
}

// listedTool is a tool as clients list it.
type listedTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

func codeTools() []listedTool {
	var out []listedTool
	for _, t := range gateway() {
		properties, required := map[string]any{}, []string{}
		for _, a := range t.args {
			properties[a.name] = a.schema()
			if a.required {
				required = append(required, a.name)
			}
		}
		one := listedTool{Name: t.name, Description: t.description, InputSchema: map[string]any{
			"type": "object", "properties": properties, "required": required, "additionalProperties": false,
		}}
		if t.name != "exec" && t.name != "call" {
			one.Annotations = map[string]any{"readOnlyHint": true, "openWorldHint": false}
		}
		out = append(out, one)
	}
	return out
}

func (a argument) schema() map[string]any {
	s := map[string]any{"description": a.description}
	if a.kind != "" {
		s["type"] = a.kind
	}
	if a.items != "" {
		s["items"] = map[string]any{"type": a.items}
	}
	if a.min != nil {
		s["minimum"] = *a.min
	}
	if a.max != nil {
		s["maximum"] = *a.max
	}
	return s
}
