package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Limits of the files that a project's module consists of.
const (
	maxPinned     = 200
	maxPinnedSize = 16 << 20 // bytes of all together
)

// pinned is a project's layer in which each entry of a kind has the digests of
// its files, so that trust hangs on their content. A file that cannot be read is
// the entry's problem. The view depends on every file that was looked at.
func (b *builder) pinned(l *layer) *layer {
	if l == nil {
		return nil
	}
	var own *layer
	for i, s := range l.servers {
		if s.Served == nil || !s.Enabled || s.Problem != "" {
			continue
		}
		if own == nil { // layers are shared between views
			c := *l
			c.servers = append([]*Server(nil), l.servers...)
			own = &c
		}
		c, spec := *s, *s.Served
		spec.Pins, c.Problem = b.pins(&spec, s.Origin.Base)
		c.Served = &spec
		own.servers[i] = &c
	}
	if own == nil {
		return l
	}
	return own
}

// pins reads what an entry refers to. Placeholders in a path are not followed:
// the path would differ from caller to caller, and nobody could agree to it.
func (b *builder) pins(k *KindSpec, base string) (map[string]string, string) {
	pins := map[string]string{}
	first := ""
	switch {
	case k.Module != nil:
		first = k.Module.File
	case k.OpenAPI != nil && !IsAddress(k.OpenAPI.Document):
		first = k.OpenAPI.Document
	default:
		return pins, ""
	}
	if strings.Contains(first, "${") || strings.Contains(first, "{env:") || strings.Contains(first, "{file:") {
		return nil, first + " cannot be trusted: in a project's file the path holds no placeholders"
	}
	first = absolute(first, b.home, base)
	queue, left := []string{first}, int64(maxPinnedSize)
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		if pins[file] != "" {
			continue
		}
		b.probes.look(file, false)
		doc, err := readCapped(file, left)
		switch {
		case err != nil && file == first && errors.Is(err, fs.ErrNotExist):
			return nil, file + " does not exist"
		case err != nil && file == first:
			return nil, file + " cannot be read: " + reason(err)
		case err != nil:
			continue // whoever imports it says so, if it is an import at all
		case len(pins) >= maxPinned:
			return nil, first + " consists of too many files"
		}
		left -= int64(len(doc))
		sum := sha256.Sum256(doc)
		pins[file] = hex.EncodeToString(sum[:])
		if k.Module != nil {
			queue = append(queue, imports(file, doc, func(f string) bool { return b.probes.look(f, false).exists })...)
		}
	}
	return pins, ""
}

// importedPath finds what may be a path that a module imports. It reads too much
// rather than too little; what it misses, the server refuses to read.
var importedPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:from|import|require)\s*\(?\s*["'` + "`" + `](\.{1,2}/[^"'` + "`" + `\n]{1,500})["'` + "`" + `]`)
})

// ModuleExtensions are tried, in this order, where an import names none.
var ModuleExtensions = []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"}

// imports lists the local files that a module may import, as far as they exist.
// exists is asked about each that could be one: which of them counts changes when
// another appears.
func imports(file string, doc []byte, exists func(file string) bool) []string {
	var out []string
	for _, m := range importedPath().FindAllSubmatch(doc, -1) {
		path := filepath.Join(filepath.Dir(file), string(m[1]))
		for _, candidate := range ImportCandidates(path) {
			if exists(candidate) {
				out = append(out, candidate)
			}
		}
	}
	return out
}

// ImportCandidates are the files that an import of path may mean, first come first.
func ImportCandidates(path string) []string {
	out := []string{path}
	if ext := filepath.Ext(path); strings.HasSuffix(ext, "js") || strings.HasSuffix(ext, "jsx") {
		// TypeScript's own rule: "./x.js" may be written for ./x.ts.
		out = append(out, strings.TrimSuffix(path, ext)+strings.Replace(ext, "js", "ts", 1))
	}
	for _, ext := range ModuleExtensions {
		out = append(out, path+ext)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		for _, ext := range ModuleExtensions {
			out = append(out, filepath.Join(path, "index"+ext))
		}
	}
	return out
}

// shown says what an entry of a kind would start, for people.
func (k *KindSpec) shown() string {
	switch {
	case k.Module != nil:
		text := "module " + shownWords([]string{k.Module.File}) + " on " + k.Module.Engine
		if k.Sandbox != "" {
			text += ", sandbox " + k.Sandbox
		}
		return text
	case k.OpenAPI != nil:
		text := "openapi " + shownWords([]string{k.OpenAPI.Document})
		if k.OpenAPI.BaseURL != "" {
			text += " at " + visible(k.OpenAPI.BaseURL)
		}
		return text
	}
	lines := make([]string, len(k.Command.Tools))
	for i, t := range k.Command.Tools {
		lines[i] = visible(t.Name) + ": " + shownWords(t.Command)
	}
	return "commands, sandbox " + k.Sandbox + ": " + strings.Join(lines, "; ")
}
