package typegen

import (
	"fmt"
	"strings"
)

// builder turns one schema into a type.
type builder struct {
	*refs
	legacy  bool // a draft in which nothing counts beside "$ref"
	warn    func(at *place, why string)
	nodes   int
	spent   bool // the bound on nodes was reached, and said
	defs    map[*value]*def
	order   []*def
	used    map[string]bool // names of defs
	waiting []func()        // bodies to be built: never on the stack, so that a chain is no recursion
}

// place is where in a schema something stands.
type place struct {
	up   *place
	name string
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	return p.up.String() + "/" + strings.ReplaceAll(strings.ReplaceAll(p.name, "~", "~0"), "/", "~1")
}

func (p *place) in(names ...string) *place {
	for _, name := range names {
		p = &place{p, name}
	}
	return p
}

// placeOf is where a reference leads, for messages.
func placeOf(ref string) *place {
	path, isPointer := strings.CutPrefix(ref, "#/")
	if !isPointer {
		return (*place)(nil).in(ref)
	}
	var at *place
	for name := range strings.SplitSeq(path, "/") {
		at = at.in(strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~"))
	}
	return at
}

// build is the type of a schema, with the named schemas that it leads to. Names
// in used are not given again.
func build(text []byte, used map[string]bool, warn func(at, why string)) (*expr, []*def) {
	say := func(at *place, why string) { warn(at.String(), why) }
	if len(text) > maxSchema {
		say(nil, fmt.Sprintf("the schema has more than %d bytes", maxSchema))
		return unknown(), nil
	}
	root, err := parse(text)
	if err != nil {
		say(nil, "the schema cannot be read: "+err.Error())
		return unknown(), nil
	}
	b := &builder{refs: newRefs(root), warn: say, defs: map[*value]*def{}, used: used}
	draft := root.get("$schema").str()
	b.legacy = strings.Contains(draft, "/draft-0")
	e := b.schema(root, nil, 0)
	for len(b.waiting) > 0 {
		next := b.waiting[0]
		b.waiting = b.waiting[1:]
		next()
	}
	if d := b.defs[root]; d != nil { // the whole is referred to: written once, by its name
		d.uses++
		e = &expr{kind: reference, def: d}
	}
	b.cutLoops()
	b.markCyclic()
	return e, b.order
}

// schema is the type of one subschema.
func (b *builder) schema(v *value, at *place, depth int) *expr {
	switch {
	case v.is(true):
		return unknown()
	case v.is(false):
		return never()
	case v == nil || v.kind != '{':
		b.warn(at, "what stands here is no schema")
		return unknown()
	}
	if b.nodes++; b.nodes > maxNodes {
		if !b.spent {
			b.spent = true
			b.warn(at, fmt.Sprintf("the schema has more than %d parts; the others are left out", maxNodes))
		}
		return unknown()
	}
	if depth > maxDepth {
		b.warn(at, "it is nested too deep")
		return unknown()
	}
	var parts []*expr
	if ref := refOf(v); ref != "" {
		target := b.reference(ref, at)
		if b.legacy || !constrains(v) {
			return target
		}
		parts = append(parts, target)
	}
	parts = append(parts, b.own(v, at, depth))
	for i, s := range limited(v.get("allOf").list()) {
		parts = append(parts, b.schema(s, at.in("allOf", fmt.Sprint(i)), depth+1))
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		list := v.get(name).list()
		if list == nil {
			continue
		}
		var choices []*expr
		for i, s := range limited(list) {
			choices = append(choices, b.schema(s, at.in(name, fmt.Sprint(i)), depth+1))
		}
		if len(list) > maxChoices {
			choices = append(choices, unknown())
		}
		parts = append(parts, either(choices...))
	}
	if e := b.conditional(v, at, depth); e != nil {
		parts = append(parts, e)
	}
	if not := v.get("not"); not.is(true) || not != nil && not.kind == '{' && len(not.names) == 0 {
		return never()
	}
	e := both(parts...)
	if (v.get("nullable").is(true) || v.get("x-nullable").is(true)) && !e.isWord("unknown") {
		e = either(e, word("null"))
	}
	return e
}

// maxChoices bounds the members of one anyOf, oneOf or allOf.
const maxChoices = 200

func limited(list []*value) []*value { return list[:min(len(list), maxChoices)] }

// own is the type that a schema's own words give, its combinations left out.
func (b *builder) own(v *value, at *place, depth int) *expr {
	if c := v.get("const"); c != nil {
		return literal(c, 0)
	}
	if values := v.get("enum"); values != nil && values.kind == '[' {
		return enum(values.items)
	}
	t := v.get("type")
	switch {
	case t == nil:
		return b.guess(v, at, depth)
	case t.kind == '"':
		return b.typed(t.text, v, at, depth)
	case t.kind == '[' && len(t.items) > 0:
		var parts []*expr
		for i, one := range limited(t.items) {
			switch {
			case one.kind == '"':
				parts = append(parts, b.typed(one.text, v, at, depth))
			default:
				parts = append(parts, b.schema(one, at.in("type", fmt.Sprint(i)), depth+1))
			}
		}
		return either(parts...)
	}
	b.warn(at.in("type"), "the type is neither a name nor a list of names")
	return b.guess(v, at, depth)
}

// guess is the type of a schema without one, by the words that make sense for
// one kind of value only. They allow all other kinds too, but that is seldom meant.
func (b *builder) guess(v *value, at *place, depth int) *expr {
	for _, name := range v.names {
		switch name {
		case "properties", "patternProperties", "additionalProperties", "required":
			return b.object(v, at, depth)
		case "items", "prefixItems":
			return b.array(v, at, depth)
		}
	}
	return unknown()
}

func (b *builder) typed(name string, v *value, at *place, depth int) *expr {
	switch name {
	case "string", "boolean", "null", "number":
		return word(name)
	case "integer":
		return word("number")
	case "object":
		return b.object(v, at, depth)
	case "array":
		return b.array(v, at, depth)
	case "any":
		return unknown()
	}
	b.warn(at.in("type"), fmt.Sprintf("there is no type %q", brief(name)))
	return unknown()
}

// reference is the type of what a reference names.
func (b *builder) reference(ref string, at *place) *expr {
	target, why := b.follow(ref, b.legacy)
	if why != "" {
		b.warn(at.in("$ref"), why)
		return unknown()
	}
	if target.kind == 't' {
		return b.schema(target, at, 0)
	}
	d := b.defs[target]
	if d == nil {
		if len(b.order) >= maxDefs {
			b.warn(at.in("$ref"), fmt.Sprintf("more than %d schemas are referred to", maxDefs))
			return unknown()
		}
		d = &def{name: nameOf(ref, b.used), at: placeOf(ref), doc: notes(target, maxNote), body: unknown()}
		b.defs[target] = d
		b.order = append(b.order, d)
		b.waiting = append(b.waiting, func() { d.body = b.schema(target, d.at, 0) })
	}
	d.uses++
	return &expr{kind: reference, def: d}
}
