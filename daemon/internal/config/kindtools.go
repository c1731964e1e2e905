package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// commandKeys are the keys of a tool that only servers of kind command have.
var commandKeys = []string{"command", "description", "input", "output", "stdin", "cwd", "exitCodes", "options"}

func noCommandTools(server string, tools *node) error {
	for _, tool := range tools.members {
		for _, field := range tool.value.members {
			if slices.Contains(commandKeys, field.name) {
				return &placed{at: field.at, message: fmt.Sprintf("server %s: tools.%s.%s needs \"kind\": \"command\"", server, tool.name, field.name)}
			}
		}
	}
	return nil
}

// readCommands reads the tools of a server of kind command. An entry without a
// command line is the settings of a tool that is not there.
func (k *KindSpec) readCommands(server string, tools *node) error {
	k.Command = &CommandSpec{}
	if k.Sandbox == "" {
		k.Sandbox = "full"
	}
	for _, m := range tools.members {
		tool, err := readCommand(m)
		if err != nil {
			return err
		}
		k.Command.Tools = append(k.Command.Tools, tool)
	}
	if len(k.Command.Tools) == 0 {
		return badAt(tools, "server %s: kind command needs at least one tool", server)
	}
	slices.SortFunc(k.Command.Tools, func(a, b CommandTool) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func readCommand(m member) (CommandTool, error) {
	t := CommandTool{Name: m.name, Output: defaultOf("servers.*.tools.*.output"), ExitCodes: []int{0}}
	n := m.value
	command := n.get("command")
	if m.name == "" || len(m.name) > 128 {
		return t, &placed{at: m.at, message: "a tool's name has 1 to 128 bytes"}
	}
	if command == nil {
		return t, &placed{at: m.at, message: "tools." + m.name + ": command is missing", hint: `"command": ["program", "--flag", "{name}"]`}
	}
	if command.kind == stringNode {
		t.Command = []string{command.text}
		if strings.ContainsAny(strings.TrimSpace(command.text), " \t") {
			p := badAt(command, "tools.%s.command: a command line is a list of words: no shell reads it", m.name)
			list, _ := json.Marshal(strings.Fields(command.text)) // texts always marshal
			p.hint = `"command": ` + string(list)
			return t, p
		}
	} else {
		t.Command, _ = command.strings()
	}
	if len(t.Command) == 0 || t.Command[0] == "" {
		return t, badAt(command, "tools.%s.command is empty", m.name)
	}
	for _, field := range n.members {
		switch field.name {
		case "description":
			t.Description = field.value.text
		case "stdin":
			t.Stdin = field.value.text
		case "cwd":
			t.Cwd = field.value.text
		case "output":
			t.Output = field.value.text
		case "exitCodes":
			t.ExitCodes = nil
			for _, item := range field.value.items {
				code, _ := item.integer()
				t.ExitCodes = append(t.ExitCodes, int(code))
			}
		case "options":
			t.Options = field.value.text == "true"
		}
	}
	if err := noCode(t, m); err != nil {
		return t, err
	}
	uses, err := placeholdersOf(t, m)
	if err != nil {
		return t, err
	}
	return t, t.readInput(n.get("input"), m, uses)
}

// Placeholder is what stands in braces in a word of a command:
//
//	{name}        the value, which must be given
//	{?name}       the value; without one the whole word is left out
//	{name...}     {?name...}: the word once for each item of a list
//	{?name:TEXT}  TEXT, when the value is given and not false
//
// "{{" and "}}" are the braces themselves.
type Placeholder struct {
	Name     string
	Optional bool
	Repeated bool
	Text     string // of the last form, which HasText tells
	HasText  bool
}

// Piece is a part of a word: literal text, or a placeholder.
type Piece struct {
	Literal string
	Value   *Placeholder
}

var placeholderForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\?)?([A-Za-z_][A-Za-z0-9_-]*)(\.\.\.)?(?::(.*))?$`)
})

// ParseWord reads a word of a command.
func ParseWord(word string) ([]Piece, error) {
	var out []Piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, Piece{Literal: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case (c == '{' || c == '}') && i+1 < len(word) && word[i+1] == c:
			text.WriteByte(c)
			i++
		case c == '{':
			end := strings.IndexByte(word[i:], '}')
			if end < 0 {
				return nil, fmt.Errorf(`"{" has no "}" in %q; a brace itself is written {{`, word)
			}
			m := placeholderForm().FindStringSubmatch(word[i+1 : i+end])
			if m == nil {
				return nil, fmt.Errorf("%s is no placeholder: {name}, {?name}, {name...} or {?name:TEXT}; a brace itself is written {{", word[i:i+end+1])
			}
			p := &Placeholder{Optional: m[1] != "", Name: m[2], Repeated: m[3] != "", Text: m[4]}
			p.HasText = strings.Contains(word[i:i+end], ":")
			if p.HasText && (!p.Optional || p.Repeated) {
				return nil, fmt.Errorf("%s is no placeholder: text after a colon needs the form {?name:TEXT}", word[i:i+end+1])
			}
			flush()
			out = append(out, Piece{Value: p})
			i += end
		case c == '}':
			return nil, fmt.Errorf(`"}" has no "{" in %q; a brace itself is written }}`, word)
		default:
			text.WriteByte(c)
		}
	}
	flush()
	repeated := 0
	for _, p := range out {
		if p.Value != nil && p.Value.Repeated {
			repeated++
		}
	}
	if repeated > 1 {
		return nil, fmt.Errorf("%q repeats more than one list", word)
	}
	return out, nil
}

// placeholdersOf lists the placeholders of a tool, in order.
func placeholdersOf(t CommandTool, m member) ([]*Placeholder, error) {
	var out []*Placeholder
	words := append(slices.Clone(t.Command), t.Stdin)
	for i, word := range words {
		pieces, err := ParseWord(braced(word))
		if err != nil {
			return nil, badAt(m.value, "tools.%s.command: %s", m.name, err)
		}
		for _, piece := range pieces {
			if piece.Value == nil {
				continue
			}
			if i == 0 {
				return nil, badAt(m.value, "tools.%s.command: the program itself cannot be a placeholder", m.name)
			}
			out = append(out, piece.Value)
		}
	}
	return out, nil
}

// braced doubles the braces of the configuration's own placeholders, so that a
// word can be read before they are replaced.
func braced(word string) string {
	var out strings.Builder
	for i := 0; i < len(word); {
		if rest := word[i:]; own(rest) {
			if end := closing(rest); end >= 0 {
				out.WriteString(doubled(rest[:end+1]))
				i += end + 1
				continue
			}
		}
		out.WriteByte(word[i])
		i++
	}
	return out.String()
}

// own reports whether s begins with a placeholder of the configuration.
func own(s string) bool {
	return strings.HasPrefix(s, "${") || strings.HasPrefix(s, "{env:") || strings.HasPrefix(s, "{file:")
}

// word expands the configuration's placeholders in a word of a command. Braces
// in what they stand for are text.
func (x *expander) word(s *Server, field, word string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(word); {
		rest := word[i:]
		end := -1
		if own(rest) {
			end = closing(rest)
		}
		switch {
		case strings.HasPrefix(rest, "$${"):
			if end = closing(rest[1:]); end < 0 {
				end = 1
			}
			out.WriteString(doubled(rest[1 : end+2]))
			i += end + 2
			continue
		case end < 0:
			out.WriteByte(word[i])
			i++
			continue
		}
		value, err := x.field(s, field, rest[:end+1], false)
		if err != nil {
			return "", err
		}
		out.WriteString(doubled(value))
		i += end + 1
	}
	return out.String(), nil
}

// doubled is text as a word of a command has it: every brace twice.
func doubled(text string) string {
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
}
