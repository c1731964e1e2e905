package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Arguments is what a call takes, as whoever gives one JSON object writes it:
// { path: string; head?: number }. "{}" when the tool takes nothing.
func (t *Tool) Arguments() string {
	_, object, ok := strings.Cut(t.shorten().Param, ": ")
	if !ok {
		return "{}"
	}
	return object
}

// CommandLine is a call of the tool as a shell makes it, its parameters by the
// form of their values; those in brackets may be left out:
//
//	tenon call fs read_file path=TEXT [head=NUMBER] [edits:=JSON]
func (t *Tool) CommandLine(server string) string {
	words := []string{"tenon call", ShellWord(server), ShellWord(t.Name)}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // an odd schema has nothing to show
	var optional []string
	for name := range schema.Properties {
		if !slices.Contains(schema.Required, name) {
			optional = append(optional, name)
		}
	}
	slices.Sort(optional)
	const most = 12
	for i, name := range slices.Concat(schema.Required, optional) {
		if i == most {
			words = append(words, "…")
			break
		}
		word := ShellWord(name) + placeholderOf(schema.Properties[name])
		if i >= len(schema.Required) {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// placeholderOf is how a shell gives a value of a property's type.
func placeholderOf(property json.RawMessage) string {
	var p struct {
		Type any   `json:"type"`
		Enum []any `json:"enum"`
	}
	_ = json.Unmarshal(property, &p) // true, false and what has no single type are any JSON
	if words := wordsOf(p.Enum); words != "" {
		return "=" + words
	}
	switch p.Type {
	case "string":
		return "=TEXT"
	case "number", "integer":
		return "=NUMBER"
	case "boolean":
		return "=true|false"
	}
	return ":=JSON"
}

// wordsOf is a short enumeration of plain words, or nothing.
func wordsOf(enum []any) string {
	var words []string
	for _, one := range enum {
		word, ok := one.(string)
		if !ok || !plainWord.MatchString(word) {
			return ""
		}
		words = append(words, word)
	}
	if all := strings.Join(words, "|"); len(all) <= 60 {
		return all
	}
	return ""
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// ShellWord is one word of a shell's command line, in quotes where it needs them.
func ShellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
