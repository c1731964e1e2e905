package typegen

import (
	"fmt"
	"strings"
)

// Options of Declare.
type Options struct {
	// Checker makes declarations for a type checker instead of a reader: every
	// tool takes CallOptions and has its original name too, and a result that
	// nothing is known of is any instead of unknown. They need Globals beside them.
	Checker bool
}

// head says to a reader what declarations cannot.
const head = `// Tools by server, as programs call them: await tools.<namespace>.<tool>(args).
// Result types are those that the servers declare (output schemas), or were learned from results,
// which is said there; Promise<unknown> means neither. tools.<namespace>["original-name"] works as well.
`

// Declare writes the declarations of the tools: a namespace for each server,
// with a function for each tool, and tools itself. The text always parses, and
// a TypeScript compiler finds no mistake in it. Warnings name the parts of
// schemas that could not be used, as server/tool, place and reason.
func Declare(spaces []Namespace, o Options) (text string, warnings []string) {
	w := &declarer{o: o, names: map[string]bool{}}
	for _, s := range spaces {
		w.names[s.Name] = true
	}
	if !o.Checker {
		w.WriteString(head)
	}
	var all []string
	for _, s := range spaces {
		all = append(all, w.space(s))
	}
	w.WriteString("declare const tools: {\n")
	for i, s := range spaces {
		fmt.Fprintf(w, "  readonly %s: %s;\n", Property(s.Name), all[i])
	}
	w.WriteString("};\n")
	return w.String(), w.warnings
}

type declarer struct {
	strings.Builder
	o        Options
	names    map[string]bool // of what stands at top level
	warnings []string
	more     int // warnings that are not kept
}

// space writes one namespace and gives the type of its value.
func (w *declarer) space(s Namespace) string {
	p := &printer{}
	if doc := lines(s.Server, maxValue); s.Server != s.Name {
		p.comment([]string{"Server " + quote(strings.Join(doc, " ")) + "."}, 0)
	}
	switch {
	case !s.Listed && w.o.Checker:
		if s.Bare {
			w.WriteString("declare const " + s.Name + ": any;\n")
		}
		return "any"
	case !s.Listed:
		w.WriteString("// The tools of " + s.Name + " are not known: its server could not be listed.\n")
		return "unknown"
	case len(s.Tools) == 0:
		if s.Bare {
			w.WriteString("declare const " + s.Name + ": {};\n")
		}
		return "{}"
	}
	name, open, function := s.Name, "declare namespace %s {\n", "function "
	value := "typeof " + name
	if !s.Bare { // a namespace would be a value of that name
		for name += "_tools"; w.names[name]; {
			name += "_"
		}
		w.names[name] = true
		open, function, value = "interface %s {\n", "", name
	}
	fmt.Fprintf(p, open, name)
	var types strings.Builder // of the tools of an interface, which holds none itself
	for _, t := range s.Tools {
		var d declaration
		room := maxText - w.Len() - p.Len() - types.Len()
		if room > 0 {
			d = w.tool(s, t, function, name)
		}
		if len(d.text)+len(d.types) > room {
			w.warn(s, t, fmt.Sprintf("left without types: the whole has more than %d bytes", maxText))
			d = declaration{text: "  " + function + t.Ident + "(args?: Record<string, unknown>): Promise<" + w.nothing() + ">;\n"}
		}
		p.WriteString(d.text)
		if s.Bare {
			p.WriteString(d.types)
		} else {
			types.WriteString(d.types)
		}
		if w.o.Checker && t.hasOriginal() && !s.Bare {
			fmt.Fprintf(p, "  readonly %s: %s[%s];\n", quote(t.Name), name, quote(t.Ident))
		}
	}
	p.WriteString("}\n")
	w.WriteString(p.String())
	if types.Len() > 0 {
		w.WriteString("declare namespace " + name + " {\n" + types.String() + "}\n")
	}
	if !s.Bare || !w.o.Checker {
		return value
	}
	return value + w.originals(s)
}

