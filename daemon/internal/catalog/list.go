package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"tenon/daemon/internal/typegen"
	"tenon/daemon/internal/upstream"
)

// Tool is one tool with its name in programs.
type Tool struct {
	upstream.Tool
	Ident       string // identifier, unique within the list
	Fingerprint string // digest of the definition; changes whenever the server changes it

	learned   *learned // nil: the server declares the result, or nothing can be learned
	input     lazySchema
	output    lazySchema
	short     sync.Once
	signature typegen.Signature // guarded by short
}

// List is an immutable list of tools in the server's order.
type List struct {
	Tools       []*Tool
	Fingerprint string   // digest of all tools, whatever their order
	Problem     string   // why a newer list was refused; empty when fine
	Warnings    []string // names that had to be changed, entries that are no tools
	Fresh       bool     // a live instance gave it in this daemon's life

	byName  map[string]*Tool
	byIdent map[string]*Tool

	idents map[string]string

	masked bool // it was kept without the secrets in it

	unusable []string // why entries of the server's list are left out
}

// Named finds a tool by its own name.
func (l *List) Named(name string) *Tool {
	if l == nil {
		return nil
	}
	return l.byName[name]
}

// Ident finds a tool by the identifier a program writes.
func (l *List) Ident(ident string) *Tool {
	if l == nil {
		return nil
	}
	return l.byIdent[ident]
}

// Idents maps every identifier to the tool's own name. The map is shared and
// must not be changed.
func (l *List) Idents() map[string]string { return l.idents }

// maxUnusable is how many entries that are no tools are named.
const maxUnusable = 10

// build makes a list, or says why it cannot be one.
func build(listed []upstream.Tool) (*List, string) {
	var unusable []string
	tools := make([]upstream.Tool, 0, len(listed))
	for at, t := range listed {
		if t.Unusable == "" && t.Name == "" { // a list on disk that somebody has edited
			t.Unusable = fmt.Sprintf("tools[%d] of the list is left out: it has no name", at)
		}
		if t.Unusable != "" {
			unusable = append(unusable, t.Unusable)
			continue
		}
		tools = append(tools, t)
	}
	l := &List{
		Tools:    make([]*Tool, len(tools)),
		byName:   make(map[string]*Tool, len(tools)),
		byIdent:  make(map[string]*Tool, len(tools)),
		idents:   make(map[string]string, len(tools)),
		unusable: unusable,
		// A server of nothing but such entries must not flood ls.
		Warnings: slices.Clip(unusable[:min(len(unusable), maxUnusable)]), // what is appended must not get into unusable
	}
	names := make([]string, len(tools))
	var sum [sha256.Size]byte
	for _, why := range unusable {
		digest := sha256.Sum256([]byte(why))
		for j := range sum {
			sum[j] ^= digest[j]
		}
	}
	for i, t := range tools {
		if l.byName[t.Name] != nil {
			return nil, fmt.Sprintf("the server lists two tools named %q", t.Name)
		}
		one := &Tool{Tool: t, Fingerprint: fingerprint(t)}
		l.Tools[i], l.byName[t.Name], names[i] = one, one, t.Name
		digest := sha256.Sum256([]byte(one.Fingerprint))
		for j := range sum { // order does not matter: a server may list in any
			sum[j] ^= digest[j]
		}
	}
	l.Fingerprint = hex.EncodeToString(sum[:12])
	for i, ident := range Idents(names) {
		l.Tools[i].Ident = ident
		l.byIdent[ident], l.idents[ident] = l.Tools[i], names[i]
		if base := Ident(names[i]); ident != base {
			l.Warnings = append(l.Warnings, fmt.Sprintf("tool %q is named %s: another tool also becomes %s", names[i], ident, base))
		}
	}
	return l, ""
}

// fingerprint digests what an approval of a tool rests on: everything the
// server says about it.
func fingerprint(t upstream.Tool) string {
	data, err := json.Marshal(t)
	if err != nil { // a schema that is no JSON: digest the bytes as they are
		data = fmt.Appendf(nil, "%q %q %q %q %q %q", t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}
