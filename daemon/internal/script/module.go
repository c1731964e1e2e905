package script

import (
	"maps"
	"slices"
	"strconv"
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
// last expression is. s.Export names another export to run in its place. A
// static import is a ParseError, but for that of a module in s.Modules.
func transformModule(s Source, target Target) (*Program, error) {
	p := &Program{Above: 2}
	t, err := p.module(s, target)
	if err != nil {
		return nil, err
	}
	m := module{tail: t, program: p, exports: map[string]string{}}
	if err := m.strip(); err != nil {
		return nil, err
	}
	if m.result = m.exports["default"]; s.Export != "" {
		if m.result = m.exports[s.Export]; m.result == "" {
			return nil, m.noExport(s.Export)
		}
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

// module compiles a source, with the modules that it imports taken in.
func (p *Program) module(s Source, target Target) (*tail, error) {
	if len(s.Modules) > 0 {
		return p.bundle(s, target)
	}
	o := target.options()
	// An import of a value that is never used is an import all the same.
	o.TsconfigRaw = `{"compilerOptions":{"verbatimModuleSyntax":true}}`
	source := Plain(s.Text)
	return p.build(source, source, o)
}

type module struct {
	*tail
	program *Program
	exports map[string]string // name to local name
	result  string            // the local name of what is run, or empty
}

// noExport is the failure for an export that is not there.
func (m *module) noExport(name string) error {
	known := slices.Sorted(maps.Keys(m.exports))
	e := fault.New(fault.UsageError, "there is no export %q", name)
	if len(known) == 0 {
		return e.WithHint("the program exports nothing: write export function %s(input) {…}", name)
	}
	return e.WithHint("it exports %s", clip(strings.Join(known, ", "), 300))
}

// strip removes the export of every top-level statement.
func (m *module) strip() error {
	for i := 0; i < len(m.tokens); i++ {
		if tok := m.tokens[i]; tok.first && tok.column == 0 {
			next := m.text(i + 1)
			switch m.text(i) {
			case "import":
				if end := m.types(i); end > i {
					m.out = append(m.out, change{m.tokens[i].pos, m.tokens[end].end, ""})
					continue
				}
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

// types is the index of the semicolon that ends an import of types alone, which is
// import {} from … by now; i where it is none.
func (m *module) types(i int) int {
	if m.text(i+1) == "{" && m.text(i+2) == "}" && m.text(i+3) == "from" && m.text(i+5) == ";" {
		return i + 5
	}
	return i
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
			switch m.text(k) {
			case ",", "as", "}":
				continue
			}
			switch {
			case m.text(k-1) == "as":
			case m.text(k+1) == "as":
				m.exports[m.name(k+2)] = m.text(k)
			default:
				m.exports[m.text(k)] = m.text(k)
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
	m.declared(i + 1)
	m.out = append(m.out, change{m.tokens[i].pos, m.tokens[i+1].pos, ""})
	return nil
}

// name is an export's name, which may be written as a string.
func (m *module) name(i int) string {
	text := m.text(i)
	if name, err := strconv.Unquote(text); err == nil {
		return name
	}
	return text
}

// declared notes what a declaration at index i exports; of several in one
// statement the first, and none of a pattern.
func (m *module) declared(i int) {
	switch m.text(i) {
	case "async":
		i++
	case "const", "let", "var", "function", "class":
	default:
		return
	}
	if i++; m.text(i) == "*" {
		i++
	}
	if i < len(m.tokens) && m.tokens[i].kind == word {
		m.exports[m.text(i)] = m.text(i)
	}
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
			m.exports["default"] = name
			m.out = append(m.out, change{from, m.tokens[value].pos, ""})
			return
		}
	}
	m.exports["default"] = defaultName
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
