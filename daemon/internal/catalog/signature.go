package catalog

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
)

// Bounds of a signature: it is a hint of how to call, not the full type.
const (
	signatureDepth = 3
	signatureBytes = 600
	signatureEnum  = 8
)

// Signature is the short form of a tool's type as a program calls it:
//
//	tools.fs.read(args: { path: string; head?: number }): Promise<unknown>
//
// Parts that are too deep or too long become "object" or "unknown".
func Signature(namespace string, t *Tool) string {
	s := t.shorten()
	return Path(namespace, t.Ident) + "(" + s.param + "): Promise<" + s.result + ">"
}

// Short is the signature as a catalogue shows it, where every line costs: the
// identifier, the arguments, and the type of the result where there is one.
func (t *Tool) Short() string {
	s := t.shorten()
	if s.result == "unknown" {
		return t.Ident + "(" + s.param + ")"
	}
	return t.Ident + "(" + s.param + "): " + s.result
}

// shortTypes are the types of a signature.
type shortTypes struct{ param, result string }

func (t *Tool) shorten() *shortTypes {
	t.short.Do(func() { t.types = shortTypesOf(t) })
	return &t.types
}

func shortTypesOf(t *Tool) shortTypes {
	args := shape(t.InputSchema, signatureDepth)
	if len(args) > signatureBytes {
		args = shape(t.InputSchema, 1)
	}
	if len(args) > signatureBytes {
		args = "object"
	}
	result := "unknown"
	if !absent(t.OutputSchema) {
		if result = shape(t.OutputSchema, 2); len(result) > signatureBytes {
			result = "object"
		}
	}
	param := "args: " + args
	switch {
	case args == "unknown" || args == "{}":
		param = ""
		if args == "unknown" && !absent(t.InputSchema) {
			param = "args?: object"
		}
	case !needsArgs(t.InputSchema):
		param = "args?: " + args
	}
	return shortTypes{param, result}
}

// example is a call with the required arguments filled in, and their number.
func (t *Tool) example(namespace string) (call string, parameters int) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(t.InputSchema, &s) // an odd schema has no example
	var parts []string
	for _, name := range s.Required {
		parts = append(parts, propertyName(name)+": "+exampleOf(shape(s.Properties[name], 0)))
	}
	return "await " + Path(namespace, t.Ident) + "({ " + strings.Join(parts, ", ") + " })", len(parts)
}

func exampleOf(typ string) string {
	first, _, _ := strings.Cut(typ, " | ")
	switch {
	case first == "number":
		return "1"
	case first == "boolean":
		return "true"
	case strings.HasSuffix(first, "[]"):
		return "[]"
	case first == "object", strings.HasPrefix(first, "{"):
		return "{}"
	case strings.HasPrefix(first, `"`):
		return first
	}
	return `"…"`
}

// Path is how a program writes a tool.
func Path(namespace, ident string) string { return "tools." + namespace + "." + ident }

// needsArgs reports whether at least one property must be given.
func needsArgs(schema json.RawMessage) bool {
	var s struct {
		Required []string `json:"required"`
	}
	return json.Unmarshal(schema, &s) == nil && len(s.Required) > 0
}

// node is the part of a schema that a signature shows. Every field is raw,
// since servers write all kinds of things there.
type node struct {
	Type       json.RawMessage   `json:"type"`
	Properties json.RawMessage   `json:"properties"`
	Required   json.RawMessage   `json:"required"`
	Items      json.RawMessage   `json:"items"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	AnyOf      []json.RawMessage `json:"anyOf"`
	OneOf      []json.RawMessage `json:"oneOf"`
}

func shape(raw json.RawMessage, depth int) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] != '{':
		if string(raw) == "false" {
			return "never"
		}
		return "unknown"
	}
	var n node
	if json.Unmarshal(raw, &n) != nil {
		return "unknown"
	}
	switch {
	case len(n.Const) > 0:
		return string(n.Const)
	case n.Enum != nil:
		return literalUnion(n.Enum)
	case n.AnyOf != nil || n.OneOf != nil:
		return union(append(n.AnyOf, n.OneOf...), depth)
	}
	var one string
	var many []string
	if json.Unmarshal(n.Type, &one) == nil && one != "" {
		many = []string{one}
	} else if json.Unmarshal(n.Type, &many) != nil || len(many) == 0 {
		if len(n.Properties) == 0 {
			return "unknown"
		}
		many = []string{"object"}
	}
	parts := make([]string, 0, len(many))
	for _, kind := range many {
		parts = append(parts, typed(kind, n, depth))
	}
	return strings.Join(parts, " | ")
}

func typed(kind string, n node, depth int) string {
	switch kind {
	case "string", "boolean", "null":
		return kind
	case "number", "integer":
		return "number"
	case "array":
		if depth <= 0 || len(n.Items) == 0 {
			return "unknown[]"
		}
		item := shape(n.Items, depth-1)
		if strings.Contains(item, " | ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		return object(n, depth)
	default:
		return "unknown"
	}
}

func object(n node, depth int) string {
	var props map[string]json.RawMessage
	if json.Unmarshal(n.Properties, &props) != nil || len(props) == 0 {
		if len(n.Properties) > 0 && string(n.Properties) == "{}" || depth == signatureDepth {
			return "{}"
		}
		return "object"
	}
	if depth <= 0 {
		return "object"
	}
	var required []string
	_ = json.Unmarshal(n.Required, &required) // anything else means: nothing is required
	must := make(map[string]bool, len(required))
	for _, name := range required {
		must[name] = true
	}
	names := make([]string, 0, len(props))
	for name := range props {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { // required first, then by name
		if must[names[i]] != must[names[j]] {
			return must[names[i]]
		}
		return names[i] < names[j]
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		mark := "?"
		if must[name] {
			mark = ""
		}
		parts = append(parts, propertyName(name)+mark+": "+shape(props[name], depth-1))
	}
	return "{ " + strings.Join(parts, "; ") + " }"
}

// propertyName quotes what is no plain identifier. Reserved words are fine as
// property names.
func propertyName(name string) string {
	plain := name != ""
	for i, r := range name {
		letter := r == '_' || r == '$' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			plain = false
		}
	}
	if plain && name != "__proto__" {
		return name
	}
	return strconv.Quote(name)
}

func literalUnion(values []json.RawMessage) string {
	if len(values) == 0 {
		return "never"
	}
	var parts []string
	seen := map[string]bool{}
	for _, v := range values {
		text := string(bytes.TrimSpace(v))
		if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
			text = "unknown"
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(parts) == signatureEnum {
			return strings.Join(append(parts, "…"), " | ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " | ")
}

func union(members []json.RawMessage, depth int) string {
	var parts []string
	seen := map[string]bool{}
	for _, m := range members {
		text := "unknown"
		if depth > 0 {
			text = shape(m, depth-1)
		}
		if !seen[text] {
			seen[text] = true
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "never"
	}
	return strings.Join(parts, " | ")
}
