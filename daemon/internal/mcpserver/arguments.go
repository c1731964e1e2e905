package mcpserver

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
)

// read checks what a client sent for a tool of code mode, in the words that the
// plugins use. Errors are InvalidToolInput.
func (t gatewayTool) read(given json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(given) > 0 && string(given) != "null" {
		if err := json.Unmarshal(given, &out); err != nil {
			return nil, t.wrong("the arguments must be an object")
		}
	}
	for name, value := range out {
		a := t.argument(name)
		if a == nil {
			return nil, t.wrong("there is no argument %q%s", name, t.suggestion(name))
		}
		if want := a.mistake(value); want != "" {
			return nil, t.wrong("argument %q must be %s", name, want)
		}
	}
	for _, a := range t.args {
		if _, there := out[a.name]; a.required && !there {
			return nil, t.wrong("argument %q is missing", a.name)
		}
	}
	return out, nil
}

func (t gatewayTool) wrong(format string, args ...any) error {
	return fault.New(fault.InvalidToolInput, "%s: %s", t.name, fmt.Sprintf(format, args...))
}

func (t gatewayTool) argument(name string) *argument {
	for i := range t.args {
		if t.args[i].name == name {
			return &t.args[i]
		}
	}
	return nil
}

func (t gatewayTool) suggestion(name string) string {
	if len(t.args) == 0 {
		return "; it takes none"
	}
	var known []string
	for _, a := range t.args {
		known = append(known, a.name)
	}
	if near := catalog.Nearest(name, known, 1); len(near) == 1 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return "; it takes " + strings.Join(known, ", ")
}

// mistake says what a value should have been, or nothing.
func (a *argument) mistake(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return "JSON"
	}
	switch a.kind {
	case "string":
		if _, ok := v.(string); !ok {
			return "a string"
		}
	case "object":
		if _, ok := v.(map[string]any); !ok {
			return "an object"
		}
	case "array":
		list, ok := v.([]any)
		for _, e := range list {
			if _, text := e.(string); a.items == "string" && !text {
				ok = false
			}
		}
		if !ok {
			return "a list of strings"
		}
	case "number", "integer":
		n, ok := v.(float64)
		switch {
		case a.kind == "integer" && (!ok || n != math.Trunc(n)):
			return "a whole number"
		case !ok:
			return "a number"
		case a.min != nil && n < *a.min:
			return fmt.Sprintf("at least %v", *a.min)
		case a.max != nil && n > *a.max:
			return fmt.Sprintf("at most %v", *a.max)
		}
	}
	return ""
}

// get reads one argument that was checked; the zero value when it is absent.
func get[T any](given map[string]json.RawMessage, name string) T {
	var v T
	if data, ok := given[name]; ok {
		_ = json.Unmarshal(data, &v) // read has checked its type
	}
	return v
}
