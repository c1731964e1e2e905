package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// lazySchema is one compiled schema, compiled at the first call of its tool.
// A schema that cannot be compiled checks nothing; note says so.
type lazySchema struct {
	once   sync.Once
	schema *checker
	note   string
}

// Violation is what is wrong with a value: where, and in the schema's words.
type Violation struct {
	Pointer string // JSON pointer (RFC 6901); empty: the value itself
	Message string // one line
	Advice  string // what to write instead, where that can be told; or empty
}

// CheckInput checks a call's arguments (a JSON object) against the tool's input
// schema: nothing is converted, and what would have to be is told. Of many
// mistakes the first few are told. Note is a warning when the schema could not
// be used, so that nothing was checked. The check needs no network and no file,
// and always ends.
func (t *Tool) CheckInput(args []byte) (bad []Violation, note string) {
	return check(&t.input, t.InputSchema, args, "input")
}

// CheckOutput is CheckInput for a result's structured content; a tool without
// an output schema accepts everything.
func (t *Tool) CheckOutput(value []byte) (bad []Violation, note string) {
	return check(&t.output, t.OutputSchema, value, "output")
}

// DeclaresOutput reports whether the tool has an output schema, which a result
// without structured content then breaks.
func (t *Tool) DeclaresOutput() bool {
	raw := bytes.TrimSpace(t.OutputSchema)
	return len(raw) > 0 && string(raw) != "null"
}

func check(l *lazySchema, raw, value []byte, which string) ([]Violation, string) {
	if absent(raw) {
		return nil, ""
	}
	unusable := func(err error) string {
		return fmt.Sprintf("the %s schema cannot be used, nothing was checked: %v", which, err)
	}
	l.once.Do(func() {
		var err error
		if l.schema, err = compile(raw); err != nil {
			l.note = unusable(err)
		}
	})
	if l.schema == nil {
		return nil, l.note
	}
	bad, err := l.schema.check(value)
	if err != nil {
		return nil, fmt.Sprintf("the %s was not checked: %v", which, err)
	}
	return bad, ""
}

// absent reports whether there is no schema: none given, null, or one that
// accepts everything in so many words.
func absent(raw []byte) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", "true", `{"type":"object"}`:
		return true
	}
	return false
}

// Property describes the top-level property that a pointer leads into: its
// description as the schema gives it, or empty.
func (t *Tool) Property(at string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	if name == "" {
		return ""
	}
	name = pointerUnescape.Replace(name)
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.InputSchema, &schema) != nil {
		return ""
	}
	var p struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(schema.Properties[name], &p) // a property may be true or false
	return p.Description
}
