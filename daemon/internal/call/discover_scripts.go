package call

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/daemon/internal/catalog"
)

// wantedScripts are the saved scripts at the paths (scripts for all, scripts.name
// or run("name") for one), and the other paths; no paths mean all.
func (p *Path) wantedScripts(ctx context.Context, req Request, paths []string) (scripts []catalog.Script, rest []string) {
	all := p.scripts(ctx, req)
	if len(paths) == 0 {
		return all, nil
	}
	index := catalog.NewIndex(nil, all...)
	for _, path := range paths {
		path = strings.TrimSpace(path)
		if s := index.FindScript(path); s != nil {
			if !slices.ContainsFunc(scripts, func(x catalog.Script) bool { return x.Name == s.Name }) {
				scripts = append(scripts, *s)
			}
			continue
		}
		if path == catalog.ScriptSpace && len(all) > 0 {
			scripts = slices.Clone(all)
			continue
		}
		rest = append(rest, path)
	}
	return scripts, rest
}

// scriptsLine is what a catalogue says of saved scripts; empty: there are none.
func scriptsLine(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\nSaved scripts: %d, called as run(name, input); search(words, {namespace: %q}) finds them.\n", n, catalog.ScriptSpace)
}

// declareScripts are overloads of run, one for each script.
func declareScripts(scripts []catalog.Script) string {
	var b strings.Builder
	for _, s := range scripts {
		b.WriteString(s.Declaration)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n// Saved scripts.\n" + b.String()
}

// savedScripts is the interface by which a type checker holds what run is given.
func savedScripts(scripts []catalog.Script) string {
	var b strings.Builder
	for _, s := range scripts {
		b.WriteString(s.Member)
	}
	return "interface SavedScripts {\n" + b.String() + "}\n"
}
