package advice

import (
	"slices"
	"strings"

	"tenon/daemon/internal/engine"
)

const (
	modules   = "a confined program has no modules: call a tool as tools.<namespace>.<tool>(args); the engines deno, bun and node have modules"
	confined  = "a confined program reaches nothing but tools: use a server's tool, args, input and session; the engines deno, bun and node reach more"
	network   = "a confined program has no network: use a server's tool; fetch is there once the user names hosts in net.allow of their configuration"
	browser   = "there is no browser here; use a server's tool"
	callHint  = "a tool is called as tools.<namespace>.<tool>(args), or by names: call(server, tool, args)"
	keptBytes = "the bytes of pictures, audio and files are artifacts: a block has bytes and artifact in place of data; call(server, tool, args, { raw: true }) gives them as base64"
	unmatched = "nothing matched: match and exec give null then; look at the text with log(…) first"
	shown     = "nobody sees such a window: log(…) is in the result, emit(…) is seen at once"
	exported  = "a program exports nothing this way: its last expression is the result, or that of return or export default"
)

// foreignNames says what to use in place of a name that other surroundings have.
// A pair is for the embedded engine and for those that are processes.
var foreignNames = map[string][2]string{
	"fetch":          {network, ""},
	"XMLHttpRequest": {network, "use fetch"},
	"WebSocket":      {network, ""},
	"axios":          {network, "use fetch"},
	"require":        {modules, ""},
	"module":         {exported, exported},
	"exports":        {exported, exported},
	"process":        {confined, ""},
	"Deno":           {confined, "only the engine deno has it: --engine deno"},
	"Bun":            {confined, "only the engine bun has it: --engine bun"},
	"fs":             {confined, `import it first: const fs = await import("node:fs")`},
	"path":           {confined, `import it first: const path = await import("node:path")`},
	"os":             {confined, `import it first: const os = await import("node:os")`},
	"child_process":  {confined, `import it first: const { execFileSync } = await import("node:child_process")`},
	"__dirname":      {confined, "a program is no file: session.cwd is where it runs"},
	"__filename":     {confined, "a program is no file: session.cwd is where it runs"},
	"Buffer":         {"use TextEncoder, TextDecoder, atob and btoa, or Uint8Array", ""},
	"window":         {"there is no browser here; globalThis is the global object", "there is no browser here; globalThis is the global object"},
	"document":       {browser, browser},
	"page":           {browser, browser},
	"localStorage":   {browser, browser},
	"sessionStorage": {browser, browser},
	"Worker":         {confined, ""},
	"WebAssembly":    {confined, ""},
	"alert":          {shown, shown},
	"confirm":        {shown, shown},
	"prompt":         {shown, shown},
	"print":          {"use console.log(…)", "use console.log(…)"},
	"puts":           {"use console.log(…)", "use console.log(…)"},
	"println":        {"use console.log(…)", "use console.log(…)"},
	"True":           {"true and false have small letters here", "true and false have small letters here"},
	"False":          {"true and false have small letters here", "true and false have small letters here"},
	"None":           {"it is null here", "it is null here"},
	"len":            {"use .length", "use .length"},
}

// foreign is the hint for a name of other surroundings.
func (s spot) foreign(name string) string {
	pair := foreignNames[name]
	if !s.Confined {
		return pair[1]
	}
	if pair[0] == network && s.Fetch {
		return "use fetch"
	}
	return pair[0]
}

// callers are names, in small letters, under which others call a tool.
var callers = map[string]bool{
	"calltool": true, "call_tool": true, "usetool": true, "use_tool": true, "invoke": true, "invoketool": true, "use_mcp_tool": true,
	"runtool": true, "run_tool": true, "executetool": true, "execute": true, "mcp": true, "client": true, "call": true,
}

var entities = map[string]bool{"lt": true, "gt": true, "amp": true, "quot": true, "apos": true, "nbsp": true}

// namespace is the one of that name, or of that server.
func (s spot) namespace(name string) *engine.Namespace {
	for i, n := range s.Namespaces {
		if n.Name == name || n.Server == name {
			return &s.Namespaces[i]
		}
	}
	return nil
}

// path is the tool that a word may mean: mcp__server__tool, server_tool,
// server.tool, or the name of a tool alone.
func (s spot) path(word string) string {
	bare := strings.TrimPrefix(strings.TrimPrefix(word, "mcp__"), "mcp_")
	best := ""
	length := 0
	for _, n := range s.Namespaces {
		for _, prefix := range []string{n.Name, n.Server, underscored(n.Server)} {
			rest, ok := strings.CutPrefix(bare, prefix)
			if !ok || len(prefix) <= length {
				continue
			}
			if tool := strings.TrimLeft(rest, "_.-"); tool != rest && tool != "" {
				best, length = toolPath(n.Name, identOf(n, tool)), len(prefix)
			}
		}
	}
	if best != "" {
		return best
	}
	var found []string
	for _, n := range s.Namespaces {
		for ident, wire := range n.Tools {
			if ident == word || wire == word {
				found = append(found, toolPath(n.Name, ident))
			}
		}
	}
	slices.Sort(found)
	return strings.Join(found[:min(len(found), 3)], ", ")
}

func toolPath(namespace, ident string) string { return "tools." + namespace + "." + ident }

// identOf is how a program writes a tool of n.
func identOf(n engine.Namespace, tool string) string {
	for ident, wire := range n.Tools {
		if wire == tool || ident == tool {
			return ident
		}
	}
	return underscored(tool)
}

func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

var hyphened = once(`(?:tools\s*\.\s*)?` + name + `(?:\.` + name + `)*(?:-[\p{L}\p{N}_$]+)+(?:\.` + name + `(?:-[\p{L}\p{N}_$]+)*)*`)

// hyphen finds the word with a hyphen in the line of the place that name is a
// part of, and the path that was meant: of git-hub.list-issues, git or hub or
// issues is not defined.
func (s spot) hyphen(name string) (written, path string) {
	for _, word := range hyphened().FindAllString(s.line(), -1) {
		parts := strings.Split(strings.TrimPrefix(word, "tools."), ".")
		if !slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(strings.Split(p, "-"), name) }) {
			continue
		}
		n := s.namespace(parts[0])
		if n == nil {
			continue
		}
		if len(parts) == 1 {
			return word, "tools." + n.Name
		}
		return word, toolPath(n.Name, identOf(*n, parts[1]))
	}
	return "", ""
}

// example is a path of this program's own tools.
func (s spot) example() string {
	var names []string
	for _, n := range s.Namespaces {
		names = append(names, n.Name)
	}
	if len(names) == 0 {
		return "but there is no server here"
	}
	slices.Sort(names)
	more := ""
	if len(names) > 8 {
		names, more = names[:8], ", …"
	}
	return "the namespaces are " + strings.Join(names, ", ") + more
}

// toolsOf is the hint for a namespace that was called like a tool.
func (s spot) toolsOf(n *engine.Namespace) string {
	var tools []string
	for ident := range n.Tools {
		tools = append(tools, ident)
	}
	slices.Sort(tools)
	hint := n.Name + " holds tools: call one of them, as tools." + n.Name + ".<tool>(args)"
	if len(tools) == 0 {
		return hint
	}
	more := ""
	if len(tools) > 8 {
		tools, more = tools[:8], ", …"
	}
	return hint + "; there are " + strings.Join(tools, ", ") + more
}
