package script

import (
	"strings"

	"tenon/daemon/internal/fault"
)

// ImportHint is the hint of the error for a static import.
const ImportHint = "a program imports nothing at its top: call a tool as tools.<namespace>.<tool>(args); the engines deno, bun and node have await import(…)"

const defaultName = "__default"

// transformModule compiles a source with exports, which cannot stand in a
// function: the words are taken away from esbuild's output, so that plain
// statements remain. A default export that is a function is called with
// (input, { args }); any other default export is the result. Without one, the
// last expression is. A static import is a ParseError.
func transformModule(source string, target Target) (*Program, error) {
	o := target.options()
	// An import of a value that is never used is an import all the same.
	o.TsconfigRaw = `{"compilerOptions":{"verbatimModuleSyntax":true}}`
	p := &Program{Above: 2}
	t, err := p.build(source, source, o)
	if err != nil {
		return nil, err
	}
	m := module{tail: t, program: p}
	if err := m.strip(); err != nil {
		return nil, err
	}
	if m.result == "" {
		t.list(0, len(t.tokens), false)
	}
	code, edits := apply(t.code, t.out)
	if m.result != "" {
		code += "return (typeof " + m.result + ` === "function" ? ` + m.result + "(" + inputName + ", { args: " + argsName + " }) : " + m.result + ");\n"
	}
	p.Code, p.Edits = moduleHead+code+moduleTail, edits
	return p, nil
}

type module struct {
	*tail
	program *Program
	result  string // the name of the default export, or empty
}

// strip removes the export of every top-level statement.
func (m *module) strip() error {
	for i := 0; i < len(m.tokens); i++ {
		if tok := m.tokens[i]; tok.first && tok.column == 0 {
			next := m.text(i + 1)
			switch m.text(i) {
			case "import":
				if next != "(" && next != "." {
					return m.imported(i)
				}
			case "export":
				if err := m.export(i, next); err != nil {
					return err
				}
			}
		}
		if match := m.tokens[i].match; match > i {
			i = match
		}
	}
	return nil
}

func (m *module) export(i int, next string) error {
	switch next {
	case "*":
		return m.imported(i)
	case "{":
		end := m.after(i + 1)
		if m.text(end) == "from" {
			return m.imported(i)
		}
		for k := i + 2; k < end; k++ {
			if m.text(k) == "as" && m.text(k+1) == "default" {
				m.result = m.text(k - 1)
			}
		}
		// The list stands on several lines when it is long; each is emptied.
		for k := i; k <= end; k++ {
			m.out = append(m.out, change{m.tokens[k].pos, m.tokens[k].end, ""})
		}
		return nil
	case "default":
		m.exportDefault(i)
		return nil
	}
	m.out = append(m.out, change{m.tokens[i].pos, m.tokens[i+1].pos, ""})
	return nil
}

// exportDefault keeps a named function or class as the declaration it is; it
// makes anything else a constant.
func (m *module) exportDefault(i int) {
	from, value := m.tokens[i].pos, i+2
	k := value
	if m.text(k) == "async" && m.text(k+1) == "function" {
		k++
	}
	declaration := m.text(k) == "function" || m.text(k) == "class"
	if declaration {
		k++
		if m.text(k) == "*" {
			k++
		}
		if name := m.text(k); m.tokens[k].kind == word && name != "extends" {
			m.result = name
			m.out = append(m.out, change{from, m.tokens[value].pos, ""})
			return
		}
	}
	m.result = defaultName
	m.out = append(m.out, change{from, m.tokens[value].pos, "const " + defaultName + " = "})
	if !declaration {
		return
	}
	// Printed without a semicolon, which the constant needs.
	for k < len(m.tokens) && (!m.tokens[k].first || m.tokens[k].column > 0) {
		if match := m.tokens[k].match; match > k {
			k = match
		}
		k++
	}
	m.insert(m.tokens[k-1].end, ";")
}

// imported is the error for a static import at index i.
func (m *module) imported(i int) error {
	e := fault.New(fault.ParseError, "modules cannot be imported").WithHint("%s", ImportHint)
	for k := i; k < len(m.tokens) && m.text(k) != ";"; k++ {
		if text := m.text(k); strings.HasPrefix(text, `"`) {
			e = fault.New(fault.ParseError, "the module %s cannot be imported", clip(text, 80)).WithHint("%s", ImportHint)
		}
	}
	line := m.program.Above + strings.Count(m.code[:m.tokens[i].pos], "\n") + 1
	if pos, ok := m.program.Position(line, m.tokens[i].column+1); ok {
		e.Position = &pos
	}
	return e
}
