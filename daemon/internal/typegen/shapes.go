package typegen

import (
	"fmt"
	"slices"
	"strconv"
)

// object is the type of an object's properties.
func (b *builder) object(v *value, at *place, depth int) *expr {
	e := &expr{kind: object}
	must := map[string]bool{}
	for _, name := range v.get("required").list() {
		must[name.str()] = name.kind == '"'
	}
	properties := v.get("properties")
	if properties != nil && properties.kind != '{' {
		if properties.kind != 'n' {
			b.warn(at.in("properties"), "the properties are no object")
		} else {
			b.warn(at.in("properties"), "the properties are null")
		}
		properties = nil
	}
	if properties != nil {
		for i, name := range properties.names {
			p := properties.items[i]
			required := must[name] || p.get("required").is(true) // draft 3, which servers still write
			delete(must, name)
			e.members = append(e.members, member{
				name: name, optional: !required, typ: b.schema(p, at.in("properties", name), depth+1), doc: b.notesOf(p),
			})
		}
	}
	for _, name := range v.get("required").list() {
		if must[name.str()] { // required, and nothing else is said of it
			delete(must, name.str())
			e.members = append(e.members, member{name: name.str(), typ: unknown()})
		}
	}
	b.further(e, v, at, depth)
	if len(e.members) == 0 && e.rest == nil && properties == nil && v.get("additionalProperties") == nil {
		e.rest, e.silent = unknown(), true // {"type": "object"} and no more: any object
	}
	return e
}

// further is what an object holds beyond its named properties. An absent
// additionalProperties allows them, but a name that the author did not write is
// most often a mistake, so that it is only taken in where somebody asks for it.
func (b *builder) further(e *expr, v *value, at *place, depth int) {
	var kinds []*expr
	if patterns := v.get("patternProperties"); patterns != nil && patterns.kind == '{' {
		for i, name := range patterns.names {
			kinds = append(kinds, b.schema(patterns.items[i], at.in("patternProperties", name), depth+1))
		}
	}
	more := v.get("additionalProperties")
	if more == nil {
		more = v.get("unevaluatedProperties")
	}
	if more.isSchema() && !more.is(false) {
		kinds = append(kinds, b.schema(more, at.in("additionalProperties"), depth+1))
	}
	if len(kinds) == 0 {
		return
	}
	rest := either(kinds...)
	if names := v.get("propertyNames").get("enum").list(); len(names) > 0 && len(names) <= maxLiterals && len(e.members) == 0 {
		seen := map[string]bool{}
		for _, name := range names {
			if name.kind == '"' && !seen[name.text] {
				seen[name.text] = true
				e.members = append(e.members, member{name: name.text, optional: true, typ: rest})
			}
		}
		return
	}
	// TypeScript wants every property to fit what further ones hold.
	for _, m := range e.members {
		rest = either(rest, m.typ)
		if m.optional {
			rest = either(rest, word("undefined"))
		}
	}
	if len(e.members) > 0 && rest.kind == union && len(rest.parts) > 4 {
		rest = unknown()
	}
	e.rest = rest
}

// conditional is the type of the properties that a schema names under a
// condition only: where another property has some value (then, else), or is
// there at all (dependentSchemas; dependencies until 2019-09). A type cannot say
// when, but whoever follows the condition must be able to give them. Nil: none.
func (b *builder) conditional(v *value, at *place, depth int) *expr {
	e := &expr{kind: object}
	known := v.get("properties")
	take := func(s *value, at *place) {
		if s == nil || s.kind != '{' {
			return
		}
		branch := b.schema(s, at, depth+1)
		for branch.kind == reference && !branch.def.cyclic && branch.def.body.kind == object {
			branch = branch.def.body
		}
		for _, m := range branch.members {
			i := slices.IndexFunc(e.members, func(o member) bool { return o.name == m.name })
			switch {
			case known.get(m.name) != nil:
			case i >= 0:
				e.members[i].typ = either(e.members[i].typ, m.typ)
			default:
				m.optional = true
				e.members = append(e.members, m)
			}
		}
	}
	if v.get("if") != nil {
		take(v.get("then"), at.in("then"))
		take(v.get("else"), at.in("else"))
	}
	for _, word := range []string{"dependentSchemas", "dependencies"} {
		if all := v.get(word); all != nil && all.kind == '{' {
			for i, name := range all.names[:min(len(all.names), maxChoices)] {
				take(all.items[i], at.in(word, name))
			}
		}
	}
	if len(e.members) == 0 {
		return nil
	}
	return e
}

