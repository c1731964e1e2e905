package signature

import (
	"slices"
	"strings"
)

// docText is what a JSDoc comment says.
type docText struct {
	text       string
	parameters map[string]docParameter
	result     *typ // of @returns {type}
	tags       map[string]bool
}

type docParameter struct {
	text     string
	value    *typ // nil: not said
	optional bool
}

// parseDoc reads a comment with its stars.
func parseDoc(comment string) docText {
	out := docText{parameters: map[string]docParameter{}, tags: map[string]bool{}}
	if comment == "" {
		return out
	}
	body := strings.TrimSuffix(strings.TrimPrefix(comment, "/**"), "*/")
	tag := ""
	var entry []string
	flush := func() {
		said := strings.TrimSpace(strings.Join(entry, "\n"))
		entry = nil
		switch tag {
		case "":
			out.text = said
		case "description", "desc", "summary":
			if out.text == "" {
				out.text = said
			}
		case "param", "arg", "argument":
			out.parameter(said)
		case "returns", "return":
			out.result, _ = docType(&said)
		case "deprecated":
			out.text = strings.TrimSpace("Deprecated. " + out.text)
		default:
			out.tags[strings.ToLower(tag)] = true
		}
	}
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSpace(strings.TrimSuffix(line, "\r"))
		line = strings.TrimSpace(strings.TrimPrefix(line, "*"))
		if name, rest, _ := strings.Cut(strings.TrimPrefix(line, "@"), " "); strings.HasPrefix(line, "@") && name != "" {
			flush()
			tag, line = name, rest
		}
		entry = append(entry, line)
	}
	flush()
	return out
}

// parameter reads "{type} [name=default] - description".
func (d *docText) parameter(said string) {
	var p docParameter
	p.value, p.optional = docType(&said)
	name := said
	if strings.HasPrefix(said, "[") {
		end := strings.IndexByte(said, ']')
		if end < 0 {
			return
		}
		name, said = said[1:end], said[end+1:]
		name, _, _ = strings.Cut(name, "=")
		p.optional = true
	} else if cut := strings.IndexAny(said, " \t\n"); cut >= 0 {
		name, said = said[:cut], said[cut:]
	} else {
		said = ""
	}
	p.text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(said), "-"))
	d.parameters[strings.TrimSpace(name)] = p
}

// docType takes "{type}" off the front of said; nil when it is not there or not
// understood. "{type=}" is an optional one.
func docType(said *string) (t *typ, optional bool) {
	if !strings.HasPrefix(*said, "{") {
		return nil, false
	}
	depth, end := 0, -1
	for i, c := range *said {
		if c == '{' {
			depth++
		} else if c == '}' {
			if depth--; depth == 0 {
				end = i
				break
			}
		}
	}
	if end < 0 {
		return nil, false
	}
	written := (*said)[1:end]
	*said = strings.TrimSpace((*said)[end+1:])
	written, optional = strings.CutSuffix(strings.TrimSpace(written), "=")
	tokens, err := scan(written)
	if err != nil || len(tokens) == 0 {
		return nil, optional
	}
	p := &parser{tokens: tokens}
	if t = p.typ(); p.failed || p.pos != len(tokens) {
		return nil, optional
	}
	return t, optional
}

// describe gives the properties of a function's one argument the descriptions of
// "@param input.name" and, where the names are taken out at once, "@param name".
func (d docText) describe(argument string, s *shape) {
	for i, m := range s.members {
		if m.doc != "" {
			continue
		}
		names := []string{m.name}
		if argument != "" {
			names = []string{argument + "." + m.name}
		}
		for _, name := range slices.Concat(names, []string{"props." + m.name, "options." + m.name, "input." + m.name, "args." + m.name}) {
			if said := d.parameters[name]; said.text != "" {
				s.members[i].doc = "/** " + strings.ReplaceAll(said.text, "*/", "") + " */"
				if m.value == anything && said.value != nil {
					s.members[i].value = said.value
				}
				break
			}
		}
	}
}
