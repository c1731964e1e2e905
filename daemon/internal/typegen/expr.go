package typegen

import "slices"

// kind of an expression.
type kind byte

const (
	atom kind = iota // a keyword or a literal, as it is written
	union
	intersection
	array // of parts[0]
	tuple
	object
	reference
)

// expr is a type of TypeScript.
type expr struct {
	kind    kind
	text    string   // of an atom
	parts   []*expr  // of a union or intersection; places of a tuple; what an array holds
	members []member // of an object
	rest    *expr    // what further members of an object, or places of a tuple, hold; nil: there are none
	must    int      // how many places of a tuple are always there
	def     *def     // of a reference
	silent  bool     // an object of which the schema says nothing at all
}

// member is one property.
type member struct {
	name     string
	optional bool
	typ      *expr
	doc      []string
}

// def is a schema with a name of its own.
type def struct {
	name   string
	at     *place // as the first reference has it
	body   *expr
	doc    []string
	uses   int
	cyclic bool // it leads to itself: it cannot be written in place
	mark   byte // of a walk: 0 not seen, 1 on the way, 2 done
}

func word(text string) *expr { return &expr{kind: atom, text: text} }

func unknown() *expr { return word("unknown") }
func never() *expr   { return word("never") }

func (e *expr) isWord(text string) bool { return e.kind == atom && e.text == text }

// isLoose reports whether e is an object of which nothing is known.
func (e *expr) isLoose() bool {
	return e.kind == object && len(e.members) == 0 && e.rest != nil && e.rest.isWord("unknown")
}

// refers reports whether there is a reference in e.
func (e *expr) refers() bool {
	found := false
	every(e, func(*expr) { found = true })
	return found
}

// same reports whether two types are obviously the same.
func same(a, b *expr) bool {
	switch {
	case a == b:
		return true
	case a.kind != b.kind:
		return false
	case a.kind == atom:
		return a.text == b.text
	case a.kind == reference:
		return a.def == b.def
	case a.kind == array:
		return same(a.parts[0], b.parts[0])
	}
	return a.isLoose() && b.isLoose()
}

// either is the union of types: without repetitions, unknown if one is.
func either(types ...*expr) *expr {
	var parts []*expr
	seen := map[string]bool{} // the words that are there: literals can be many
	for _, t := range types {
		inner := []*expr{t}
		if t.kind == union {
			inner = t.parts
		}
		for _, p := range inner {
			switch {
			case p.isWord("unknown"):
				return p
			case p.isWord("never"):
			case p.kind == atom:
				if !seen[p.text] {
					seen[p.text] = true
					parts = append(parts, p)
				}
			case !slices.ContainsFunc(parts, func(o *expr) bool { return same(o, p) }):
				parts = append(parts, p)
			}
		}
	}
	switch len(parts) {
	case 0:
		return never()
	case 1:
		return parts[0]
	}
	return &expr{kind: union, parts: parts}
}

// both is the intersection of types. Objects become one object.
func both(types ...*expr) *expr {
	var parts []*expr
	var loose *expr
	for _, t := range types {
		inner := []*expr{t}
		if t.kind == intersection {
			inner = t.parts
		}
		for _, p := range inner {
			switch {
			case p.isWord("never"):
				return p
			case p.isWord("unknown"):
			case p.isLoose():
				loose = p
			case slices.ContainsFunc(parts, func(o *expr) bool { return same(o, p) }):
			default:
				parts = join(parts, p)
			}
		}
	}
	switch {
	case len(parts) == 0 && loose != nil:
		return loose
	case len(parts) == 0:
		return unknown()
	case len(parts) == 1:
		return parts[0]
	}
	return &expr{kind: intersection, parts: parts}
}

// join adds a type to an intersection, into an object that is there already if
// it is one.
func join(parts []*expr, p *expr) []*expr {
	if p.kind != object || p.rest != nil {
		return append(parts, p)
	}
	for i, o := range parts {
		if o.kind == object && o.rest == nil {
			merged := &expr{kind: object, members: slices.Clone(o.members)}
			at := make(map[string]int, len(merged.members))
			for i, m := range merged.members {
				at[m.name] = i
			}
			for _, m := range p.members {
				i, ok := at[m.name]
				if !ok {
					merged.members = append(merged.members, m)
					continue
				}
				one := &merged.members[i]
				one.typ, one.optional = both(one.typ, m.typ), one.optional && m.optional
				if one.doc == nil {
					one.doc = m.doc
				}
			}
			parts[i] = merged
			return parts
		}
	}
	return append(parts, p)
}