// array is the type of an array, a tuple where its places have types of their own.
func (b *builder) array(v *value, at *place, depth int) *expr {
	places, rest, where := v.get("prefixItems"), v.get("items"), "items"
	if rest != nil && rest.kind == '[' { // until 2019-09
		places, rest, where = rest, v.get("additionalItems"), "additionalItems"
	}
	if rest == nil && len(places.list()) > 0 {
		rest, where = v.get("unevaluatedItems"), "unevaluatedItems"
	}
	list := places.list()
	if len(list) == 0 || len(list) > maxTuple {
		item := unknown()
		switch {
		case len(list) > 0: // too long to be written out
		case rest == nil:
		case rest.kind == 'n':
			b.warn(at.in("items"), "the items are null")
		default:
			item = b.schema(rest, at.in(where), depth+1)
		}
		return &expr{kind: array, parts: []*expr{item}}
	}
	e := &expr{kind: tuple, must: min(int(count(v.get("minItems"))), len(list))}
	for i, p := range list {
		e.parts = append(e.parts, b.schema(p, at.in("prefixItems", fmt.Sprint(i)), depth+1))
	}
	switch {
	case rest.is(false), v.get("maxItems") != nil && int(count(v.get("maxItems"))) <= len(list):
	case rest.isSchema():
		e.rest = b.schema(rest, at.in(where), depth+1)
	default:
		e.rest = unknown()
	}
	return e
}

// count is a whole number of a schema; anything else is 0.
func count(v *value) uint32 {
	if v == nil || v.kind != '0' {
		return 0
	}
	n, err := strconv.ParseFloat(v.text, 64)
	if err != nil || n < 0 || n > 1<<30 {
		return 0
	}
	return uint32(n)
}

// enum is the union of the values listed.
func enum(values []*value) *expr {
	if len(values) <= maxLiterals {
		parts := make([]*expr, len(values))
		for i, v := range values {
			parts[i] = literal(v, 0)
		}
		return either(parts...)
	}
	var parts []*expr
	for _, v := range values {
		parts = append(parts, kindOf(v))
	}
	return either(parts...)
}

// kindOf is the type of a value without the value.
func kindOf(v *value) *expr {
	switch v.kind {
	case '"':
		return word("string")
	case '0':
		return word("number")
	case 't':
		return word("boolean")
	case 'n':
		return word("null")
	case '[':
		return &expr{kind: array, parts: []*expr{unknown()}}
	}
	return &expr{kind: object, rest: unknown()}
}

// maxExact is the magnitude from which a double does not hold every integer.
const maxExact = 1 << 53

// literal is the type of exactly one value.
func literal(v *value, depth int) *expr {
	if depth > 8 || len(v.text) > maxNote || len(v.items) > maxLiterals {
		return kindOf(v)
	}
	switch v.kind {
	case '"':
		return word(quote(v.text))
	case '0':
		if n, err := strconv.ParseFloat(v.text, 64); err != nil || n >= maxExact || n <= -maxExact {
			return word("number")
		}
		return word(v.text)
	case '[':
		e := &expr{kind: tuple, must: len(v.items)}
		for _, item := range v.items {
			e.parts = append(e.parts, literal(item, depth+1))
		}
		return e
	case '{':
		e := &expr{kind: object}
		for i, name := range v.names {
			e.members = append(e.members, member{name: name, typ: literal(v.items[i], depth+1)})
		}
		return e
	}
	return word(v.text)
}
