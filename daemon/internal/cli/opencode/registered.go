package opencode

import (
	"slices"
	"sort"
	"strings"

	"tenon/daemon/internal/config/jsonc"
)

// Registration is an entry of opencode's MCP servers that is tenon itself.
type Registration struct {
	File     string
	Name     string
	Second   bool // in the form of v2: under mcp.servers
	Direct   bool // "codemode": false: v2 offers its tools by themselves
	Programs bool // it runs programs: neither flat nor one server passed through
}

// Registrations lists the enabled entries in the files that are tenon, by the
// command or the address. A file that cannot be read has none.
func Registrations(files []string, tenon func(command []string, address string) bool) []Registration {
	var out []Registration
	for _, file := range files {
		doc, err := readFile(file)
		if err != nil {
			continue
		}
		value, _, err := jsonc.Get(doc, []string{"mcp"})
		entries, _ := value.(map[string]any)
		if err != nil || entries == nil {
			continue
		}
		inner, second := serversOf(entries)
		for name, value := range inner {
			entry, _ := value.(map[string]any)
			if entry == nil || entry["enabled"] == false || entry["disabled"] == true {
				continue
			}
			command, address := wordsOf(entry["command"]), text(entry["url"])
			if !tenon(command, address) {
				continue
			}
			out = append(out, Registration{
				File: file, Name: name, Second: second, Direct: entry["codemode"] == false,
				Programs: !flat(command, address),
			})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].File < out[j].File || out[i].File == out[j].File && out[i].Name < out[j].Name
	})
	return out
}

// serversOf are the entries of a document's "mcp": v2 puts them one level
// deeper, unless a server of v1 has that name.
func serversOf(mcp map[string]any) (entries map[string]any, second bool) {
	if inner, ok := mcp["servers"].(map[string]any); ok && inner["command"] == nil && inner["url"] == nil {
		return inner, true
	}
	return mcp, false
}

// flat reports whether tenon is asked for upstream tools instead of its own.
func flat(command []string, address string) bool {
	for _, word := range command {
		for _, w := range strings.Fields(word) {
			if w == "--flat" || w == "--server" || strings.HasPrefix(w, "--server=") {
				return true
			}
		}
	}
	path, query, _ := strings.Cut(address, "?")
	return slices.Contains(strings.Split(query, "&"), "codemode=false") || strings.Contains(path, "/mcp/")
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// wordsOf are the words of a command, which v1 and v2 write as a list.
func wordsOf(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, word := range v {
			out = append(out, text(word))
		}
	}
	return out
}
