package shelf

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
)

// Param is one @param of a script: a member of the object that it gets as input.
type Param struct {
	Name        string
	Type        Type
	Required    bool
	Default     json.RawMessage // nil: none
	Description string
}

// paramLine is a tag's text as JSDoc has it: {type} name, {type} [name] and
// {type} [name=default], then a description, a dash before it or not. The
// object that holds a parameter may be named: input.limit is limit.
var paramLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\s*)?(?:\[\s*(?:input\.)?([A-Za-z_$][\w$-]*)\s*(?:=\s*((?:"[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^\]])*?)\s*)?\]|(?:input\.)?([A-Za-z_$][\w$-]*))(?:\s+-?\s*(.*))?$`)
})

func (h *Header) param(text string) {
	var m []string
	if len(text) <= maxParam {
		m = paramLine().FindStringSubmatch(text)
	}
	if m == nil {
		h.problem("@param %s: write {type} name, or {type} [name=default], and a description", clip(firstLine(text), 60))
		return
	}
	p := Param{Name: m[2] + m[4], Required: m[4] != "", Description: strings.Join(strings.Fields(m[5]), " ")}
	if p.Name == "input" || len(h.Params) >= maxParams { // the object itself is no member of it
		return
	}
	if slices.ContainsFunc(h.Params, func(q Param) bool { return q.Name == p.Name }) {
		h.problem("@param %s is there twice", p.Name)
		return
	}
	kind := strings.TrimSpace(m[1])
	if optional := strings.TrimSuffix(kind, "="); optional != kind {
		kind, p.Required = optional, false
	}
	var known bool
	if p.Type, known = ParseType(kind); !known {
		h.problem("@param %s: the type %q is not known: string, number, integer, boolean, object, json, T[] and \"a\"|\"b\" are", p.Name, clip(kind, 40))
	}
	if m[3] != "" {
		value, err := p.Type.Read(unquoted(p.Type, m[3]))
		if err != nil {
			h.problem("@param %s: the default %s is no %s", p.Name, clip(m[3], 40), p.Type.TS())
		} else {
			p.Default = value
		}
	}
	h.Params = append(h.Params, p)
}

// unquoted is a default without the quotes that people put around texts.
func unquoted(t Type, text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] && (t.kind == kindString || t.kind == kindEnum) {
		return text[1 : n-1]
	}
	return text
}

func firstLine(text string) string { line, _, _ := strings.Cut(text, "\n"); return line }

// Input makes what a script gets as its input of what it was given: the words of
// params are read by their types, and win over the members of input; members
// that are missing get their defaults. A script without parameters gets input as
// it is. What does not fit is a UsageError that lists the parameters.
func (h Header) Input(params map[string]string, input json.RawMessage) (json.RawMessage, error) {
	if len(h.Params) == 0 {
		if len(params) > 0 {
			return nil, fault.New(fault.UsageError, "the script declares no parameters").
				WithHint("give it its input as JSON: --input '{…}'; or add @param lines to its header")
		}
		return input, nil
	}
	members := map[string]json.RawMessage{}
	if len(input) > 0 && string(input) != "null" && json.Unmarshal(input, &members) != nil {
		return nil, h.refuse("the input must be an object, not %s", clip(string(input), 40))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		p := h.find(name)
		if p == nil {
			return nil, h.unknown(name)
		}
		if !p.Type.Fits(members[name]) {
			return nil, h.refuse("the parameter %s must be %s, not %s", name, p.Type.Words(), clip(string(members[name]), 40))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := h.find(name)
		if p == nil {
			return nil, h.unknown(name)
		}
		value, err := p.Type.Read(params[name])
		if err != nil {
			return nil, h.refuse("the parameter %s must be %s, not %q", name, p.Type.Words(), clip(params[name], 40))
		}
		members[name] = value
	}
	var missing []string
	for _, p := range h.Params {
		if _, ok := members[p.Name]; ok {
			continue
		}
		if p.Default != nil {
			members[p.Name] = p.Default
		} else if p.Required {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		return nil, h.refuse("the parameter %s is missing", strings.Join(missing, ", "))
	}
	return json.Marshal(members)
}

func (h Header) find(name string) *Param {
	for i := range h.Params {
		if h.Params[i].Name == name {
			return &h.Params[i]
		}
	}
	return nil
}

func (h Header) unknown(name string) error {
	var names []string
	for _, p := range h.Params {
		names = append(names, p.Name)
	}
	if near := catalog.Nearest(name, names, 1); len(near) == 1 {
		return h.refuse("the script has no parameter %q: did you mean %s?", clip(name, 60), near[0])
	}
	return h.refuse("the script has no parameter %q", clip(name, 60))
}

// refuse is a UsageError that lists the parameters.
func (h Header) refuse(format string, args ...any) error {
	var list []string
	for _, p := range h.Params {
		text := p.Name + " (" + p.Type.TS()
		switch {
		case p.Default != nil:
			text += ", default " + clip(string(p.Default), 40)
		case p.Required:
			text += ", required"
		}
		list = append(list, text+")")
	}
	return fault.New(fault.UsageError, format, args...).WithHint("its parameters: %s", strings.Join(list, ", "))
}
