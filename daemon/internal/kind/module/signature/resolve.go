package signature

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxDepth bounds how deep a schema is; what lies deeper is anything.
const maxDepth = 24

// maxSize bounds the parts of one schema: a few generics can grow without end.
const maxSize = 5_000

// resolver turns types into schemas.
type resolver struct {
	files  *files
	output bool // of a result: what else may be there is left open
	size   int

	stack []string // names that are being written
	cycle map[string]bool
	defs  object
}

// scope is where a type's names are looked up.
type scope struct {
	file     *file
	generics map[string]closure // type parameters; an empty closure is anything
}

type closure struct {
	t  *typ
	in scope
}

// schema is t as JSON Schema; nil allows everything.
func (r *resolver) schema(t *typ, in scope, depth int) object {
	if r.size++; t == nil || depth > maxDepth || r.size > maxSize {
		return nil
	}
	switch t.form {
	case named:
		return r.named(t, in, depth)
	case literal:
		return object{{"const", json.RawMessage(t.json)}}
	case objectForm:
		return r.object(r.flat(t, in, depth), depth)
	case arrayForm:
		return r.array(t.items[0], in, depth)
	case tupleForm:
		return r.tuple(t, in, depth)
	case unionForm:
		return r.union(t, in, depth)
	case bothForm:
		if s := r.flat(t, in, depth); s != nil {
			return r.object(s, depth)
		}
	}
	return nil
}

// array is a list of t; an undefined in it would become null.
func (r *resolver) array(t *typ, in scope, depth int) object {
	items := r.schema(t, in, depth+1)
	if items == nil || !r.needed(t, in, 0) {
		return kindOf("array")
	}
	return object{{"type", "array"}, {"items", items}}
}

func (r *resolver) tuple(t *typ, in scope, depth int) object {
	prefix := make([]object, len(t.items))
	for i, item := range t.items {
		if prefix[i] = r.schema(item, in, depth+1); prefix[i] == nil || !r.needed(item, in, 0) {
			prefix[i] = object{}
		}
	}
	out := object{{"type", "array"}}
	if len(prefix) > 0 {
		out = append(out, pair{"prefixItems", prefix})
	}
	if t.rest == nil {
		out = append(out, pair{"items", false}, pair{"maxItems", len(prefix)})
	} else if rest := r.schema(t.rest, in, depth+1); rest != nil {
		out = append(out, pair{"items", rest})
	}
	return append(out, pair{"minItems", t.needed})
}

// union makes an enumeration of literals, a list of types, or anyOf.
func (r *resolver) union(t *typ, in scope, depth int) object {
	var values []json.RawMessage
	var others []object
	for _, item := range t.items {
		if isNothing(item) { // the place where it stands is optional
			continue
		}
		s := r.schema(item, in, depth+1)
		if s == nil {
			return nil
		}
		if v, ok := s.get("const").(json.RawMessage); ok && len(s) == 1 {
			values = append(values, v)
		} else if list, ok := s.get("enum").([]json.RawMessage); ok && len(s) == 1 {
			values = append(values, list...)
		} else {
			others = append(others, s)
		}
	}
	switch {
	case len(values) == 1 && len(others) == 0:
		return object{{"const", values[0]}}
	case len(values) > 0:
		others = append(others, enumeration(values))
	}
	switch len(others) {
	case 0:
		return nil
	case 1:
		return others[0]
	}
	return object{{"anyOf", others}}
}

// enumeration is what a union of literals is; true and false are a boolean.
func enumeration(values []json.RawMessage) object {
	var once []json.RawMessage
	for _, v := range values {
		if !slices.ContainsFunc(once, func(have json.RawMessage) bool { return string(have) == string(v) }) {
			once = append(once, v)
		}
	}
	if len(once) == 1 {
		if string(once[0]) == "null" {
			return kindOf("null")
		}
		return object{{"const", once[0]}}
	}
	if len(once) == 2 && (string(once[0]) == "true" && string(once[1]) == "false" || string(once[0]) == "false" && string(once[1]) == "true") {
		return kindOf("boolean")
	}
	return object{{"enum", once}}
}

func isNothing(t *typ) bool {
	return t.form == named && (t.name == "undefined" || t.name == "void") && len(t.items) == 0
}

