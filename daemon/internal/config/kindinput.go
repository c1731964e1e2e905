package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// shortTypes are the types of the short form of input.
var shortTypes = []string{"string", "integer", "number", "boolean", "object", "any"}

// readInput makes the JSON Schema of a command's input: as written when it is a
// schema of an object, from the short form, or from the placeholders alone.
//
//	"input": { "pattern": "string", "limit?": "integer", "globs?": "string[]",
//	           "mode": ["fast", "slow"], "path": { "type": "string" } }
func (t *CommandTool) readInput(n *node, m member, uses []*Placeholder) error {
	var in inputShape
	switch {
	case n == nil:
		in = fromPlaceholders(uses)
	case n.kind != objectNode:
		return badAt(n, "tools.%s.input must be an object: names with types, or a JSON Schema", m.name)
	case isSchema(n):
		t.Input = n.json()
		in.read(n)
	default:
		var err error
		if in, err = fromShort(n, m.name); err != nil {
			return err
		}
	}
	if t.Input == nil {
		t.Input = in.schema()
	}
	for _, p := range uses {
		if err := in.allows(p); err != "" {
			at := m.value
			if n != nil {
				at = n
			}
			return badAt(at, "tools.%s: {%s}: %s", m.name, p.Name, err)
		}
	}
	return nil
}

// isSchema tells a JSON Schema from the short form, where type and properties
// would be names of arguments.
func isSchema(n *node) bool {
	kind, properties := n.get("type"), n.get("properties")
	return kind != nil && kind.kind == stringNode && kind.text == "object" || properties != nil && properties.kind == objectNode || n.get("$schema") != nil
}

// inputShape is the little that is known of an input: its properties in order.
type inputShape struct {
	names    []string
	schemas  map[string][]byte
	required map[string]bool
	defaults map[string]bool
	lists    map[string]bool // certainly arrays
	closed   bool            // there are no other properties
}

func newShape() inputShape {
	return inputShape{schemas: map[string][]byte{}, required: map[string]bool{}, defaults: map[string]bool{}, lists: map[string]bool{}, closed: true}
}

func (in *inputShape) add(name string, schema []byte, required bool) {
	if !slices.Contains(in.names, name) {
		in.names = append(in.names, name)
	}
	in.schemas[name], in.required[name] = schema, required
}

func fromPlaceholders(uses []*Placeholder) inputShape {
	in := newShape()
	for _, p := range uses {
		schema := `{"type":"string"}`
		switch {
		case p.Repeated:
			schema = `{"type":"array","items":{"type":"string"}}`
			in.lists[p.Name] = true
		case p.HasText:
			schema = `{"type":"boolean"}`
		}
		if have, ok := in.schemas[p.Name]; ok && !strings.Contains(string(have), "boolean") {
			schema = string(have) // {?type:--type} beside {?type}
		}
		in.add(p.Name, []byte(schema), in.required[p.Name] || !p.Optional)
	}
	return in
}

func fromShort(n *node, tool string) (inputShape, error) {
	in := newShape()
	for _, p := range n.members {
		name, optional := strings.CutSuffix(p.name, "?")
		schema, list, err := shortType(p.value, tool, name)
		if err != nil {
			return in, err
		}
		in.add(name, schema, !optional && p.value.get("default") == nil)
		in.lists[name] = list
		in.defaults[name] = p.value.get("default") != nil
	}
	return in, nil
}

func shortType(v *node, tool, name string) (schema []byte, list bool, err error) {
	switch v.kind {
	case objectNode:
		kind := v.get("type")
		return v.json(), kind != nil && kind.text == "array", nil
	case arrayNode:
		return append(append([]byte(`{"enum":`), v.json()...), '}'), false, nil
	case stringNode:
		kind, list := strings.CutSuffix(v.text, "[]")
		if slices.Contains(shortTypes, kind) {
			schema = []byte(`{"type":"` + kind + `"}`)
			if kind == "any" {
				schema = []byte(`{}`)
			}
			if list {
				schema = append(append([]byte(`{"type":"array","items":`), schema...), '}')
			}
			return schema, list, nil
		}
		p := badAt(v, "tools.%s.input.%s: %q is none of %s, or one of them with []", tool, name, v.text, strings.Join(shortTypes, ", "))
		if near := nearest(kind, shortTypes); near != "" {
			p.hint = "did you mean \"" + near + "\"?"
		}
		return nil, false, p
	}
	return nil, false, badAt(v, "tools.%s.input.%s must be a type, a list of values or a JSON Schema, not a %s", tool, name, v.kind)
}

// read takes what it can from a whole schema.
func (in *inputShape) read(n *node) {
	*in = newShape()
	in.closed = n.get("properties") != nil && n.get("allOf") == nil && n.get("anyOf") == nil && n.get("oneOf") == nil && n.get("$ref") == nil
	var required []string
	if r := n.get("required"); r != nil {
		required, _ = r.strings()
	}
	for _, p := range membersOf(n.get("properties")) {
		in.add(p.name, nil, slices.Contains(required, p.name))
		in.defaults[p.name] = p.value.get("default") != nil
		kind := p.value.get("type")
		in.lists[p.name] = kind != nil && kind.text == "array"
	}
}

// schema is the input's JSON Schema: nothing but the properties is allowed.
func (in *inputShape) schema() json.RawMessage {
	var out bytes.Buffer
	out.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, name := range in.names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quoted(name))
		out.WriteByte(':')
		out.Write(in.schemas[name])
		if in.required[name] {
			required = append(required, name)
		}
	}
	out.WriteByte('}')
	if len(required) > 0 {
		list, _ := json.Marshal(required) // texts always marshal
		out.WriteString(`,"required":`)
		out.Write(list)
	}
	out.WriteString(`,"additionalProperties":false}`)
	return out.Bytes()
}

// allows says why a placeholder does not go with the input, or nothing.
func (in *inputShape) allows(p *Placeholder) string {
	known := slices.Contains(in.names, p.Name)
	switch {
	case !known && in.closed:
		if near := nearest(p.Name, in.names); near != "" {
			return "input has no such name; the nearest is " + near
		}
		return "input has no such name"
	case !known:
		return ""
	case !p.Optional && !in.required[p.Name] && !in.defaults[p.Name]:
		return "input does not require it: write {?" + p.Name + "}, which leaves the word out"
	case in.lists[p.Name] && !p.Repeated && !p.HasText:
		return "it is a list: write {" + p.Name + "...}, the word once for each item"
	}
	return ""
}

func quoted(text string) []byte {
	out, _ := json.Marshal(text) // texts always marshal
	return out
}

// json writes a node as JSON, members in the order of writing.
func (n *node) json() []byte {
	var out bytes.Buffer
	switch n.kind {
	case objectNode:
		out.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(quoted(m.name))
			out.WriteByte(':')
			out.Write(m.value.json())
		}
		out.WriteByte('}')
	case arrayNode:
		out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(item.json())
		}
		out.WriteByte(']')
	case stringNode:
		return quoted(n.text)
	case numberNode:
		if !json.Valid([]byte(n.text)) { // 0x1f, 1_000, .inf: the other formats have more
			text, err := json.Marshal(n.plain())
			if err != nil {
				return []byte("null")
			}
			return text
		}
		return []byte(n.text)
	case boolNode:
		return []byte(n.text)
	default:
		return []byte("null")
	}
	return out.Bytes()
}
