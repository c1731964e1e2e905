package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxExplain bounds the search for the place of a mistake; after it the place
// is the part that was reached.
const maxExplain = 500 * time.Millisecond

// maxWords bounds how many alternatives one message tells about.
const maxWords = 3

// maxMistakes bounds how many mistakes of one value are told.
const maxMistakes = 5

// check holds a value against the schema. The error says why it was not.
func (c *checker) check(raw []byte) (bad []Violation, err error) {
	if !c.affordable(raw) {
		return nil, errors.New("checking this value would take too many steps")
	}
	var v any
	if err := json.Unmarshal(raw, &v); errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil, errors.New("a number is too large")
	} else if err != nil {
		return []Violation{{Message: "is not valid JSON"}}, nil
	}
	defer func() {
		if r := recover(); r != nil { // an odd schema must never fail a call
			bad, err = nil, errors.New(clip(fmt.Sprint(r)))
		}
	}()
	if err := c.whole.Validate(v); err != nil {
		e := &explainer{checker: c, known: map[string]*jsonschema.Resolved{}, until: time.Now().Add(maxExplain)}
		return e.mistakes(0, v, err), nil
	}
	return nil, nil
}

// explainer finds the place of a mistake. The validator names the schemas it
// went through, but of the value not which part it looked at.
type explainer struct {
	*checker
	known map[string]*jsonschema.Resolved
	until time.Time
}

// refusal is what the schema at a path has against a value, if anything; late
// is that there was no time left to ask.
func (e *explainer) refusal(path string, v any) (refused error, late bool) {
	if time.Now().After(e.until) {
		return nil, true
	}
	r, ok := e.known[path]
	if !ok {
		var err error
		if r, err = e.resolve(path); err != nil {
			return nil, true
		}
		e.known[path] = r
	}
	return r.Validate(v), false
}

// explain follows a refusal of v to the part that it is about.
func (e *explainer) explain(err error, v any) Violation {
	trail, errs := e.trail(err)
	last := len(trail) - 1
	for i := range last {
		outer := &e.nodes[trail[i]]
		for _, p := range outer.parts {
			if p.node != trail[i+1] || p.kind == same || p.kind == aside {
				continue
			}
			if p.node != outer.ref { // else it went one of two ways
				if at, err := e.culprit(e.concerned(outer, p, v), errs[i+1]); at != nil {
					bad := e.explain(err, at.value)
					bad.Pointer = "/" + pointerEscape.Replace(at.key) + bad.Pointer
					return bad
				}
			}
			return Violation{Message: clip("a part of it does not match " + p.step[1:])}
		}
	}
	leaf, schema := errors.Unwrap(errs[last]).Error(), &e.nodes[trail[last]]
	if strings.HasPrefix(leaf, "anyOf:") || strings.HasPrefix(leaf, "oneOf: did not") {
		return e.alternatives(schema, leaf[:5], v)
	}
	return Violation{Message: clip(complaint(leaf, schema.schema, v)), Advice: advice(leaf, schema.schema, v)}
}

// culprit is the first part that is refused, and why. When it is none of the
// others it is the last one: that it was refused, with err, is known.
func (e *explainer) culprit(parts []child, err error) (*child, error) {
	for i := range parts {
		if i == len(parts)-1 {
			return &parts[i], err
		}
		if refused, late := e.refusal(parts[i].path, parts[i].value); refused != nil {
			return &parts[i], refused
		} else if late {
			break
		}
	}
	return nil, nil
}

// trail takes the validator's error apart: the schemas from the outside in, each
// with what it reported. What that says of the value is never looked through.
func (e *explainer) trail(err error) (nodes []int, errs []error) {
	for inner := errors.Unwrap(err); inner != nil; err, inner = inner, errors.Unwrap(inner) {
		head := strings.TrimSuffix(err.Error(), ": "+inner.Error())
		if path, ok := strings.CutPrefix(head, "validating "+holder); ok {
			nodes, errs = append(nodes, e.at[path]), append(errs, err)
		}
	}
	return nodes, errs
}

