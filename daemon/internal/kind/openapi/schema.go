package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// schemas writes the schemas of one tool's input or output as JSON Schema of the
// draft 2020-12: references become definitions, and what OpenAPI has of its own
// is translated or left out.
type schemas struct {
	doc    *document
	answer bool // of a response; else of a request
	defs   map[string]any
	names  map[string]string // reference -> name of its definition
	size   int
	most   int // of size
}

// maxSchema bounds the parts of one tool's schemas; what lies beyond is anything.
const maxSchema = 20_000

// newSchemas begins the schemas of one tool. One large schema that every operation
// refers to is written for each of them, so all together are bounded as well.
func newSchemas(d *document, answer bool) *schemas {
	most := min(maxSchema, max(leastWritten, maxWritten-d.written))
	return &schemas{doc: d, answer: answer, defs: map[string]any{}, names: map[string]string{}, most: most}
}

// add counts parts, and says whether they are still to be written.
func (s *schemas) add(parts int) bool {
	s.size += parts
	s.doc.written += parts
	return s.size <= s.most
}

// weight is how many parts a value counts that is copied as it is.
func weight(v any) int {
	const line = 64 // bytes of text that count as one part
	switch t := v.(type) {
	case string:
		return len(t) / line
	case []any:
		n := len(t)
		for _, item := range t {
			n += weight(item)
		}
		return n
	case map[string]any:
		n := len(t)
		for name, item := range t {
			n += weight(name) + weight(item)
		}
		return n
	}
	return 0
}

// dropped are keywords that say nothing to a validator or a reader of types.
var dropped = []string{"discriminator", "xml", "externalDocs", "example", "examples", "nullable", "readOnly", "writeOnly", "$id", "$schema", "$anchor", "$dynamicAnchor", "$dynamicRef", "id"}

// Where the schemas are within a schema.
var (
	oneBelow  = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	mapBelow  = []string{"properties", "patternProperties", "dependentSchemas"}
	listBelow = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
)

// of is a schema, written anew. What is no schema allows everything.
func (s *schemas) of(v any, depth int) any {
	if !s.add(1) || depth > maxNested {
		return map[string]any{}
	}
	if b, ok := v.(bool); ok {
		return b
	}
	in, ok := v.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	if ref, ok := in["$ref"].(string); ok {
		return s.reference(ref, in, depth)
	}
	if s.size+children(in) > s.most { // looking at each of them would cost as much as writing them
		s.size = s.most + 1
		return map[string]any{}
	}
	out := make(map[string]any, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value := in[name]
		switch {
		case slices.Contains(dropped, name), strings.HasPrefix(name, "x-"):
		case slices.Contains(oneBelow, name):
			out[name] = s.of(value, depth+1)
		case slices.Contains(mapBelow, name):
			out[name] = s.each(value, depth)
		case slices.Contains(listBelow, name):
			if list, ok := value.([]any); ok && len(list) > 0 {
				all := make([]any, len(list))
				for i := range list {
					all[i] = s.of(list[i], depth+1)
				}
				out[name] = all
			}
		case name == "$defs" || name == "definitions": // reached by references
		case s.add(weight(value)):
			out[name] = value
		}
	}
	s.hide(in, out)
	if s.doc.old {
		return modern(in, out)
	}
	return out
}

// children is how many schemas stand directly within one.
func children(in map[string]any) (n int) {
	for _, name := range mapBelow {
		m, _ := in[name].(map[string]any)
		n += len(m)
	}
	for _, name := range listBelow {
		n += len(anyList(in[name]))
	}
	return n
}

func (s *schemas) each(v any, depth int) map[string]any {
	in, _ := v.(map[string]any)
	out := make(map[string]any, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out[name] = s.of(in[name], depth+1)
	}
	return out
}

// hide takes out the properties that are not of this direction, and forgets that
// they are required.
func (s *schemas) hide(in, out map[string]any) {
	properties, _ := in["properties"].(map[string]any)
	required, _ := in["required"].([]any)
	flag := "readOnly"
	if s.answer {
		flag = "writeOnly"
	}
	var left []any
	for _, name := range required {
		text, ok := name.(string)
		if p := s.doc.object(properties[text]); ok && p[flag] != true {
			left = append(left, name)
		}
	}
	delete(out, "required")
	if len(left) > 0 {
		out["required"] = left
	}
	if s.answer {
		return
	}
	written, _ := out["properties"].(map[string]any)
	for name := range written {
		if s.doc.object(properties[name])[flag] == true {
			delete(written, name)
		}
	}
}

// modern translates what version 3.0 says in its own way.
func modern(in, out map[string]any) any {
	for flag, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		switch in[flag] {
		case true:
			if out[flag] = out[limit]; out[flag] == nil {
				delete(out, flag)
			}
			delete(out, limit)
		case false:
			delete(out, flag)
		}
	}
	if in["nullable"] != true {
		return out
	}
	if values, ok := out["enum"].([]any); ok && !slices.Contains(values, nil) {
		out["enum"] = append(slices.Clone(values), nil)
	}
	if kind, ok := out["type"].(string); ok {
		out["type"] = []any{kind, "null"}
		return out
	}
	if len(out) == 0 || out["enum"] != nil {
		return out
	}
	return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
}

// reference is a reference to a definition. What stands beside it counts from
// version 3.1 on.
func (s *schemas) reference(ref string, in map[string]any, depth int) any {
	target, ok := s.doc.find(ref)
	if !ok {
		return map[string]any{} // another document: anything
	}
	name, known := s.names[ref]
	if !known {
		name = s.name(ref)
		s.names[ref] = name
		s.defs[name] = map[string]any{} // while it is being written
		s.defs[name] = s.of(target, depth+1)
	}
	out := map[string]any{"$ref": "#/$defs/" + name}
	if s.doc.old || len(in) == 1 {
		return out
	}
	beside := maps.Clone(in)
	delete(beside, "$ref")
	rest, _ := s.of(beside, depth+1).(map[string]any)
	if len(rest) == 0 {
		return out
	}
	rest["allOf"] = append([]any{out}, anyList(rest["allOf"])...)
	return rest
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// name is the last part of a reference; a second one of that name is numbered.
func (s *schemas) name(ref string) string {
	base := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, ref[strings.LastIndexByte(ref, '/')+1:])
	name := base
	for i := 2; s.defs[name] != nil; i++ {
		name = base + "_" + itoa(i)
	}
	return name
}

// whole is a schema with its definitions, and whether all of it was written.
func (s *schemas) whole(v any) (json.RawMessage, bool) {
	out, ok := v.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	if len(s.defs) > 0 {
		out = maps.Clone(out)
		out["$defs"] = s.defs
	}
	text, err := json.Marshal(out)
	return text, err == nil && s.size <= s.most
}
