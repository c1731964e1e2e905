package call

import (
	"context"
	"encoding/json"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
)

// Kinds of what describe tells of, besides a tool, which has none.
const (
	kindServer = "server"
	kindScript = catalog.KindScript
)

// Description is what describe(path) tells of a tool, a server or a script.
type Description struct {
	Kind         string          `json:"kind,omitempty"` // server or script; absent: a tool
	Path         string          `json:"path"`
	Server       string          `json:"server"` // empty for a script
	Tool         string          `json:"tool"`   // empty for a server and a script
	Signature    string          `json:"signature"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Returns      string          `json:"returns,omitempty"` // of a tool: where its result type is from, declared, learned or unknown
	Tools        []string        `json:"tools,omitempty"`   // of a server: the signatures of all
}

// Describe tells of the tool at a path, of a server by its name, or of a saved
// script (run("name"), scripts.name); UnknownTool with the nearest ones when
// there is none. Only the server that the path names is started for it.
func (p *Path) Describe(ctx context.Context, req Request, path string) (*Description, error) {
	path = strings.TrimSpace(path)
	entries := p.entries(ctx, req, func(e catalog.Entry) bool { return isNamespace(path, e) || names(path, e) })
	scripts := p.scripts(ctx, req)
	index := p.indexes.of(entries, scripts)
	if server, namespace, t := index.Find(path); t != nil {
		return describeTool(server, namespace, t), nil
	}
	if s := index.FindScript(path); s != nil {
		return &Description{
			Kind: kindScript, Path: s.Path(), Signature: s.Signature, Description: s.Description,
		}, nil
	}
	for _, e := range entries {
		if isNamespace(path, e) {
			return describeServer(e)
		}
	}
	failure := fault.New(fault.UnknownTool, "there is no tool at %q", path)
	if near := catalog.Nearest(strings.TrimPrefix(path, "tools."), paths(entries, scripts), 3); len(near) > 0 {
		return nil, failure.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	return nil, failure.WithHint("search(words) finds tools; a path is namespace.tool")
}

func describeTool(server, namespace string, t *catalog.Tool) *Description {
	d := &Description{
		Path: catalog.Path(namespace, t.Ident), Server: server, Tool: t.Name,
		Signature: catalog.Signature(namespace, t), Description: t.Description, Returns: string(t.Returns().From),
	}
	if json.Valid(t.InputSchema) {
		d.InputSchema = t.InputSchema
	}
	if json.Valid(t.OutputSchema) {
		d.OutputSchema = t.OutputSchema
	}
	return d
}

func describeServer(e catalog.Entry) (*Description, error) {
	if e.List == nil {
		return nil, notListed(e)
	}
	d := &Description{Kind: kindServer, Path: "tools." + e.Namespace, Server: e.Server, Signature: "tools." + e.Namespace, Tools: []string{}}
	for _, t := range e.List.Tools {
		d.Tools = append(d.Tools, catalog.Signature(e.Namespace, t))
	}
	return d, nil
}

// notListed is the failure for a server whose tools nobody knows.
func notListed(e catalog.Entry) *fault.Error {
	return fault.New(fault.UnknownTool, "the tools of %s are not known: its server could not be listed", e.Server).
		WithHint("tenon ls %s says more", e.Server)
}

// paths are all that describe knows, as a program writes them.
func paths(entries []catalog.Entry, scripts []catalog.Script) []string {
	var known []string
	for _, e := range entries {
		known = append(known, e.Namespace)
		if e.List == nil {
			continue
		}
		for _, t := range e.List.Tools {
			known = append(known, e.Namespace+"."+t.Ident)
		}
	}
	for _, s := range scripts {
		known = append(known, catalog.ScriptSpace+"."+s.Name)
	}
	return known
}