// object writes properties; nil members are anything.
func (r *resolver) object(s *shape, depth int) object {
	if s == nil {
		return nil
	}
	properties, required := object{}, []string{}
	for _, m := range s.members {
		if m.value.form == functionVal {
			continue
		}
		p := r.schema(m.value, m.in, depth+1)
		if doc := parseDoc(m.doc); doc.text != "" {
			if p.get("$ref") != nil { // what stands beside a reference is not read by all
				p = object{{"allOf", []object{p}}}
			}
			p = append(slices.Clone(p), pair{"description", doc.text})
		}
		if p == nil {
			p = object{}
		}
		properties = append(properties, pair{m.name, p})
		if !m.optional && r.needed(m.value, m.in, 0) {
			required = append(required, m.name)
		}
	}
	out := object{{"type", "object"}}
	if len(properties) > 0 {
		out = append(out, pair{"properties", properties})
	}
	if len(required) > 0 {
		out = append(out, pair{"required", required})
	}
	switch index := r.schema(s.index, s.indexIn, depth+1); {
	case s.index != nil && index != nil:
		out = append(out, pair{"additionalProperties", index})
	case s.index == nil && !s.open && !r.output:
		out = append(out, pair{"additionalProperties", false})
	}
	return out
}

// needed is whether a value of type t is certainly not undefined, so that it
// must be there. Where nothing is known of the type, it may be.
func (r *resolver) needed(t *typ, in scope, depth int) bool {
	if t == nil || depth > maxDepth {
		return false
	}
	switch t.form {
	case anyForm:
		return false
	case unionForm:
		return !slices.ContainsFunc(t.items, func(item *typ) bool { return !r.needed(item, in, depth+1) })
	case named:
	default:
		return true
	}
	if c, ok := in.generics[t.name]; ok {
		return r.needed(c.t, c.in, depth+1)
	}
	if d, at, ok := r.files.lookup(t, in); ok {
		return d != nil && !d.unknown && r.needed(d.value, at, depth+1)
	}
	return slices.Contains(values, t.name)
}

// values are the types of the language and its library that undefined is none of.
var values = []string{"string", "number", "boolean", "bigint", "object", "Date", "URL", "Array", "ReadonlyArray",
	"Record", "Partial", "Required", "Pick", "Omit", "NonNullable"}

// named resolves a name: a type parameter, a declaration, or one of the
// language's own.
func (r *resolver) named(t *typ, in scope, depth int) object {
	if c, ok := in.generics[t.name]; ok {
		return r.schema(c.t, c.in, depth+1)
	}
	d, at, ok := r.files.lookup(t, in)
	if !ok {
		return r.builtin(t, in, depth)
	}
	if d == nil || d.unknown || d.value == nil {
		return nil
	}
	key := ""
	if len(d.parameters) == 0 {
		key = at.file.path + "\x00" + t.name
		if slices.Contains(r.stack, key) {
			r.cycle[key] = true
			return object{{"$ref", "#/$defs/" + r.defName(key)}}
		}
		r.stack = append(r.stack, key)
		defer func() { r.stack = r.stack[:len(r.stack)-1] }()
	}
	var out object
	if len(d.extends) > 0 {
		out = r.object(r.flat(t, in, depth), depth+1)
	} else {
		out = r.schema(d.value, at, depth+1)
	}
	if key == "" || !r.cycle[key] || out == nil {
		return out
	}
	name := r.defName(key)
	if r.defs.get(name) == nil {
		r.defs = append(r.defs, pair{name, out})
	}
	return object{{"$ref", "#/$defs/" + name}}
}

// defName is the name of a definition: that of the type, and where two files
// have one each, the second is told from the first.
func (r *resolver) defName(key string) string {
	_, name, _ := strings.Cut(key, "\x00")
	i := slices.Index(r.files.names[name], key)
	if i < 0 {
		i = len(r.files.names[name])
		r.files.names[name] = append(r.files.names[name], key)
	}
	if i > 0 {
		name += "_" + itoa(i+1)
	}
	return name
}

// builtin is a type of the language or of its library. What is not listed is
// anything: many of them no JSON can be.
func (r *resolver) builtin(t *typ, in scope, depth int) object {
	one := func(i int) object {
		if i >= len(t.items) {
			return nil
		}
		return r.schema(t.items[i], in, depth+1)
	}
	switch t.name {
	case "string", "number", "boolean", "object":
		if len(t.items) == 0 {
			return kindOf(t.name)
		}
	case "bigint":
		if r.output {
			return kindOf("integer")
		}
		return object{{"type", []string{"integer", "string"}}, {"pattern", "^-?[0-9]+$"}}
	case "Date", "URL":
		if r.output { // what becomes of them in JSON
			return kindOf("string")
		}
	case "Array", "ReadonlyArray":
		if len(t.items) == 0 {
			return kindOf("array")
		}
		return r.array(t.items[0], in, depth)
	case "Promise", "PromiseLike", "Awaited", "Readonly", "NonNullable":
		return one(0)
	case "Record", "Partial", "Required", "Pick", "Omit":
		return r.object(r.flat(t, in, depth), depth)
	}
	return nil
}
