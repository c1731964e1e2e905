package signature

import "slices"

// function reads <T>(a: A, b?: B): R.
func (p *parser) function(doc string) *function {
	fn := &function{doc: doc, generics: p.parameterList()}
	if !p.is("(") {
		p.failed = true
		return fn
	}
	end := p.peek(0).match
	for p.pos++; !p.failed && p.pos < end; {
		if one := p.parameter(end); one.name != "this" {
			fn.parameters = append(fn.parameters, one)
		}
		if p.pos < end {
			p.expect(",")
		}
	}
	if p.failed || p.pos != end {
		p.failed = true
		return fn
	}
	p.pos++
	if p.take(":") {
		fn.result = p.typ()
	}
	return fn
}

func (p *parser) parameter(end int) parameter {
	one := parameter{rest: p.take("...")}
	switch t := p.peek(0); {
	case t.kind == word:
		one.name = t.text
		p.pos++
	case p.is("{"):
		one.pattern = p.pattern()
	case p.is("["):
		one.pattern = anything
		p.pos = t.match + 1
	default:
		p.failed = true
	}
	one.optional = p.take("?")
	if p.take(":") {
		one.value = p.typ()
	}
	if p.take("=") {
		one.optional = true
		one.initial = p.initial(end)
	}
	return one
}

// initial passes over a default value and returns it when it is a plain one.
// An angle bracket in it makes the end uncertain.
func (p *parser) initial(end int) string {
	from := p.pos
	for p.pos < end && !p.is(",") {
		if p.is("<", ">") {
			p.failed = true
		}
		if m := p.peek(0).match; m > p.pos {
			p.pos = m
		}
		p.pos++
	}
	tokens := p.tokens[from:p.pos]
	negative := len(tokens) == 2 && tokens[0].text == "-" && tokens[1].kind == number
	switch {
	case negative:
		return numberLiteral(tokens[1].text, "-").json
	case len(tokens) == 2 && tokens[0].text == "[" && tokens[1].text == "]":
		return "[]"
	case len(tokens) == 2 && tokens[0].text == "{" && tokens[1].text == "}":
		return "{}"
	case len(tokens) != 1:
		return ""
	}
	switch t := tokens[0]; {
	case t.kind == text:
		return quote(t.text)
	case t.kind == number:
		return numberLiteral(t.text, "").json
	case t.kind == word && slices.Contains([]string{"true", "false", "null"}, t.text):
		return t.text
	}
	return ""
}

// pattern reads { a, b = 1, c: d }: the names that a function takes out of its
// argument, of any type. A rest element makes it anything.
func (p *parser) pattern() *typ {
	out, end := &typ{form: objectForm}, p.peek(0).match
	for p.pos++; p.pos < end; {
		t := p.peek(0)
		if t.kind != word && t.kind != text {
			p.pos = end + 1
			return &typ{form: objectForm, index: anything}
		}
		m := member{name: t.text, value: anything, doc: t.doc}
		p.pos++
		for p.pos < end && !p.is(",") {
			if p.is("=") {
				m.optional = true
			}
			if match := p.peek(0).match; match > p.pos {
				p.pos = match
			}
			p.pos++
		}
		out.members = append(out.members, m)
		p.take(",")
	}
	p.pos = end + 1
	return out
}
