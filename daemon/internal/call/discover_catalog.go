package call

import (
	"context"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
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
	return p.told.Tell(p.Entries(ctx, req, !q.NoStart), q), nil
}

// Types are TypeScript declarations of the tools at the paths (namespaces, or
// ns.tool); no paths mean all. UnknownTool, with the nearest names, for a path
// that leads nowhere. Only servers that a path names are started for it.
func (p *Path) Types(ctx context.Context, req Request, q proto.TypesQuery) (*proto.Types, error) {
	entries := p.Entries(ctx, req, true)
	var b strings.Builder
	for _, e := range entries {
		if e.List == nil {
			continue
		}
		for _, t := range e.List.Tools {
			b.WriteString("// " + catalog.Signature(e.Namespace, t) + "\n")
		}
	}
	return &proto.Types{Text: b.String()}, nil
}
