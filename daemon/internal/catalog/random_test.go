package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/daemon/internal/typegen"
	"tenon/daemon/internal/upstream"
)

// dice makes schemas and names nobody would think of, the same ones each time.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// name is a name of a tool, a server or a property.
func (d dice) name() string {
	if d.IntN(3) == 0 {
		return pick(d, strings.Fields(awkward)...)
	}
	letters := []rune("aZ_$9-./ :*\\\"'`{}<>|&ßé\u0301\u200d\u202e\u2028🚀日ש٣\u2e2f\n\t\x00")
	var b strings.Builder
	for range 1 + d.IntN(10) {
		b.WriteRune(pick(d, letters...))
	}
	return b.String()
}

// text is something that stands in documentation.
func (d dice) text() string {
	return pick(d, "Reads it.", "*/ }", "a\u2028b\u2029c", "/* {@link x} */", "```ts\n}\n```", "\\", "", "\u0000\u202e", "`${x}`", "@deprecated", "*\u200b/", "**//**")
}

// value is any JSON value.
func (d dice) value(depth int) any {
	switch n := d.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return d.IntN(2) == 0
	case n == 2:
		return pick[any](d, 0, -1, 1.5, 1e300, 9007199254740993, json.Number("-0"), json.Number("1e-7"))
	case n < 6 || depth > 2:
		return pick(d, d.text(), d.name())
	case n == 6:
		return []any{d.value(depth + 1), d.value(depth + 1)}
	}
	return map[string]any{d.name(): d.value(depth + 1)}
}

// words are what a schema may say, and make what belongs there, or something else.
func (d dice) words(depth int) map[string]func() any {
	schema := func() any { return d.schema(depth + 1) }
	list := func() any {
		out := []any{}
		for range d.IntN(4) {
			out = append(out, schema())
		}
		return out
	}
	named := func() any {
		out := map[string]any{}
		for range d.IntN(4) {
			out[d.name()] = schema()
		}
		return out
	}
	values := func() any {
		out := []any{}
		for range d.IntN(5) {
			out = append(out, d.value(0))
		}
		return out
	}
	strs := func() any { return []any{d.name(), d.name()} }
	number := func() any { return pick[any](d, 0, 1, 3, -1, 2.5, 1e300) }
	flag := func() any { return d.IntN(2) == 0 }
	word := func() any { return d.text() }
	kind := func() any {
		return pick[any](d, "object", "array", "string", "number", "integer", "boolean", "null", "any", "file", "", []any{"object", "null"}, []any{"string", "array"}, []any{})
	}
	reference := func() any {
		return pick[any](d, "#", "#/$defs/a", "#/$defs/b", "#/definitions/c%20d", "#/properties/x", "#anchor", "#/none", "https://example.invalid/x", "", "#/$defs/a~1b")
	}
	return map[string]func() any{
		"type": kind, "properties": named, "patternProperties": named, "additionalProperties": schema, "unevaluatedProperties": schema,
		"propertyNames": schema, "required": strs, "items": pick(d, schema, list), "prefixItems": list, "additionalItems": schema,
		"unevaluatedItems": schema, "contains": schema, "allOf": list, "anyOf": list, "oneOf": list, "not": schema, "if": schema, "then": schema,
		"else": schema, "dependentSchemas": named, "dependentRequired": named, "dependencies": named, "enum": values, "const": func() any { return d.value(0) },
		"$ref": reference, "$dynamicRef": reference, "$recursiveRef": reference, "$anchor": func() any { return "anchor" },
		"$dynamicAnchor": func() any { return "anchor" }, "$id": func() any { return pick(d, "x.json", "https://example.invalid/x", "") },
		"$defs": named, "definitions": named, "nullable": flag, "deprecated": flag, "readOnly": flag, "title": word, "description": word,
		"default": func() any { return d.value(0) }, "examples": values, "example": func() any { return d.value(0) }, "format": word, "pattern": word,
		"minimum": number, "maximum": number, "exclusiveMinimum": pick(d, number, flag), "multipleOf": number, "minItems": number, "maxItems": number,
		"minLength": number, "uniqueItems": flag, "minProperties": number, "contentEncoding": word,
		"$schema": func() any {
			return pick(d, "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema")
		},
	}
}

