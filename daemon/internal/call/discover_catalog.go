package call

import (
	"context"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/typegen"
	"tenon/proto"
)

// Catalog is the catalogue of the view as its caller sees it; see catalog.Whole
// and catalog.Told. A server that was never listed is started for that, unless
// the query says otherwise, for 20 s at most; one that cannot be listed is named
// as such. Request needs View, Session and Caller.
func (p *Path) Catalog(ctx context.Context, req Request, q proto.CatalogQuery) (*proto.Catalog, error) {
	if q.Budget < 0 {
		return nil, fault.New(fault.UsageError, "the budget cannot be negative: %d", q.Budget)
	}
	line := scriptsLine(len(p.scripts(ctx, req))) + fetchLine(req.View)
	if line == "" {
		return p.told.Tell(p.Entries(ctx, req, !q.NoStart), q), nil
	}
	if q.Budget == 0 {
		q.Budget = catalog.DefaultBudget
	}
	q.Budget = max(1, q.Budget-catalog.Tokens(line))
	out := p.told.Tell(p.Entries(ctx, req, !q.NoStart), q)
	if !out.Delta {
		out.Text = strings.TrimRight(out.Text, "\n") + "\n" + line
		out.Tokens = catalog.Tokens(out.Text)
	}
	return out, nil
}

// Types are TypeScript declarations of the tools at the paths (namespaces, or
// ns.tool) and of saved scripts (scripts, scripts.name); no paths mean all.
// UnknownTool, with the nearest names, for a path that leads nowhere. Only
// servers that a path names are started for it, for 20 s at most. Request needs
// View, Session and Caller.
func (p *Path) Types(ctx context.Context, req Request, q proto.TypesQuery) (*proto.Types, error) {
	scripts, paths := p.wantedScripts(ctx, req, q.Paths)
	if len(q.Paths) > 0 && len(paths) == 0 {
		return &proto.Types{Text: strings.TrimPrefix(declareScripts(scripts), "\n")}, nil
	}
	entries := p.entries(ctx, req, func(e catalog.Entry) bool {
		return len(paths) == 0 || asked(paths, e)
	})
	chosen, err := choose(entries, paths)
	if err != nil {
		return nil, err
	}
	text, warnings := typegen.Declare(catalog.Spaces(chosen), typegen.Options{})
	return &proto.Types{Text: text + declareScripts(scripts), Warnings: warnings}, nil
}

// Declarations are the types of everything that tenon gives a program, for a
// type checker: its tools as far as they are known, and the other globals.
// Nothing is started for it.
func (p *Path) Declarations(ctx context.Context, req Request) string {
	text, _ := typegen.Declare(catalog.Spaces(p.Entries(ctx, req, false)), typegen.Options{Checker: true})
	return typegen.Globals() + savedScripts(p.scripts(ctx, req)) + text
}

// asked is whether a path leads into a server.
func asked(paths []string, e catalog.Entry) bool {
	for _, path := range paths {
		if isNamespace(path, e) || names(path, e) {
			return true
		}
	}
	return false
}

func isNamespace(path string, e catalog.Entry) bool {
	path = strings.TrimPrefix(path, "tools.")
	return path == e.Namespace || path == e.Server
}

// choose is the part of the entries that the paths lead to; no paths: all. A
// server's list in it holds only the tools that were asked for.
func choose(entries []catalog.Entry, paths []string) ([]catalog.Entry, error) {
	if len(paths) == 0 {
		return entries, nil
	}
	index := catalog.NewIndex(entries)
	whole, single := map[string]bool{}, map[string][]*catalog.Tool{}
	for _, path := range paths {
		path = strings.TrimSpace(path)
		found := false
		for _, e := range entries {
			if isNamespace(path, e) {
				whole[e.Server], found = true, true
			}
		}
		if server, _, t := index.Find(path); !found && t != nil {
			single[server], found = append(single[server], t), true
		}
		if !found {
			return nil, nowhere(path, entries)
		}
	}
	var out []catalog.Entry
	for _, e := range entries {
		switch tools := single[e.Server]; {
		case whole[e.Server]:
			out = append(out, e)
		case len(tools) > 0:
			e.List = &catalog.List{Tools: tools}
			out = append(out, e)
		}
	}
	return out, nil
}

// nowhere is the failure for a path at which there is nothing.
func nowhere(path string, entries []catalog.Entry) error {
	for _, e := range entries {
		if e.List == nil && names(path, e) {
			return notListed(e)
		}
	}
	failure := fault.New(fault.UnknownTool, "there is no namespace and no tool at %q", path)
	if near := catalog.Nearest(strings.TrimPrefix(path, "tools."), paths(entries, nil), 3); len(near) > 0 {
		return failure.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	return failure.WithHint("a path is a namespace or namespace.tool; tenon ls shows them")
}
