package proto

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Schemas holds schema/*.json, the source that both languages are checked
// against (JSON Schema 2020-12, one file per file of types).
//
//go:embed schema/*.json
var Schemas embed.FS

// node is a schema, reduced to the words that schema/ uses. schema.ts walks the
// same words in the same order, so that both sides name the same mistake.
type node struct {
	Ref        string           `json:"$ref"`
	Type       typeWord         `json:"type"`
	Enum       []string         `json:"enum"`
	Const      *string          `json:"const"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	AnyOf      []*node          `json:"anyOf"`
	Additional *additional      `json:"additionalProperties"`

	file string // the schema file, against which Ref is read
}

// typeWord is "type": one word or several.
type typeWord []string

func (t *typeWord) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*t = make(typeWord, 1)
		return json.Unmarshal(data, &(*t)[0])
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// additional is "additionalProperties": false, or the schema of the values.
type additional struct{ values *node }

func (a *additional) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		return nil
	}
	return json.Unmarshal(data, &a.values)
}

// types finds the schema of each message type by its name. Reading the files
// takes about a millisecond, so it waits for the first message.
var types = sync.OnceValue(func() map[string]*node {
	out := map[string]*node{}
	files, err := Schemas.ReadDir("schema")
	if err != nil {
		panic(err) // embedded: cannot happen
	}
	for _, f := range files {
		data, err := Schemas.ReadFile("schema/" + f.Name())
		if err != nil {
			panic(err) // embedded: cannot happen
		}
		var doc struct {
			Defs map[string]*node `json:"$defs"`
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			panic(fmt.Errorf("schema/%s: %w", f.Name(), err)) // TestFixtures reads them all
		}
		for name, n := range doc.Defs {
			n.place(f.Name())
			out[name] = n
		}
	}
	return out
})

func (n *node) place(file string) {
	n.file = file
	for _, p := range n.Properties {
		p.place(file)
	}
	for _, a := range n.AnyOf {
		a.place(file)
	}
	if n.Items != nil {
		n.Items.place(file)
	}
	if n.Additional != nil && n.Additional.values != nil {
		n.Additional.values.place(file)
	}
}

// target follows "$ref", which names a type or a property of one:
// "result.json#/$defs/Error", "#/$defs/Error/properties/kind".
func (n *node) target() *node {
	if n.Ref == "" {
		return n
	}
	_, pointer, _ := strings.Cut(n.Ref, "#/$defs/")
	name, property, nested := strings.Cut(pointer, "/properties/")
	if nested {
		return types()[name].Properties[property]
	}
	return types()[name]
}

func (n *node) check(data json.RawMessage, path string) error {
	n = n.target()
	data = bytes.TrimSpace(data)
	if len(n.AnyOf) > 0 { // written for "or null" only
		if string(data) == "null" {
			return nil
		}
		return n.AnyOf[0].check(data, path)
	}
	if len(n.Type) == 0 && n.Const == nil {
		return nil // somebody else's content
	}
	if string(data) == "null" {
		return &FieldError{path, "must not be null"}
	}
	if n.Const != nil {
		return oneOf(data, []string{*n.Const}, path)
	}
	switch n.Type[0] {
	case "object":
		return n.checkObject(data, path)
	case "array":
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return &FieldError{path, "must be an array"}
		}
		for i, item := range items {
			if err := n.Items.check(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if !slices.ContainsFunc(n.Type, func(word string) bool { return is(word, data) }) {
		return &FieldError{path, "must be " + nameOf(n.Type)}
	}
	if n.Enum != nil {
		return oneOf(data, n.Enum, path)
	}
	return nil
}

func (n *node) checkObject(data json.RawMessage, path string) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return &FieldError{path, "must be an object"}
	}
	for _, name := range n.Required {
		if _, ok := members[name]; !ok {
			return &FieldError{join(path, name), "is missing"}
		}
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		member := n.Properties[name]
		if member == nil && n.Additional != nil {
			member = n.Additional.values
		}
		if member == nil {
			return &FieldError{join(path, name), "is not a known field"}
		}
		if err := member.check(members[name], join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

func is(word string, data json.RawMessage) bool {
	switch word {
	case "string":
		return data[0] == '"'
	case "boolean":
		return data[0] == 't' || data[0] == 'f'
	case "integer":
		var i int64
		return json.Unmarshal(data, &i) == nil
	default: // number
		var f float64
		return json.Unmarshal(data, &f) == nil
	}
}

func oneOf(data json.RawMessage, words []string, path string) error {
	var got string
	if json.Unmarshal(data, &got) == nil && slices.Contains(words, got) {
		return nil
	}
	return &FieldError{path, "must be one of " + strings.Join(words, ", ")}
}

func nameOf(t typeWord) string {
	names := map[string]string{"string": "a string", "boolean": "a boolean", "integer": "a whole number", "number": "a number"}
	out := make([]string, len(t))
	for i, word := range t {
		out[i] = names[word]
	}
	return strings.Join(out, " or ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