// originals are the original names of a namespace's tools.
func (w *declarer) originals(s Namespace) string {
	var b strings.Builder
	for _, t := range s.Tools {
		if t.hasOriginal() {
			fmt.Fprintf(&b, "readonly %s: typeof %s.%s; ", quote(t.Name), s.Name, t.Ident)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return " & { " + b.String() + "}"
}

// hasOriginal reports whether a program finds a tool by its own name besides the
// identifier. The language asks every object for some names, and no engine has
// a tool there: `await tools.ns` would call one named "then".
func (t Tool) hasOriginal() bool {
	switch t.Name {
	case t.Ident, "then", "toJSON", "toString", "valueOf":
		return false
	}
	return true
}

// nothing is the type of a result that no schema describes.
func (w *declarer) nothing() string {
	if w.o.Checker {
		return "any"
	}
	return "unknown"
}

// declaration is one tool: its function, and the types that need a name.
type declaration struct{ text, types string }

// tool writes one tool; one that is too long without documentation, and then
// without the insides of its types.
func (w *declarer) tool(s Namespace, t Tool, function, space string) declaration {
	warn := func(which string) func(at, why string) {
		return func(at, why string) {
			where := which
			if at != "" {
				where += " at " + at
			}
			w.warn(s, t, where+": "+why)
		}
	}
	used := map[string]bool{}
	args, defs := word(""), []*def(nil)
	if !absent(t.Input) {
		args, defs = build(t.Input, used, warn("input"))
	}
	result := word(w.nothing())
	// What was only learned binds nobody: a checker must not refuse what the
	// server may well give the next time.
	if !absent(t.Output) && (t.Learned == 0 || !w.o.Checker) {
		var more []*def
		result, more = build(t.Output, used, warn("output"))
		defs = append(defs, more...)
	}
	for _, bare := range []bool{false, true} {
		if d, ok := w.write(t, function, space, args, result, defs, bare); ok {
			return d
		}
	}
	w.warn(s, t, fmt.Sprintf("its types have more than %d bytes and are left out", maxTool))
	d, _ := w.write(t, function, space, outside(args), outside(result), nil, true)
	return d
}

// outside is a type without what is in it.
func outside(e *expr) *expr {
	switch e.kind {
	case atom:
		if len(e.text) < maxNote {
			return e
		}
	case object:
		return &expr{kind: object, rest: unknown()}
	case array, tuple:
		return &expr{kind: array, parts: []*expr{unknown()}}
	}
	return unknown()
}

func (w *declarer) write(t Tool, function, space string, args, result *expr, defs []*def, bare bool) (declaration, bool) {
	// Types stand beside the functions. No name of a schema has a "_", so that
	// what is before the last one is the tool.
	p := &printer{bare: bare, limit: maxTool, prefix: t.Ident + "_"}
	if function == "" {
		p.prefix = space + "." + p.prefix
	}
	if !bare {
		p.comment(about(t), 1)
	}
	p.put("  " + function + t.Ident)
	if w.o.Checker {
		p.put("<Options extends CallOptions = {}>")
	}
	p.put("(" + parameter(args))
	if !args.isWord("") {
		p.typ(args, 1)
	} else {
		p.put("Record<string, unknown>")
	}
	open, closed := "Promise<", ">"
	if w.o.Checker {
		p.put(", options?: Options")
		open, closed = "Promise<Returned<", ", Options>>"
	}
	p.put("): " + open)
	p.typ(result, 1)
	p.put(closed + ";\n")
	text := p.String()

	types := &printer{bare: bare, limit: maxTool, prefix: p.prefix}
	for _, d := range defs {
		if d.uses == 0 || d.inlined() {
			continue
		}
		if !bare {
			types.comment(d.doc, 1)
		}
		types.put("  type " + t.Ident + "_" + d.name + " = ")
		types.typ(d.body, 1)
		types.put(";\n")
	}
	return declaration{text, types.String()}, !p.over && !types.over
}

// about is a tool's documentation.
func about(t Tool) []string {
	out := lines(t.Description, maxDoc)
	if title := oneLine(t.Title, maxValue); title != "" && len(out) == 0 {
		out = []string{title}
	}
	if t.Learned > 0 {
		out = append(out, "The type of its result was learned from "+results(t.Learned)+", not declared.")
	}
	if !isObvious(t) {
		out = append(out, "Named "+oneLine(quote(t.Name), maxValue)+" by its server.")
	}
	return out
}

func results(n int) string {
	if n == 1 {
		return "1 result"
	}
	return fmt.Sprintf("%d results", n)
}

// isObvious reports whether a tool's identifier is its name but for characters
// that no identifier has.
func isObvious(t Tool) bool {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '/' || r == ' ' || r == ':' {
			return '_'
		}
		return r
	}, t.Name) == t.Ident
}

// parameter begins the parameter of a tool, which is optional where nothing
// must be given.
func parameter(args *expr) string {
	if needed(args) {
		return "args: "
	}
	return "args?: "
}

func needed(args *expr) bool {
	for args.kind == reference {
		args = args.def.body
	}
	switch args.kind {
	case atom:
		return args.text != "" && args.text != "unknown"
	case object:
		for _, m := range args.members {
			if !m.optional {
				return true
			}
		}
		return false
	}
	return true
}

func (w *declarer) warn(s Namespace, t Tool, what string) {
	if len(w.warnings) < maxWarnings {
		w.warnings = append(w.warnings, s.Server+"/"+t.Name+", "+what)
		return
	}
	if w.more++; w.more == 1 {
		w.warnings = append(w.warnings, "")
	}
	w.warnings[maxWarnings] = fmt.Sprintf("and %d more", w.more)
}
