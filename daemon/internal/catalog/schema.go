package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// lazySchema is one compiled schema, compiled at the first call of its tool.
// A schema that cannot be compiled checks nothing; note says so.
type lazySchema struct {
	once   sync.Once
	schema *jsonschema.Schema
	note   string
}

// Violation is what is wrong with a value: where, and in the schema's words.
type Violation struct {
	Pointer string // JSON pointer; empty: the value itself
	Message string
}

// CheckInput checks a call's arguments (a JSON object) against the tool's input
// schema. Note is a warning when the schema could not be used, so that nothing
// was checked. The check needs no network and no file, and always ends.
func (t *Tool) CheckInput(args []byte) (bad *Violation, note string) {
	return check(&t.input, t.InputSchema, args, "input")
}

// CheckOutput is CheckInput for a result's structured content; a tool without
// an output schema accepts everything.
func (t *Tool) CheckOutput(value []byte) (bad *Violation, note string) {
	return check(&t.output, t.OutputSchema, value, "output")
}

func check(l *lazySchema, raw, value []byte, which string) (*Violation, string) {
	if absent(raw) {
		return nil, ""
	}
	l.once.Do(func() {
		var err error
		if l.schema, err = compile(raw); err != nil {
			l.note = fmt.Sprintf("the %s schema cannot be used, nothing was checked: %v", which, err)
		}
	})
	if l.schema == nil {
		return nil, l.note
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &Violation{Message: "is not valid JSON"}, ""
	}
	return validate(l.schema, v), ""
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

// validate finds the first violation. References that lead back to themselves
// without reaching a value are no violation of the value.
func validate(s *jsonschema.Schema, v any) (bad *Violation) {
	defer func() {
		if recover() != nil { // an odd schema must never fail a call by itself
			bad = nil
		}
	}()
	err := s.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	leaves := leavesOf(invalid, nil)
	if len(leaves) == 0 {
		return nil
	}
	printer := message.NewPrinter(language.English)
	out := &Violation{Pointer: pointer(leaves[0].InstanceLocation)}
	seen := map[string]bool{}
	var words []string
	for _, leaf := range leaves {
		text := leaf.ErrorKind.LocalizedString(printer)
		if at := pointer(leaf.InstanceLocation); at != out.Pointer {
			text = at + ": " + text
		}
		if !seen[text] {
			seen[text] = true
			words = append(words, text)
		}
		if len(words) == maxWords {
			break
		}
	}
	out.Message = strings.Join(words, "; ")
	return out
}

// maxWords bounds how many violations one message tells.
const maxWords = 3

// leavesOf collects the errors that have no cause of their own.
func leavesOf(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			out = leavesOf(cause, out)
		}
		return out
	}
	if _, cycle := e.ErrorKind.(*kind.RefCycle); cycle {
		return out
	}
	return append(out, e)
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(location []string) string {
	var b strings.Builder
	for _, token := range location {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(token))
	}
	return b.String()
}

// compile compiles a schema without reaching for anything outside of it.
func compile(raw []byte) (s *jsonschema.Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("schema: %v", r)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	if costOf(doc) > maxCost {
		return nil, errors.New("it takes too many steps to check a value against it")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	c.UseRegexpEngine(lenient)
	const url = "tool:///schema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, shorten(err)
	}
	s, err = c.Compile(url)
	if err != nil {
		return nil, shorten(err)
	}
	return s, nil
}

// closed refuses every reference that leads out of the schema.
type closed struct{}

func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s is not followed", url)
}

// lenient compiles a pattern; one that Go's syntax does not know (look-ahead,
// back-references) accepts everything, rather than losing the whole check.
func lenient(s string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return anything(s), nil
	}
	return re, nil
}

type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }

// shorten keeps one line of a compiler's message.
func shorten(err error) error {
	text := strings.TrimSpace(strings.ReplaceAll(err.Error(), "\n", " "))
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return errors.New(text)
}

// Property describes the top-level property that a pointer leads into: its
// description as the schema gives it, or empty.
func (t *Tool) Property(at string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	if name == "" {
		return ""
	}
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
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
