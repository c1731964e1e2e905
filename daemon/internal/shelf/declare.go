package shelf

import (
	"regexp"
	"strings"
	"sync"

	"tenon/proto"
)

// Proto is a script as the wire has it, without its code.
func (s Script) Proto() proto.Script {
	out := proto.Script{
		Name: s.Name, Description: s.Description, Examples: s.Examples, Engine: s.Engine, File: s.File, Where: s.Where,
		Shadowed: s.Shadowed, Problem: s.Problem, Signature: s.Signature(),
	}
	for _, p := range s.Params {
		out.Params = append(out.Params, proto.ScriptParam{
			Name: p.Name, Type: p.Type.TS(), Required: p.Required, Default: p.Default, Description: p.Description,
		})
	}
	return out
}

// Call is how a program calls the script, without its input.
func (s Script) Call() string { return "run(" + string(quoted(s.Name)) + ")" }

// Signature is how a program calls the script, with the types of its input.
func (s Script) Signature() string {
	input := s.inputType(" ", "", false)
	if input != "" {
		input = ", " + input
	}
	return "run(" + string(quoted(s.Name)) + input + "): Promise<any>"
}

// Declaration is an overload of run for the script, in TypeScript, with its
// description and parameters. It always parses.
func (s Script) Declaration() string {
	var b strings.Builder
	var notes []string
	if s.Description != "" {
		notes = append(notes, s.Description)
	}
	for _, x := range s.Examples {
		notes = append(notes, "@example "+x)
	}
	b.WriteString(comment("", strings.Join(notes, "\n")))
	b.WriteString("declare function run(name: " + string(quoted(s.Name)))
	switch input := s.inputType("\n", "  ", true); {
	case input == "":
		b.WriteString(", input?: any")
	case s.needsInput():
		b.WriteString(", input: " + input)
	default:
		b.WriteString(", input?: " + input)
	}
	b.WriteString("): Promise<any>;\n")
	return b.String()
}

// Member is the script as a member of the interface SavedScripts, by which a
// type checker holds the input of run against it.
func (s Script) Member() string {
	input := s.inputType(" ", "", false)
	switch {
	case input == "":
		input = "[input?: any]"
	case s.needsInput():
		input = "[input: " + input + "]"
	default:
		input = "[input?: " + input + "]"
	}
	return "  " + string(quoted(s.Name)) + ": " + input + ";\n"
}

// needsInput is whether a call without input fails.
func (s Script) needsInput() bool {
	for _, p := range s.Params {
		if p.Required && p.Default == nil {
			return true
		}
	}
	return false
}

// inputType is the type of the input; empty: the script declares none.
func (s Script) inputType(separator, indent string, notes bool) string {
	if len(s.Params) == 0 {
		return ""
	}
	var parts []string
	for _, p := range s.Params {
		name := p.Name
		if !identifier().MatchString(name) {
			name = string(quoted(name))
		}
		if !p.Required || p.Default != nil {
			name += "?"
		}
		text := indent + name + ": " + p.Type.TS()
		if notes {
			words := p.Description
			if p.Default != nil {
				words = strings.TrimSpace(words + "\n@default " + string(p.Default))
			}
			text = comment(indent, words) + text
		}
		parts = append(parts, text)
	}
	if separator == " " {
		return "{ " + strings.Join(parts, "; ") + " }"
	}
	return "{\n" + strings.Join(parts, ";\n") + ";\n}"
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`) })

// comment is a text as JSDoc before a line; none for no text.
func comment(indent, text string) string {
	text = strings.ReplaceAll(text, "*/", "*\u200b/") // it would end the comment
	if strings.TrimSpace(text) == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return indent + "/** " + text + " */\n"
	}
	out := indent + "/**\n"
	for _, line := range lines {
		out += indent + strings.TrimRight(" * "+line, " ") + "\n"
	}
	return out + indent + " */\n"
}

// Words are the names of the parameters and what is said about them, for a
// search.
func (s Script) Words() []string {
	var out []string
	for _, p := range s.Params {
		out = append(out, p.Name)
	}
	return out
}
