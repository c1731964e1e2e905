package catalog

import "tenon/daemon/internal/typegen"

// Spaces are the entries as package typegen takes them.
func Spaces(entries []Entry) []typegen.Namespace {
	out := make([]typegen.Namespace, len(entries))
	for i, e := range entries {
		out[i] = typegen.Namespace{Server: e.Server, Name: e.Namespace, Bare: Bare(e.Namespace), Listed: e.List != nil}
		if e.List == nil {
			continue
		}
		for _, t := range e.List.Tools {
			returns := t.Returns()
			out[i].Tools = append(out[i].Tools, typegen.Tool{
				Name: t.Name, Ident: t.Ident, Title: t.Title, Description: t.Description,
				Input: t.InputSchema, Output: returns.Schema, Learned: returns.Results,
			})
		}
	}
	return out
}
