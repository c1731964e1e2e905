package typegen

import (
	"bytes"
	"encoding/json"
	"strings"

	"tenon/daemon/internal/legible"
)

// notesOf is what a property's documentation says; that of the schema which it
// refers to where it says nothing itself.
func (b *builder) notesOf(v *value) []string {
	own := notes(v, maxNote)
	if v.get("description").str() != "" {
		return own
	}
	if ref := refOf(v); ref != "" {
		if target, why := b.follow(ref, b.legacy); why == "" {
			if text := target.get("description").str(); text != "" {
				return append(lines(text, maxNote), own...)
			}
		}
	}
	return own
}

// notes is the documentation of a schema, line by line: its description, then
// what its other words say about the value. The description is cut at max
// characters.
func notes(v *value, max int) []string {
	if v == nil || v.kind != '{' {
		return nil
	}
	text := v.get("description").str()
	if text == "" {
		text = v.get("title").str()
	}
	out := lines(text, max)
	if d := v.get("default"); d != nil {
		out = append(out, "@default "+written(d))
	}
	for _, name := range []string{"format", "pattern", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "contentEncoding", "contentMediaType"} {
		if w := v.get(name); w != nil && (w.kind == '"' && w.text != "" || w.kind == '0') && !common(name, w.text) {
			out = append(out, "@"+name+" "+oneLine(w.text, maxValue))
		}
	}
	if v.get("deprecated").is(true) {
		out = append(out, "@deprecated")
	}
	for i, e := range v.get("examples").list() {
		if i == 3 {
			break
		}
		out = append(out, "@example "+written(e))
	}
	if e := v.get("example"); e != nil {
		out = append(out, "@example "+written(e))
	}
	return out
}

// common reports whether a word says what every integer of JavaScript has:
// generators of schemas write the limits of a double.
func common(name, text string) bool {
	return strings.HasSuffix(strings.ToLower(name), "imum") && strings.HasSuffix(text, "9007199254740991")
}

// lines are the lines of a text that may stand in a comment, without those that
// are empty at either end.
func lines(text string, max int) []string {
	text = strings.TrimSpace(plain(text))
	if text == "" {
		return nil
	}
	if r := []rune(text); len(r) > max {
		text = string(r[:max]) + "…"
	}
	out := strings.Split(text, "\n")
	for i, line := range out {
		out[i] = strings.TrimRight(line, " \t")
	}
	return out
}

// plain makes a text fit for a comment: it cannot end one, has no line ends but
// "\n", and nothing that a model would read and a person not see.
func plain(text string) string {
	text = legible.Drop(text)
	// Twice: what is left after the first may be one again, as in "**//".
	for strings.Contains(text, "*/") {
		text = strings.ReplaceAll(text, "*/", `*\/`)
	}
	return text
}

func oneLine(text string, max int) string {
	text = strings.Join(strings.Fields(plain(text)), " ")
	if r := []rune(text); len(r) > max {
		text = string(r[:max-1]) + "…"
	}
	return text
}

// written is a value as JSON, on one line.
func written(v *value) string {
	var b strings.Builder
	write(&b, v)
	return oneLine(b.String(), maxValue)
}

func write(b *strings.Builder, v *value) {
	if b.Len() > 4*maxValue { // the rest would be cut
		return
	}
	switch v.kind {
	case '"':
		b.WriteString(quote(v.text))
	case '[':
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, item)
		}
		b.WriteByte(']')
	case '{':
		b.WriteByte('{')
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(v.names[i]))
			b.WriteString(": ")
			write(b, item)
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.text)
	}
}

// quote writes a string literal. JSON's is one of TypeScript too; what shows
// nothing by itself is an escape in it.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return string(legible.JSON([]byte(strings.TrimSuffix(b.String(), "\n"))))
}

// Property is a property's name as TypeScript has it, quoted where it must be.
func Property(name string) string {
	plain := name != ""
	for i, r := range name {
		letter := r == '_' || r == '$' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			plain = false
			break
		}
	}
	if plain && name != "__proto__" && name != "constructor" {
		return name
	}
	return quote(name)
}
