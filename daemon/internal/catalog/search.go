package catalog

import (
	"strings"

	"tenon/daemon/internal/legible"
	"tenon/proto"
)

// Entry is one server of a view as its caller sees it.
type Entry struct {
	Server    string
	Namespace string
	List      *List    // nil: never listed
	Pinned    []string // names of tools that a catalogue shows first
	Also      string   // what it offers besides tools, as Also says it; empty: nothing that is known
}

// Script is a saved script as search finds it beside tools.
type Script struct {
	Name        string
	Signature   string   // how a program calls it: run("name", { … })
	Description string   // of it, and what it is found by
	Params      []string // names of its parameters
	// Declaration is an overload of run for it, in TypeScript, and Member a member
	// of the interface SavedScripts, by which a type checker holds its input.
	Declaration string
	Member      string
}

// Path is how a program calls a script.
func (s *Script) Path() string { return `run("` + s.Name + `")` }

// KindScript marks a script among the items of a search; a tool has no mark.
const KindScript = "script"

// ScriptSpace is what a search is narrowed to for saved scripts only, and may
// stand before a script's name in a path: scripts.deploy, besides run("deploy").
const ScriptSpace = "scripts"

// Page limits of a search.
const (
	DefaultLimit = 10
	MaxLimit     = 100
)

// Search finds tools and scripts: an empty query lists them, an exact path is a
// lookup (see Find), everything else is ranked. Namespace narrows it; limit 0
// means DefaultLimit, and more than MaxLimit means MaxLimit.
func (x *Index) Search(query, namespace string, limit, offset int) proto.SearchResult {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit, offset = min(limit, MaxLimit), max(offset, 0)
	hits := x.find(strings.TrimSpace(query), namespace)
	out := proto.SearchResult{Items: []proto.SearchItem{}, Total: len(hits)}
	for _, id := range hits[min(offset, len(hits)):min(offset+limit, len(hits))] {
		out.Items = append(out.Items, x.docs[id].item())
	}
	if end := offset + len(out.Items); end < len(hits) && len(out.Items) > 0 {
		out.Remaining = len(hits) - end
		out.Next = &proto.SearchNext{Offset: end}
	}
	return out
}

// item is a document as a search shows it.
func (d *doc) item() proto.SearchItem {
	if d.script != nil {
		return proto.SearchItem{
			Kind: KindScript, Path: d.script.Path(),
			Signature: d.script.Signature, Description: brief(d.script.Description),
		}
	}
	return proto.SearchItem{
		Path:        Path(d.namespace, d.tool.Ident),
		Server:      d.server,
		Tool:        d.tool.Name,
		Signature:   Signature(d.namespace, d.tool),
		Description: brief(d.tool.Description),
	}
}

// Find is the tool at an exact path, or nil. A path is written as in a program
// (tools.ns.tool, ns["tool"]), with a slash (ns/tool), or as a host names the
// tool (ns_tool, mcp__ns__tool).
func (x *Index) Find(path string) (server, namespace string, t *Tool) {
	if id, ok := x.lookup(path); ok && x.docs[id].tool != nil {
		d := &x.docs[id]
		return d.server, d.namespace, d.tool
	}
	return "", "", nil
}

// Has reports whether there is something at an exact path.
func (x *Index) Has(path string) bool {
	_, ok := x.lookup(path)
	return ok
}

// FindScript is the script at a path (run("name"), scripts.name), or nil.
func (x *Index) FindScript(path string) *Script {
	if id, ok := x.lookup(path); ok {
		return x.docs[id].script
	}
	return nil
}

// scriptName is the name in the path of a script; empty when it is no such path.
func scriptName(path string) string {
	if name, ok := strings.CutPrefix(path, ScriptSpace+"."); ok {
		return name
	}
	for _, mark := range [2]string{`"`, "'"} {
		name, ok := strings.CutPrefix(path, "run("+mark)
		if name, closed := strings.CutSuffix(name, mark+")"); ok && closed {
			return name
		}
	}
	return ""
}

// lookup is the document at an exact path. What a program may write comes
// before what only a host does: two servers may share the latter.
func (x *Index) lookup(path string) (int, bool) {
	path = strings.TrimPrefix(path, "tools.")
	for _, form := range []func(*doc, string) bool{(*doc).inProgram, (*doc).inHost} {
		for id := range x.docs {
			if form(&x.docs[id], path) {
				return id, true
			}
		}
	}
	return 0, false
}

// inProgram reports whether a path is this document's in a program.
func (d *doc) inProgram(path string) bool {
	if d.script != nil {
		return scriptName(path) == d.script.Name
	}
	for _, name := range [2]string{d.namespace, d.server} {
		rest, ok := strings.CutPrefix(path, name)
		if !ok || rest == "" {
			continue
		}
		switch rest[0] {
		case '.':
			if rest[1:] == d.tool.Ident || rest[1:] == d.tool.Name {
				return true
			}
		case '/':
			if rest[1:] == d.tool.Name || rest[1:] == d.tool.Ident {
				return true
			}
		case '[':
			if rest == `["`+d.tool.Name+`"]` || rest == "['"+d.tool.Name+"']" {
				return true
			}
		}
	}
	return false
}

// inHost reports whether a path is the name that a host gives to this tool.
func (d *doc) inHost(path string) bool {
	if d.script != nil {
		return false
	}
	rest, claude := strings.CutPrefix(path, "mcp__")
	separator := "_"
	if claude {
		separator = "__"
	}
	tool, ok := strings.CutPrefix(rest, d.server)
	if !ok {
		return false
	}
	if tool, ok = strings.CutPrefix(tool, separator); !ok {
		return false
	}
	return tool == d.tool.Name || tool == d.tool.Ident
}

// inside reports whether a search narrowed to namespace looks at a document.
func (d *doc) inside(namespace string) bool {
	if d.script != nil {
		return namespace == "" || namespace == ScriptSpace
	}
	return namespace == "" || namespace == d.namespace || namespace == d.server
}

func (x *Index) find(query, namespace string) []int {
	var all []int
	if query == "" {
		for id := range x.docs {
			if x.docs[id].inside(namespace) {
				all = append(all, id)
			}
		}
		return all
	}
	if id, ok := x.lookup(query); ok && x.docs[id].inside(namespace) {
		return []int{id}
	}
	return x.rank(query, namespace)
}

// brief is the first sentence or line of a description, at most 200 characters.
func brief(text string) string {
	text = strings.TrimSpace(legible.Drop(text)) // a line of the catalogue stays one
	if line, _, more := strings.Cut(text, "\n"); more {
		text = strings.TrimSpace(line)
	}
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:199]) + "…"
	}
	return text
}
