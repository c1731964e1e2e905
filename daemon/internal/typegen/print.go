package typegen

import "strings"

// printer writes types.
type printer struct {
	strings.Builder
	prefix string // before the name of a def
	bare   bool   // without documentation
	single bool   // all on one line; documentation does not fit there
	limit  int    // bytes; 0: any number
	over   bool   // the limit was reached, or something does not fit: what is written is of no use
}

// inlined reports whether a def is written where it is used: because it is a
// word, or is used once and few others would stand in each other.
func (d *def) inlined() bool {
	return !d.cyclic && (d.body.kind == atom || d.uses <= 1 && d.height() <= maxHeight)
}

// maxHeight is how many schemas that are referred to stand in each other.
const maxHeight = 6

func (d *def) height() int {
	h := 0
	every(d.body, func(e *expr) {
		if !e.def.cyclic && e.def.uses <= 1 && h <= maxHeight {
			h = max(h, e.def.height())
		}
	})
	return h + 1
}

// put writes text, and says whether there is room for more.
func (p *printer) put(text string) bool {
	p.WriteString(text)
	if p.limit > 0 && p.Len() > p.limit {
		p.over = true
	}
	return !p.over
}

// typ writes a type. Indent is the level of the line it begins on.
func (p *printer) typ(e *expr, indent int) bool {
	switch e.kind {
	case atom:
		p.put(e.text)
	case reference:
		if e.def.inlined() {
			return p.typ(e.def.body, indent)
		}
		p.put(p.prefix + e.def.name)
	case union, intersection:
		sign := " | "
		if e.kind == intersection {
			sign = " & "
		}
		for i, part := range e.parts {
			if i > 0 {
				p.put(sign)
			}
			if !p.grouped(part, e.kind == intersection, indent) {
				break
			}
		}
	case array:
		p.grouped(e.parts[0], true, indent)
		p.put("[]")
	case tuple:
		p.tuple(e, indent)
	case object:
		p.object(e, indent)
	}
	return !p.over
}

// grouped writes a part of a larger type, in parentheses where it needs them.
func (p *printer) grouped(e *expr, tight bool, indent int) bool {
	inner := e
	for inner.kind == reference && inner.def.inlined() {
		inner = inner.def.body
	}
	if tight && (inner.kind == union || inner.kind == intersection) {
		return p.put("(") && p.typ(inner, indent) && p.put(")")
	}
	return p.typ(inner, indent)
}

func (p *printer) tuple(e *expr, indent int) {
	p.put("[")
	for i, part := range e.parts {
		if i > 0 {
			p.put(", ")
		}
		if !p.grouped(part, i >= e.must, indent) {
			return
		}
		if i >= e.must {
			p.put("?")
		}
	}
	if e.rest != nil {
		p.put(", ...")
		p.grouped(e.rest, true, indent)
		p.put("[]")
	}
	p.put("]")
}

func (p *printer) object(e *expr, indent int) {
	switch {
	case len(e.members) == 0 && e.rest == nil:
		p.put("{}")
	case len(e.members) == 0:
		open, end := "Record<string, ", ">"
		if e.rest.refers() { // a type may be made of itself inside braces only
			open, end = "{ [name: string]: ", " }"
		}
		p.put(open)
		p.typ(e.rest, indent)
		p.put(end)
	case p.single:
		p.line(e, indent)
	default:
		line := printer{prefix: p.prefix, bare: p.bare, single: true, limit: max(wide-2*indent, 20)}
		if line.line(e, indent); !line.over {
			p.put(line.String())
			return
		}
		p.block(e, indent)
	}
}

// line writes an object with members on one line.
func (p *printer) line(e *expr, indent int) {
	for i, m := range e.members {
		if len(m.doc) > 0 && !p.bare {
			p.over = true
			return
		}
		sep := "; "
		if i == 0 {
			sep = "{ "
		}
		if !p.put(sep+propertyOf(m)) || !p.typ(m.typ, indent) {
			return
		}
	}
	if e.rest != nil && (!p.put("; [name: string]: ") || !p.typ(e.rest, indent)) {
		return
	}
	p.put(" }")
}

// block writes an object with each member on lines of its own.
func (p *printer) block(e *expr, indent int) {
	p.put("{\n")
	for _, m := range e.members {
		if !p.bare {
			p.comment(m.doc, indent+1)
		}
		p.tab(indent + 1)
		if !p.put(propertyOf(m)) || !p.typ(m.typ, indent+1) || !p.put(";\n") {
			return
		}
	}
	if e.rest != nil {
		p.tab(indent + 1)
		p.put("[name: string]: ")
		p.typ(e.rest, indent+1)
		p.put(";\n")
	}
	p.tab(indent)
	p.put("}")
}

func propertyOf(m member) string {
	if m.optional {
		return Property(m.name) + "?: "
	}
	return Property(m.name) + ": "
}

func (p *printer) tab(indent int) {
	for range indent {
		p.put("  ")
	}
}

// comment writes documentation, on one line where it fits.
func (p *printer) comment(doc []string, indent int) {
	if len(doc) == 0 {
		return
	}
	p.tab(indent)
	if text := strings.Join(doc, " "); len(text) <= wide && isShort(doc) {
		p.put("/** " + text + " */\n")
		return
	}
	p.put("/**\n")
	for _, line := range doc {
		p.tab(indent)
		p.put(strings.TrimRight(" * "+line, " ") + "\n")
	}
	p.tab(indent)
	p.put(" */\n")
}

// isShort reports whether documentation is at most one line of text and then
// tags: those may follow each other.
func isShort(doc []string) bool {
	for i, line := range doc {
		if i > 0 && !strings.HasPrefix(line, "@") || strings.HasPrefix(line, "@example") && len(doc) > 1 {
			return false
		}
	}
	return true
}
