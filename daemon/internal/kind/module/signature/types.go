package signature

import (
	"slices"
)

// form is what a type is made of.
type form int

const (
	anyForm     form = iota // anything, and whatever is not understood
	named                   // a name with args
	literal                 // json
	objectForm              // members, index
	arrayForm               // items[0]
	tupleForm               // items; rest
	unionForm               // items
	bothForm                // items: an intersection
	functionVal             // a function, which no JSON can be
)

// typ is a type as written.
type typ struct {
	form    form
	name    string // of named; dots between parts
	json    string // of literal
	items   []*typ // of arrays, tuples, unions and intersections; type arguments
	members []member
	index   *typ // of an index signature
	rest    *typ // of a tuple: what its last element repeats
	needed  int  // of a tuple: elements that must be there
}

// member is a property.
type member struct {
	name     string
	optional bool
	value    *typ
	doc      string
}

var anything = &typ{form: anyForm}

// parser reads types and declarations. A mistake ends the reading of the
// declaration at hand: failed is set, and every result is anything.
type parser struct {
	tokens []token
	pos    int
	depth  int
	failed bool
}

func (p *parser) peek(ahead int) token {
	if i := p.pos + ahead; i >= 0 && i < len(p.tokens) {
		return p.tokens[i]
	}
	return token{kind: punct, match: -1, line: true}
}

func (p *parser) is(words ...string) bool {
	t := p.peek(0)
	return (t.kind == word || t.kind == punct) && slices.Contains(words, t.text)
}

func (p *parser) take(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.take(text) {
		p.failed = true
	}
}

// typ reads a type.
func (p *parser) typ() *typ {
	if p.depth++; p.depth > maxNested {
		p.failed = true
	}
	defer func() { p.depth-- }()
	if p.failed {
		return anything
	}
	if p.is("asserts") && p.peek(1).kind == word && !p.peek(1).line {
		p.pos++
	}
	if p.peek(0).kind == word && p.peek(1).kind == word && p.peek(1).text == "is" && !p.peek(1).line {
		p.pos += 2
		p.typ()
		return &typ{form: named, name: "boolean"}
	}
	t := p.list("|", unionForm, func() *typ { return p.list("&", bothForm, p.postfix) })
	if p.is("extends") && !p.peek(0).line { // a conditional type
		p.pos++
		p.typ()
		p.expect("?")
		p.typ()
		p.expect(":")
		p.typ()
		return anything
	}
	return t
}

// list reads items between separators; one alone is itself.
func (p *parser) list(separator string, f form, item func() *typ) *typ {
	p.take(separator)
	items := []*typ{item()}
	for !p.failed && p.take(separator) {
		items = append(items, item())
	}
	if len(items) == 1 {
		return items[0]
	}
	return &typ{form: f, items: items}
}

func (p *parser) postfix() *typ {
	t := p.primary()
	for !p.failed && p.is("[") && !p.peek(0).line {
		if p.peek(1).text == "]" && p.peek(1).kind == punct {
			p.pos += 2
			t = &typ{form: arrayForm, items: []*typ{t}}
			continue
		}
		p.pos = p.peek(0).match + 1 // T["key"]
		t = anything
	}
	return t
}

func (p *parser) primary() *typ {
	t := p.peek(0)
	switch t.kind {
	case text:
		p.pos++
		return &typ{form: literal, json: quote(t.text)}
	case number:
		p.pos++
		return numberLiteral(t.text, "")
	case other:
		p.pos++
		return anything
	case punct:
		return p.bracket(t)
	}
	switch t.text {
	case "true", "false", "null":
		p.pos++
		return &typ{form: literal, json: t.text}
	case "typeof":
		p.pos++
		if p.take("import") {
			p.skipBrackets("(")
		} else {
			p.pos++
		}
		for p.take(".") {
			p.pos++
		}
		p.arguments()
		return anything
	case "keyof", "unique", "infer":
		p.pos++
		p.postfix()
		return anything
	case "readonly":
		p.pos++
		return p.postfix()
	case "new", "abstract":
		for p.take("abstract") || p.take("new") {
		}
		p.parameterList()
		p.expect("(")
		if p.failed {
			return anything
		}
		p.pos = p.tokens[p.pos-1].match + 1
		p.expect("=>")
		p.typ()
		return &typ{form: functionVal}
	case "import":
		p.pos++
		p.skipBrackets("(")
		for p.take(".") {
			p.pos++
		}
		p.arguments()
		return anything
	}
	p.pos++
	name := t.text
	for p.is(".") && p.peek(1).kind == word {
		name += "." + p.peek(1).text
		p.pos += 2
	}
	return &typ{form: named, name: name, items: p.arguments()}
}

func (p *parser) bracket(t token) *typ {
	switch t.text {
	case "(":
		if after := t.match + 1; after < len(p.tokens) && p.tokens[after].text == "=>" {
			p.pos = after + 1
			p.typ()
			return &typ{form: functionVal}
		}
		p.pos++
		inner := p.typ()
		p.expect(")")
		return inner
	case "{":
		return p.object()
	case "[":
		return p.tuple()
	case "-":
		if next := p.peek(1); next.kind == number {
			p.pos += 2
			return numberLiteral(next.text, "-")
		}
	case "<": // a generic function
		p.parameterList()
		if p.is("(") {
			p.pos = p.peek(0).match + 1
			p.expect("=>")
			p.typ()
			return &typ{form: functionVal}
		}
	}
	p.failed = true
	return anything
}

func (p *parser) skipBrackets(open string) {
	if !p.is(open) {
		p.failed = true
		return
	}
	p.pos = p.peek(0).match + 1
}

// arguments reads <A, B>, if it is there.
func (p *parser) arguments() []*typ {
	if !p.is("<") || p.peek(0).line {
		return nil
	}
	p.pos++
	var out []*typ
	for !p.failed {
		out = append(out, p.typ())
		if !p.take(",") {
			break
		}
	}
	p.expect(">")
	return out
}

// parameterList reads <T extends A = B, …> of a declaration, if it is there.
func (p *parser) parameterList() (names []string) {
	if !p.take("<") {
		return nil
	}
	for !p.failed && !p.is(">") {
		for p.is("const", "in", "out") && p.peek(1).kind == word && p.peek(1).text != "extends" {
			p.pos++
		}
		if p.peek(0).kind != word {
			p.failed = true
			return names
		}
		names = append(names, p.peek(0).text)
		p.pos++
		if p.take("extends") {
			p.typ()
		}
		if p.take("=") {
			p.typ()
		}
		if !p.take(",") {
			break
		}
	}
	p.expect(">")
	return names
}
