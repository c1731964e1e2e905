package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Type is what a field holds.
type Type string

// The types of fields: those that the protocol allows in a form.
const (
	Text    Type = "text"
	Number  Type = "number"
	Integer Type = "integer"
	Yes     Type = "yes" // a boolean
	Choice  Type = "choice"
	Choices Type = "choices" // several of a list
)

// Field is one field of a form. Names, titles and descriptions are upstream
// text.
type Field struct {
	Name        string
	Type        Type
	Title       string
	Description string
	Required    bool
	Default     json.RawMessage // fits the field; nil: none
	Options     []Option        // of Choice and Choices
	Format      string          // of Text: email, uri, date, date-time; others are not looked at
	MinLength   *int            // of Text, in characters
	MaxLength   *int
	Minimum     *float64 // of Number and Integer
	Maximum     *float64
	MinItems    *int // of Choices
	MaxItems    *int

	pattern *regexp.Regexp // of Text
}

// Option is one of the values that a Choice may have.
type Option struct {
	Value string
	Title string // empty: the value speaks for itself
}

// property is the schema of one field, in all the shapes it may have.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Format      string          `json:"format"`
	Pattern     string          `json:"pattern"`
	MinLength   *int            `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *int            `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`
	Items       *options        `json:"items"`
	options
}

// options are the ways in which a list of values is written.
type options struct {
	Enum      []string `json:"enum"`
	EnumNames []string `json:"enumNames"` // titles, before 2025-11-25
	OneOf     []titled `json:"oneOf"`
	AnyOf     []titled `json:"anyOf"`
}

type titled struct {
	Const *string `json:"const"`
	Title string  `json:"title"`
}

// readFields reads a requested schema: one flat object. None at all asks for
// consent only, as a schema without properties does.
func readFields(schema json.RawMessage) ([]Field, error) {
	if !present(schema) {
		return nil, nil
	}
	var s struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("requestedSchema cannot be read: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("requestedSchema is not of type object")
	}
	names, schemas, err := members(s.Properties)
	if err != nil {
		return nil, fmt.Errorf("requestedSchema.properties cannot be read: %w", err)
	}
	if len(names) > MaxFields {
		return nil, fmt.Errorf("the form has more than %d fields", MaxFields)
	}
	fields := make([]Field, 0, len(names))
	for i, name := range names {
		f, err := readField(name, schemas[i])
		if err != nil {
			return nil, fmt.Errorf("field %.80q: %w", name, err)
		}
		f.Required = slices.Contains(s.Required, name)
		fields = append(fields, f)
	}
	for _, name := range s.Required {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("field %.80q is required and not described", name)
		}
	}
	return fields, nil
}

// members are those of an object in the order in which they stand.
func members(object json.RawMessage) (names []string, values []json.RawMessage, err error) {
	if !present(object) {
		return nil, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("it is not an object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, err
		}
		name, _ := key.(string) // keys are strings
		if slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("%.80q stands there twice", name)
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values, nil
}

func readField(name string, schema json.RawMessage) (Field, error) {
	var p property
	if err := json.Unmarshal(schema, &p); err != nil {
		return Field{}, fmt.Errorf("its schema is not one of the flat ones that a form may have: %w", err)
	}
	f := Field{
		Name: name, Title: p.Title, Description: p.Description, Format: p.Format,
		MinLength: p.MinLength, MaxLength: p.MaxLength, Minimum: p.Minimum, Maximum: p.Maximum,
		MinItems: p.MinItems, MaxItems: p.MaxItems,
	}
	var err error
	switch p.Type {
	case "string":
		if f.Options, err = p.list(); err != nil {
			return f, err
		}
		f.Type = Text
		if f.Options != nil {
			f.Type = Choice
		}
		if f.Type == Text && p.Pattern != "" {
			// The server's dialect may say what this one cannot; then it is left
			// to the server to refuse.
			f.pattern, _ = regexp.Compile(p.Pattern)
		}
	case "number":
		f.Type = Number
	case "integer":
		f.Type = Integer
	case "boolean":
		f.Type = Yes
	case "array":
		f.Type = Choices
		if p.Items != nil {
			f.Options, err = p.Items.list()
		}
		if err != nil || f.Options == nil {
			return f, fmt.Errorf("only a list of given values may be asked for: %w", orNothing(err))
		}
	default:
		return f, fmt.Errorf("type %.40q cannot be asked for", p.Type)
	}
	// A default that the field itself would refuse is no default.
	if present(p.Default) {
		if v, err := f.Check(p.Default); err == nil {
			f.Default = v
		}
	}
	return f, nil
}

func orNothing(err error) error {
	if err == nil {
		return fmt.Errorf("it names none")
	}
	return err
}

// list is what may be chosen; nil when the schema gives no list.
func (o *options) list() ([]Option, error) {
	var out []Option
	switch all := slices.Concat(o.OneOf, o.AnyOf); {
	case len(o.Enum) > 0:
		for i, v := range o.Enum {
			option := Option{Value: v}
			if len(o.EnumNames) == len(o.Enum) {
				option.Title = o.EnumNames[i]
			}
			out = append(out, option)
		}
	case len(all) > 0:
		for _, t := range all {
			if t.Const == nil {
				return nil, fmt.Errorf("a value to choose has no const")
			}
			out = append(out, Option{Value: *t.Const, Title: t.Title})
		}
	}
	if len(out) > MaxChoices {
		return nil, fmt.Errorf("it has more than %d values to choose from", MaxChoices)
	}
	return out, nil
}
