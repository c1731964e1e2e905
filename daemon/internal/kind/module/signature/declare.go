package signature

import "slices"

// file is what one source file declares at its top level.
type file struct {
	path      string
	functions map[string]*function // nil: declared more than once, or not understood
	types     map[string]*declared
	exports   map[string]string   // exported name -> local name
	passed    map[string]imported // exported name -> where it comes from
	imports   map[string]imported // local name -> where it comes from
	all       []string            // modules of export * from
	order     []string            // exported names, as written
}

type imported struct{ module, name string }

// declared is an interface, an alias or an enum.
type declared struct {
	parameters []string
	value      *typ   // the body
	extends    []*typ // of an interface
	unknown    bool   // merged with something that is not understood
}

// function is one declaration of a function.
type function struct {
	doc        string
	generics   []string
	parameters []parameter
	result     *typ // nil: not written
}

type parameter struct {
	name     string // empty: a pattern
	pattern  *typ   // what a pattern of names says; anything for others
	value    *typ   // nil: not written
	optional bool
	rest     bool
	initial  string // JSON of a plain default value
}

// parse reads a source file. What it cannot read as a whole is an error.
func parse(path, source string) (*file, error) {
	tokens, err := scan(source)
	if err != nil {
		return nil, err
	}
	f := &file{
		path: path, functions: map[string]*function{}, types: map[string]*declared{},
		exports: map[string]string{}, passed: map[string]imported{}, imports: map[string]imported{},
	}
	p := &parser{tokens: tokens}
	for p.pos < len(tokens) {
		at := p.pos
		p.failed, p.depth = false, 0
		if !f.statement(p) {
			p.pos = at
		}
		if p.pos <= at { // go on behind this token, and what it opens
			p.pos = at + 1
			if m := tokens[at].match; m > at {
				p.pos = m + 1
			}
		}
	}
	return f, nil
}

// statement reads what begins at p; false when it is nothing of interest.
func (f *file) statement(p *parser) bool {
	doc, exported := p.peek(0).doc, false
	if p.is("import") {
		return f.importing(p)
	}
	if p.take("export") {
		exported = true
		switch {
		case p.is("*"):
			return f.exportAll(p)
		case p.is("{"), p.is("type") && p.peek(1).text == "{":
			return f.exportList(p)
		}
		if p.is("default") { // its name is not a tool's
			p.pos++
			exported = false
		}
		if d := p.peek(0).doc; d != "" {
			doc = d
		}
	}
	for p.is("declare", "async", "abstract") && p.peek(1).kind == word && !p.peek(1).line {
		p.pos++
	}
	named := p.peek(1).kind == word
	switch {
	case p.is("function"):
		return f.function(p, doc, exported)
	case p.is("const", "enum") && (p.is("enum") && named || p.peek(1).text == "enum"):
		p.take("const")
		return f.enum(p)
	case p.is("const", "let", "var") && named:
		return f.variable(p, doc, exported)
	case p.is("class", "namespace", "module") && named:
		// It may add to an interface of its name.
		f.define(p.peek(1).text, &declared{unknown: true}, false)
		p.pos += 2
		return true
	case p.is("interface") && named:
		return f.interfaces(p)
	case p.is("type") && named && !p.peek(1).line:
		return f.alias(p)
	}
	return false
}

func (f *file) export(local string) {
	f.exports[local] = local
	f.order = append(f.order, local)
}

func (f *file) importing(p *parser) bool {
	p.pos++
	typeOnly := p.is("type") && (p.peek(1).kind == word && p.peek(1).text != "from" || p.peek(1).text == "{")
	if typeOnly {
		p.pos++
	}
	type pair struct{ local, name string }
	var pairs []pair
	if p.peek(0).kind == word {
		pairs = append(pairs, pair{p.peek(0).text, "default"})
		p.pos++
		p.take(",")
	}
	if p.is("{") {
		for _, item := range f.names(p) {
			pairs = append(pairs, pair{item[1], item[0]})
		}
	}
	if !p.take("from") || p.peek(0).kind != text {
		return false
	}
	for _, one := range pairs {
		f.imports[one.local] = imported{p.peek(0).text, one.name}
	}
	p.pos++
	return true
}

// names reads { a, b as c }: pairs of what is there and what it is called.
func (f *file) names(p *parser) (out [][2]string) {
	end := p.peek(0).match
	for p.pos++; p.pos < end; p.pos++ {
		if p.is("type") && p.peek(1).kind == word && p.peek(1).text != "as" {
			p.pos++
		}
		if t := p.peek(0); t.kind == word || t.kind == text {
			pair := [2]string{t.text, t.text}
			if p.peek(1).text == "as" && p.pos+2 < end {
				pair[1] = p.peek(2).text
				p.pos += 2
			}
			out = append(out, pair)
		}
	}
	p.pos = end + 1
	return out
}