// child is a part of a value, with the schema that it is held against.
type child struct {
	key   string
	value any
	path  string
}

// concerned lists what p may have been applied to when it refused. Properties
// are looked at in another order each time: those before p's are to be told
// instead, if they are refused as well.
func (e *explainer) concerned(n *subschema, p part, v any) (out []child) {
	keyword, name, _ := strings.Cut(p.step[1:], "/")
	object, _ := v.(map[string]any)
	list, _ := v.([]any)
	switch keyword {
	case "properties":
		for _, other := range n.parts {
			key := pointerUnescape.Replace(strings.TrimPrefix(other.step, "/properties/"))
			if value, ok := object[key]; ok && other.kind == property {
				out = append(out, child{key, value, n.path + other.step})
			}
			if other.step == p.step {
				break
			}
		}
	case "patternProperties", "additionalProperties":
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if keyword[0] == 'p' && matches(pointerUnescape.Replace(name), key) || keyword[0] == 'a' && additional(n.schema, key) {
				out = append(out, child{key, object[key], n.path + p.step})
			}
		}
	case "items", "prefixItems":
		for i := range list {
			if p.kind == element && i >= len(n.schema.PrefixItems) || strconv.Itoa(i) == name {
				out = append(out, child{strconv.Itoa(i), list[i], n.path + p.step})
			}
		}
	}
	return out
}

// additional reports whether additionalProperties is about a property.
func additional(s *jsonschema.Schema, key string) bool {
	_, listed := s.Properties[key]
	for pattern := range s.PatternProperties {
		listed = listed || matches(pattern, key)
	}
	return !listed
}

func matches(pattern, s string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(s)
}

// alternatives tells what each one has against v. Where all but one are meant
// for another type of value, the mistake is in that one.
func (e *explainer) alternatives(n *subschema, keyword string, v any) Violation {
	var meant, all []Violation
	for _, p := range n.parts {
		if !strings.HasPrefix(p.step, "/"+keyword+"/") {
			continue
		}
		if refused, _ := e.refusal(n.path+p.step, v); refused != nil {
			bad := e.explain(refused, v)
			all = append(all, bad)
			if bad.Pointer != "" || !strings.HasPrefix(bad.Message, "got ") {
				meant = append(meant, bad)
			}
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	if len(meant) == 0 {
		meant = all
	}
	var told []string
	for _, bad := range meant[:min(len(meant), maxWords)] {
		told = append(told, strings.TrimPrefix(bad.Pointer+": "+bad.Message, ": "))
	}
	return Violation{Message: clip(strings.TrimSuffix("matches no alternative: "+strings.Join(told, "; "), ": "))}
}

// complaint says what a schema has against a value: in the validator's words,
// but for those that repeat the value or come in any order.
func complaint(leaf string, s *jsonschema.Schema, v any) string {
	keyword, rest, _ := strings.Cut(leaf, ":")
	switch keyword {
	case "type":
		want := s.Types
		if s.Type != "" {
			want = []string{s.Type}
		}
		return "got " + received(v) + ", want " + strings.Join(want, " or ")
	case "enum":
		return "got " + received(v) + ", value must be one of " + asJSON(s.Enum)
	case "required":
		return strings.TrimSpace(rest)
	case "not":
		if asJSON(s) == "false" {
			return "is not allowed"
		}
		return "not: matches what it must not match"
	case "oneOf":
		return "oneOf: matches more than one alternative"
	case "contains":
		return "contains: no item matches"
	case "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern":
		var limits map[string]json.RawMessage
		_ = json.Unmarshal([]byte(asJSON(s)), &limits)
		return keyword + ": got " + received(v) + ", want " + string(limits[keyword])
	}
	if object, ok := v.(map[string]any); ok && strings.HasPrefix(leaf, "unexpected additional properties") {
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(object)), func(key string) bool { return !additional(s, key) })
		return fmt.Sprintf("additional properties %q not allowed", keys)
	}
	return leaf
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(raw)
}

// clip makes one line of a text, and a short one.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return text
}
