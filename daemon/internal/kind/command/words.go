package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tenon/daemon/internal/config"
)

// word is one word of a command line, read.
type word []config.Piece

// arguments are what a call gives, with the defaults of the schema.
type arguments map[string]json.RawMessage

func readArguments(text, schema json.RawMessage) (arguments, error) {
	args := arguments{}
	if err := json.Unmarshal(text, &args); err != nil {
		return nil, fmt.Errorf("arguments are no object: %w", err)
	}
	var in struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &in) == nil {
		for name, p := range in.Properties {
			if _, given := args[name]; !given && p.Default != nil {
				args[name] = p.Default
			}
		}
	}
	return args, nil
}

// has reports whether a value was given; null is none.
func (a arguments) has(name string) bool {
	v, ok := a[name]
	return ok && string(v) != "null"
}

// text is a value as a word of a command line has it: a string as it is, all
// else as JSON, numbers as they were written.
func text(value json.RawMessage) (string, error) {
	out := string(value)
	if len(value) > 0 && value[0] == '"' {
		if err := json.Unmarshal(value, &out); err != nil {
			return "", err
		}
	} else {
		var compact bytes.Buffer
		if json.Compact(&compact, value) == nil {
			out = compact.String()
		}
	}
	if strings.ContainsRune(out, 0) {
		return "", fmt.Errorf("it holds a NUL character, which no command line can")
	}
	return out, nil
}

// words is what a word comes to: none, one, or one for each item of a list.
// guarded refuses one that begins with - where that comes from a value.
func (w word) words(args arguments, guarded bool) ([]string, error) {
	turns := 1
	var items []json.RawMessage
	for _, piece := range w {
		p := piece.Value
		if p == nil {
			continue
		}
		if !args.has(p.Name) {
			if p.Optional {
				return nil, nil
			}
			return nil, fmt.Errorf("argument %s is missing", p.Name)
		}
		if p.HasText && string(args[p.Name]) == "false" {
			return nil, nil
		}
		if p.Repeated {
			if err := json.Unmarshal(args[p.Name], &items); err != nil {
				return nil, fmt.Errorf("argument %s is no list", p.Name)
			}
			turns = len(items)
		}
	}
	out := make([]string, 0, turns)
	for i := range turns {
		var b strings.Builder
		for _, piece := range w {
			p := piece.Value
			if p == nil || p.HasText {
				if p != nil {
					b.WriteString(p.Text)
				} else {
					b.WriteString(piece.Literal)
				}
				continue
			}
			value := args[p.Name]
			if p.Repeated {
				value = items[i]
			}
			said, err := text(value)
			if err != nil {
				return nil, fmt.Errorf("argument %s: %w", p.Name, err)
			}
			if guarded && b.Len() == 0 && strings.HasPrefix(said, "-") {
				return nil, fmt.Errorf("argument %s begins with -, and would be read as an option of the command", p.Name)
			}
			b.WriteString(said)
		}
		out = append(out, b.String())
	}
	return out, nil
}