func (d dice) schema(depth int) any {
	switch n := d.IntN(20); {
	case n == 0:
		return d.IntN(2) == 0
	case n == 1 && depth > 0:
		return d.value(1) // no schema at all
	case depth > 4:
		return map[string]any{"type": pick(d, "string", "number", "boolean")}
	}
	words := d.words(depth)
	names := slices.Sorted(maps.Keys(words)) // maps come in any order, and the dice must not
	out := map[string]any{}
	for range 1 + d.IntN(5) {
		name := pick(d, names...)
		if d.IntN(3) == 0 {
			name = pick(d, "type", "properties", "required", "items", "anyOf", "$ref", "enum")
		}
		if out[name] = words[name](); d.IntN(40) == 0 {
			out[name] = d.value(1)
		}
	}
	if depth == 0 {
		out["$defs"] = map[string]any{"a": d.schema(1), "b": d.schema(1), "a/b": d.schema(1)}
		out["definitions"] = map[string]any{"c d": d.schema(1)}
	}
	return out
}

func (d dice) raw() json.RawMessage {
	switch d.IntN(12) {
	case 0:
		return nil
	case 1:
		return json.RawMessage(pick(d, "null", "true", "false", "[]", `""`, "{"))
	}
	text, err := json.Marshal(d.schema(0))
	if err != nil {
		return nil
	}
	return text
}

// randomTools is how many the compiler is shown. It takes them in one go.
const randomTools = 400

func TestDeclarationsOfRandomSchemasAndNamesCompile(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	var entries []Entry
	var servers []string
	seen := map[string]bool{}
	for s := range 8 {
		server := d.name() + strconv.Itoa(s)
		names := map[string]bool{}
		var list []upstream.Tool
		for len(list) < randomTools/8 {
			name := d.name()
			if names[name] {
				continue
			}
			names[name] = true
			list = append(list, upstream.Tool{Name: name, Title: d.text(), Description: d.text(), InputSchema: d.raw(), OutputSchema: d.raw()})
		}
		servers = append(servers, server)
		entries = append(entries, Entry{Server: server, List: listOf(t, list)})
	}
	var program strings.Builder
	program.WriteString("/// <reference path=\"./checker.ts\" />\nexport const all = [\n")
	for i, name := range NamespaceNames(servers) {
		entries[i].Namespace = name
		if seen[name] {
			t.Fatalf("two servers are named %s", name)
		}
		seen[name] = true
		for _, tool := range entries[i].List.Tools {
			switch tool.Name {
			case "then", "toJSON", "toString", "valueOf":
				continue // no engine has a tool by these names
			}
			original, err := json.Marshal(tool.Name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&program, "  tools.%s.%s, tools.%s[%s],\n", name, tool.Ident, name, original)
		}
	}
	program.WriteString("];\n")
	reader, _ := typegen.Declare(Spaces(entries), typegen.Options{})
	checker, _ := typegen.Declare(Spaces(entries), typegen.Options{Checker: true})
	if len(reader) < 50_000 || len(checker) < 50_000 {
		t.Fatalf("the dice made nearly nothing: %d bytes", len(reader))
	}
	var short strings.Builder
	for _, e := range entries {
		for i, tool := range e.List.Tools {
			s := typegen.Short(tool.InputSchema, tool.OutputSchema)
			fmt.Fprintf(&short, "export type %s_%d = (%s) => %s;\n", e.Namespace, i, strings.ReplaceAll(s.Param, "…", "never"), strings.ReplaceAll(s.Result, "…", "never"))
		}
	}
	if got := mistakes(t, map[string]string{
		"reader.ts": reader, "checker.ts": checker, "globals.ts": typegen.Globals(), "checker-use.ts": program.String(), "short.ts": short.String(),
	}); got != "" {
		t.Error(got)
	}
}
