package signature

import (
	"slices"
	"strings"
)

func (p *parser) tuple() *typ {
	out := &typ{form: tupleForm}
	p.pos++
	for !p.failed && !p.is("]") {
		rest := p.take("...")
		optional := false
		if p.peek(0).kind == word && (p.peek(1).text == ":" || p.peek(1).text == "?" && p.peek(2).text == ":") && p.peek(1).kind == punct {
			optional = p.peek(1).text == "?" // a labelled element
			p.pos += 2
			if optional {
				p.pos++
			}
		}
		t := p.typ()
		optional = p.take("?") || optional
		switch {
		case rest && t.form == arrayForm && !p.is(","):
			out.rest = t.items[0]
		case rest:
			p.skipTo("]")
			return anything
		default:
			out.items = append(out.items, t)
			if !optional {
				out.needed = len(out.items)
			}
		}
		if !p.take(",") {
			break
		}
	}
	p.expect("]")
	return out
}

// skipTo goes behind the bracket that closes the one p stands in.
func (p *parser) skipTo(closing string) {
	for p.pos < len(p.tokens) && !p.is(closing) {
		if m := p.peek(0).match; m > p.pos {
			p.pos = m
		}
		p.pos++
	}
	p.expect(closing)
}

// object reads { … }. A mapped type, and a member that is not understood, make
// it anything; methods are passed over, since no JSON has them.
func (p *parser) object() *typ {
	out, end := &typ{form: objectForm}, p.peek(0).match
	p.pos++
	for !p.failed && p.pos < end {
		if p.take(";") || p.take(",") {
			continue
		}
		if !p.member(out) {
			p.pos = end + 1
			return anything
		}
		if p.pos < end && !p.is(";", ",") && !p.peek(0).line {
			p.failed = true
		}
	}
	if p.pos != end {
		p.failed = true
	}
	p.pos = end + 1
	return out
}

// member reads one member; false when the whole object is not understood.
func (p *parser) member(out *typ) bool {
	doc := p.peek(0).doc
	if p.is("+", "-") {
		return false // a mapped type
	}
	plain := func(t token) bool {
		return t.kind == punct && slices.Contains([]string{":", "?", "(", "<", ";", ",", "}"}, t.text)
	}
	for p.is("readonly", "public", "static") && !plain(p.peek(1)) {
		p.pos++
	}
	if p.is("get", "set") && !plain(p.peek(1)) {
		return false
	}
	if p.is("(", "<", "new") && !(p.is("new") && plain(p.peek(1)) && p.peek(1).text != "(") {
		return false // it can be called
	}
	t := p.peek(0)
	if p.is("[") {
		if p.peek(1).kind != word || p.peek(2).text != ":" {
			return false // a mapped type, a computed name
		}
		p.pos = t.match + 1
		p.take("?")
		if !p.take(":") {
			return false
		}
		out.index = p.typ()
		return true
	}
	switch t.kind {
	case word, text:
	case number:
		if strings.ContainsAny(t.text, "._eExXoObBn") {
			return false
		}
	default:
		return false
	}
	p.pos++
	m := member{name: t.text, doc: doc, optional: p.take("?")}
	switch {
	case p.is("(", "<"): // a method
		p.parameterList()
		p.skipBrackets("(")
		if p.take(":") {
			p.typ()
		}
		return true
	case p.take(":"):
		m.value = p.typ()
	default:
		m.value = anything
	}
	out.members = append(out.members, m)
	return true
}
