package typegen

import (
	"bytes"
	"strings"
)

// Bounds of a signature: it is a hint of how to call, not the full type.
const (
	shortArgs   = 600 // bytes of the arguments
	shortResult = 300 // bytes of the result
	shortEnum   = 8   // literals of a union that are shown
)

// Signature is the short form of a tool's types, on one line and without
// documentation. Parts that are too deep or too long become object or unknown.
type Signature struct {
	Param   string // what stands between the parentheses: args: { path: string; head?: number }
	Result  string // what the promise gives
	Example string // arguments with a value for everything that must be given: { path: "…" }
	Needed  int    // how much must be given
}

// Short is the signature of a tool with these schemas.
func Short(input, output []byte) Signature {
	ignore := func(string, string) {}
	s := Signature{Result: "unknown", Example: "{}"}
	if !absent(output) {
		e, _ := build(output, map[string]bool{}, ignore)
		s.Result = short(e, 2, shortResult)
	}
	if absent(input) {
		return s
	}
	e, _ := build(input, map[string]bool{}, ignore)
	if e.kind == object && len(e.members) == 0 && (e.rest == nil || e.silent) {
		return s
	}
	s.Param = parameter(e) + short(e, 3, shortArgs)
	s.Example, s.Needed = example(e)
	return s
}

// short writes a type as deep as it fits.
func short(e *expr, depth, limit int) string {
	for ; depth >= 1; depth-- {
		p := printer{bare: true, single: true, limit: limit}
		s := shortener{open: map[*def]bool{}}
		if p.typ(s.typ(e, depth), 0) {
			return p.String()
		}
	}
	return "object"
}

// maxLists is how many lists a signature has in each other.
const maxLists = 3

// shortener makes types without what lies deeper.
type shortener struct {
	nodes int           // written: types of types of types can be very many
	lists int           // that stand around the place at hand
	open  map[*def]bool // those that stand around the place at hand
}

func (s *shortener) typ(e *expr, depth int) *expr {
	if s.nodes++; s.nodes > shortArgs {
		return unknown() // it would not fit
	}
	switch e.kind {
	case reference:
		if s.open[e.def] {
			return unknown()
		}
		s.open[e.def] = true
		out := s.typ(e.def.body, depth)
		delete(s.open, e.def)
		return out
	case union, intersection:
		out := &expr{kind: e.kind}
		for i, p := range e.parts {
			if i == shortEnum {
				out.parts = append(out.parts, word("…"))
				break
			}
			out.parts = append(out.parts, s.typ(p, depth))
		}
		return out
	case array: // no level of its own: a list of things is read as easily as one
		s.lists++
		defer func() { s.lists-- }()
		if s.lists > maxLists {
			return word("unknown[]")
		}
		return &expr{kind: array, parts: []*expr{s.typ(e.parts[0], depth)}}
	case tuple:
		if depth <= 0 {
			return word("unknown[]")
		}
		out := &expr{kind: tuple, must: e.must}
		for _, p := range e.parts {
			out.parts = append(out.parts, s.typ(p, depth-1))
		}
		if e.rest != nil {
			out.rest = s.typ(e.rest, depth-1)
		}
		return out
	case object:
		if depth <= 0 || e.isLoose() {
			return word("object")
		}
		out := &expr{kind: object}
		for _, m := range e.members[:min(len(e.members), shortArgs/4)] { // more would not fit
			out.members = append(out.members, member{name: m.name, optional: m.optional, typ: s.typ(m.typ, depth-1)})
		}
		if e.rest != nil {
			out.rest = s.typ(e.rest, depth-1)
		}
		return out
	}
	return e
}

// example is arguments as a program would write them.
func example(e *expr) (args string, needed int) {
	for e.kind == reference {
		e = e.def.body
	}
	var parts []string
	for _, m := range e.members {
		if !m.optional && needed < maxExample {
			parts = append(parts, Property(m.name)+": "+sample(m.typ, 0))
			needed++
		}
	}
	if needed == 0 {
		return "{}", 0
	}
	return "{ " + strings.Join(parts, ", ") + " }", needed
}

// maxExample is how many arguments an example has: one with more is none.
const maxExample = 8

// sample is a value of a type.
func sample(e *expr, depth int) string {
	switch e.kind {
	case reference:
		if depth < 3 {
			return sample(e.def.body, depth+1)
		}
	case union, intersection:
		return sample(e.parts[0], depth)
	case array, tuple:
		return "[]"
	case atom:
		switch e.text {
		case "string", "unknown", "never", "undefined":
			return `"…"`
		case "number":
			return "1"
		case "boolean":
			return "true"
		}
		return e.text
	}
	return "{ … }"
}

// absent reports whether there is no schema: none given, null, or one that
// accepts everything in so many words.
func absent(text []byte) bool {
	switch string(bytes.TrimSpace(text)) {
	case "", "null", "{}", "true", `{"type":"object"}`:
		return true
	}
	return false
}