func (f *file) exportList(p *parser) bool {
	typeOnly := p.take("type")
	pairs := f.names(p)
	from := ""
	if p.is("from") && p.peek(1).kind == text {
		from = p.peek(1).text
		p.pos += 2
	}
	for _, pair := range pairs {
		switch {
		case pair[1] == "default":
		case from != "":
			f.passed[pair[1]] = imported{from, pair[0]}
		case !typeOnly:
			f.exports[pair[1]] = pair[0]
		}
		if !typeOnly {
			f.order = append(f.order, pair[1])
		}
	}
	return true
}

func (f *file) exportAll(p *parser) bool {
	p.pos++
	if p.take("as") {
		p.pos++
		return true
	}
	if p.take("from") && p.peek(0).kind == text {
		f.all = append(f.all, p.peek(0).text)
		p.pos++
	}
	return true
}

// declare notes a function; a second one of a name (an overload) makes both
// unknown.
func (f *file) declare(name string, fn *function) {
	if _, twice := f.functions[name]; twice {
		fn = nil
	}
	f.functions[name] = fn
}

func (f *file) function(p *parser, doc string, exported bool) bool {
	p.pos++
	p.take("*")
	name := p.peek(0)
	if name.kind != word {
		return false
	}
	p.pos++
	at := p.pos
	fn := p.function(doc)
	if p.failed {
		fn, p.pos = nil, at
	} else if p.is("{") {
		p.pos = p.peek(0).match + 1
	}
	f.declare(name.text, fn)
	if exported && !slices.Contains(f.order, name.text) {
		f.export(name.text)
	}
	return true
}

// variable reads const f = (a: string) => … and const f = function (…) { … }.
// Anything else is no function that is understood.
func (f *file) variable(p *parser, doc string, exported bool) bool {
	p.pos++
	name := p.peek(0).text
	p.pos++
	at := p.pos
	if exported {
		f.export(name)
	}
	if !p.take("=") {
		return true
	}
	p.take("async")
	if p.take("function") {
		p.take("*")
		if p.peek(0).kind == word {
			p.pos++
		}
	}
	var fn *function
	if p.is("(", "<") {
		fn = p.function(doc)
		if p.failed || !p.is("=>", "{") || p.is("{") && p.peek(-1).text == "=" {
			fn = nil
		}
	} else if p.peek(0).kind == word && p.peek(1).text == "=>" {
		fn = &function{doc: doc, parameters: []parameter{{name: p.peek(0).text}}}
	}
	p.failed, p.pos = false, at
	f.declare(name, fn)
	return true
}

// define notes a type; a second declaration of an interface adds to it, any
// other makes it unknown.
func (f *file) define(name string, d *declared, mayMerge bool) {
	have := f.types[name]
	switch {
	case have == nil:
		f.types[name] = d
	case mayMerge && !d.unknown && !have.unknown && have.value.form == objectForm && len(d.parameters) == 0 && len(have.parameters) == 0:
		have.value.members = append(have.value.members, d.value.members...)
		have.extends = append(have.extends, d.extends...)
		if have.value.index == nil {
			have.value.index = d.value.index
		}
	default:
		have.unknown = true
	}
}

func (f *file) interfaces(p *parser) bool {
	p.pos++
	name := p.peek(0).text
	p.pos++
	d := &declared{parameters: p.parameterList()}
	if p.take("extends") {
		for !p.failed {
			d.extends = append(d.extends, p.postfix())
			if !p.take(",") {
				break
			}
		}
	}
	if !p.is("{") {
		d.unknown = true
		f.define(name, d, false)
		return false
	}
	end := p.peek(0).match
	d.value = p.object()
	d.unknown = p.failed || d.value.form != objectForm
	f.define(name, d, true)
	p.pos = end + 1
	return true
}

func (f *file) alias(p *parser) bool {
	p.pos++
	name := p.peek(0).text
	p.pos++
	d := &declared{parameters: p.parameterList()}
	if !p.take("=") {
		return false
	}
	d.value = p.typ()
	next := p.peek(0)
	d.unknown = p.failed || !next.line && next.text != ";"
	f.define(name, d, false)
	return !p.failed
}

func (f *file) enum(p *parser) bool {
	p.pos++
	name := p.peek(0).text
	p.pos++
	if !p.is("{") {
		return false
	}
	end, next, known := p.peek(0).match, 0, true
	d := &declared{value: &typ{form: unionForm}}
	for p.pos++; p.pos < end; {
		p.pos++ // the member's name
		value := &typ{form: literal, json: itoa(next)}
		if p.take("=") {
			if p.peek(0).text == "-" || p.peek(0).kind == text || p.peek(0).kind == number {
				value = p.primary()
				known = true
			} else {
				value = nil
			}
		} else if !known {
			value = nil
		}
		if value == nil || value.form != literal || !p.is(",") && p.pos < end {
			d.unknown = true
			break
		}
		d.value.items = append(d.value.items, value)
		if next, known = atoi(value.json); known {
			next++
		}
		p.take(",")
	}
	f.define(name, d, false)
	p.pos = end + 1
	return true
}
