package catalog

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// mistakes lists what is wrong with a value that the schema of node i refuses,
// for the reason known: of an object each property, of a list each item, so that
// one answer is enough to correct a call. Where a schema does not say which part
// it means, the reason is all there is. Late parts go untold, like those beyond
// maxMistakes.
func (e *explainer) mistakes(i int, v any, known error) (out []Violation) {
	n := &e.nodes[i]
	alone := n.ref >= 0 && e.dialect != "" // before 2019-09 nothing counts beside a $ref
	if object, ok := v.(map[string]any); ok && !alone {
		out = e.missing(n.schema, object)
	}
	for _, p := range n.parts {
		if len(out) >= maxMistakes || alone {
			break
		}
		if p.kind == same {
			if strings.HasPrefix(p.step, "/allOf/") {
				out = append(out, e.refused(p.node, v)...)
			}
			continue
		}
		for _, part := range e.concerned(n, p, v) {
			if p.kind == property && n.path+p.step != part.path {
				continue // one of the properties before it, which has had its turn
			}
			for _, bad := range e.refused(e.at[part.path], part.value) {
				if bad.Message == "is not allowed" && p.kind == member {
					continue // told once, by name, below
				}
				bad.Pointer = "/" + pointerEscape.Replace(part.key) + bad.Pointer
				out = append(out, bad)
			}
			if len(out) >= maxMistakes {
				break
			}
		}
	}
	if n.ref >= 0 && len(out) < maxMistakes {
		out = append(out, e.refused(n.ref, v)...)
	}
	if object, ok := v.(map[string]any); ok && !alone && n.schema.AdditionalProperties != nil && asJSON(n.schema.AdditionalProperties) == "false" {
		out = append(out, unknown(n.schema, object)...)
	}
	if len(out) == 0 {
		out = []Violation{e.explain(known, v)}
	}
	return firstFew(out)
}

// refused is mistakes for a value that may well be right.
func (e *explainer) refused(i int, v any) []Violation {
	err, _ := e.refusal(e.nodes[i].path, v)
	if err == nil {
		return nil
	}
	return e.mistakes(i, v, err)
}

// firstFew is the first few, each once.
func firstFew(list []Violation) []Violation {
	out := list[:0]
	for _, bad := range list {
		if len(out) < maxMistakes && !slices.Contains(out, bad) {
			out = append(out, bad)
		}
	}
	return out
}

// missing tells of properties that must be there, and of one that looks like it.
func (e *explainer) missing(s *jsonschema.Schema, object map[string]any) []Violation {
	var names []string
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	bad := Violation{Message: clip("missing properties: " + quotedList(names))}
	if len(s.Properties) == 0 {
		return []Violation{bad}
	}
	var strays []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if additional(s, key) {
			strays = append(strays, key)
		}
	}
	for _, name := range names {
		if near := Nearest(name, strays, 1); len(near) > 0 {
			bad.Advice = strconv.Quote(near[0]) + " is no property: did you mean " + strconv.Quote(name) + "?"
			break
		}
	}
	return []Violation{bad}
}

// unknown tells of properties that a closed object does not have, and which one
// may have been meant.
func unknown(s *jsonschema.Schema, object map[string]any) []Violation {
	var strays, free []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if additional(s, key) {
			strays = append(strays, key)
		}
	}
	if len(strays) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if _, given := object[key]; !given {
			free = append(free, key)
		}
	}
	bad := Violation{Message: clip("additional properties " + quotedList(strays) + " not allowed")}
	var advice []string
	for _, key := range strays[:min(len(strays), maxWords)] {
		if near := Nearest(key, free, 1); len(near) > 0 {
			advice = append(advice, strconv.Quote(key)+": did you mean "+strconv.Quote(near[0])+"?")
		}
	}
	switch {
	case len(advice) > 0:
		bad.Advice = clip(strings.Join(advice, " "))
	case len(free) > 0:
		bad.Advice = clip("there are " + strings.Join(free, ", "))
	case len(s.Properties) == 0:
		bad.Advice = "it has no properties"
	}
	return []Violation{bad}
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return "[" + strings.Join(quoted, " ") + "]"
}

// advice is what to write instead of a value of the wrong type or outside an
// enumeration. Nothing is converted on the way to a server: that "5" was meant
// to be 5 is the caller's to say.
func advice(leaf string, s *jsonschema.Schema, v any) string {
	keyword, _, _ := strings.Cut(leaf, ":")
	switch keyword {
	case "type":
		want := s.Types
		if s.Type != "" {
			want = []string{s.Type}
		}
		return conversion(want, v)
	case "enum":
		text, ok := v.(string)
		if !ok {
			break
		}
		var words []string
		for _, one := range s.Enum {
			if word, ok := one.(string); ok {
				words = append(words, word)
			}
		}
		if near := Nearest(text, words, 1); len(near) > 0 {
			return "did you mean " + strconv.Quote(near[0]) + "?"
		}
	}
	return ""
}

// conversion says how a value is written as one of the types that are wanted.
func conversion(want []string, v any) string {
	if text, ok := v.(string); ok {
		var inner any
		if json.Unmarshal([]byte(text), &inner) == nil && fits(want, inner) {
			switch inner.(type) {
			case map[string]any, []any:
				return "give the " + typeOf(inner) + " itself, not its text"
			}
			return "write " + short(strings.TrimSpace(text)) + " without quotes"
		}
	}
	switch v.(type) {
	case float64, bool:
		if text := received(v); slices.Contains(want, "string") && text != typeOf(v) {
			return "write " + strconv.Quote(text)
		} else if slices.Contains(want, "string") {
			return "write it in quotes"
		}
	case nil:
		return "leave it out where there is nothing to say"
	}
	if _, list := v.([]any); !list && slices.Contains(want, "array") {
		if text := received(v); text != typeOf(v) {
			return "write [" + text + "]"
		}
		return "put it into a list"
	}
	return ""
}

// fits reports whether a value is of one of the types.
func fits(types []string, v any) bool {
	kind := typeOf(v)
	if n, ok := v.(float64); ok && n == float64(int64(n)) && slices.Contains(types, "integer") {
		return true
	}
	return slices.Contains(types, kind)
}

// received is a value as a message shows it: numbers, texts and the like as
// they are, short; of others the type.
func received(v any) string {
	switch v := v.(type) {
	case string:
		return short(asJSON(v))
	case float64:
		if math.Abs(v) < 1<<53 { // else it may not be the number that was given
			return asJSON(v)
		}
	case bool:
		return asJSON(v)
	}
	return typeOf(v)
}

// short is at most some 60 bytes of a value's text.
func short(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
