package typegen

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func one(input, output string) []Namespace {
	return []Namespace{{Server: "s", Name: "s", Bare: true, Listed: true, Tools: []Tool{
		{Name: "t", Ident: "t", Input: []byte(input), Output: []byte(output)},
	}}}
}

// declared is what a schema becomes as arguments, with the types that it needs.
func declared(t *testing.T, schema string) (string, []string) {
	t.Helper()
	text, warnings := Declare(one(schema, ""), Options{})
	parses(t, text)
	_, text, _ = strings.Cut(text, "declare namespace s {\n  function t(")
	text, _, _ = strings.Cut(text, "\n}\n")
	return strings.ReplaceAll(text, "): Promise<unknown>;", ""), warnings
}

// parses asks a parser of TypeScript that is not ours.
func parses(t *testing.T, text string) {
	t.Helper()
	r := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent})
	for _, e := range r.Errors {
		t.Errorf("line %d: %s: %s", e.Location.Line, e.Text, e.Location.LineText)
	}
}

func TestSchemasBecomeTypes(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, `args?: Record<string, unknown>`},
		{`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`, `args: { b: string; a?: number }`},
		{`{"type":"object","properties":{"x":true,"y":false}}`, `args?: { x?: unknown; y?: never }`},
		{`{"properties":{"v":{"enum":["red",null,42,true]}},"required":["v"]}`, `args: { v: "red" | null | 42 | true }`},
		{`{"properties":{"v":{"enum":[]}}}`, `args?: { v?: never }`},
		{`{"properties":{"v":{"type":["string","null"]},"w":{"type":"array","items":{"type":["string","number"]}}}}`,
			`args?: { v?: string | null; w?: (string | number)[] }`},
		{`{"properties":{"v":{"prefixItems":[{"type":"string"},{"type":"number"}],"items":false}}}`, `args?: { v?: [string?, number?] }`},
		{`{"properties":{"v":{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}}}`, `args?: { v?: [string?, ...number[]] }`},
		{`{"additionalProperties":{"type":"number"}}`, `args?: Record<string, number>`},
		{`{"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{"type":"number"}}`,
			`args: { a: string; [name: string]: number | string }`},
		{`{"properties":{"v":{"type":"string","nullable":true}}}`, `args?: { v?: string | null }`},
		{`{"properties":{"v":{"allOf":[{"properties":{"x":{"type":"string"}}},{"required":["x","y"]}]}}}`, `args?: { v?: { x: string; y: unknown } }`},
		{`{"properties":{"v":{"oneOf":[{"const":"a"},{"const":"b"},{"type":"object","properties":{"k":{"const":1}}}]}}}`,
			`args?: { v?: "a" | "b" | { k?: 1 } }`},
		{`{"properties":{"v":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"string"}}}`, `args?: { v?: string }`},
		{`{"properties":{"v":{"$ref":"#/definitions/tree%20node"}},"definitions":{"tree node":{"properties":{"kids":{"type":"array","items":{"$ref":"#/definitions/tree%20node"}}}}}}`,
			"args?: { v?: t_TreeNode }\n  type t_TreeNode = { kids?: t_TreeNode[] };"},
		{`{"type":"object","properties":{"kind":{"enum":["a","b"]}},"required":["kind"],"if":{"properties":{"kind":{"const":"a"}}},"then":{"properties":{"x":{"type":"string"}},"required":["x"]},"else":{"properties":{"x":{"type":"number"},"kind":{}}}}`,
			`args: { kind: "a" | "b"; x?: string | number }`},
		{`{"properties":{"v":{"type":"string"}},"dependentSchemas":{"v":{"properties":{"w":{"type":"boolean"}}}},"dependencies":{"v":["x"],"w":{"required":["y"]}}}`,
			`args?: { v?: string; w?: boolean; y?: unknown }`},
		{`{"properties":{"v":{"prefixItems":[{"type":"string"}],"unevaluatedItems":false}}}`, `args?: { v?: [string?] }`},
		{`{"properties":{"v":{"not":{}}}}`, `args?: { v?: never }`},
		{`{"properties":{"class":{},"a-b":{},"":{},"__proto__":{}}}`, `args?: { class?: unknown; "a-b"?: unknown; ""?: unknown; "__proto__"?: unknown }`},
		{`{"properties":{"v":{"propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"number"}}}}`, `args?: { v?: { a?: number; b?: number } }`},
	} {
		if got, _ := declared(t, c.schema); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.schema, got, c.want)
		}
	}
}

func TestDocumentationStandsAtToolsAndProperties(t *testing.T) {
	spaces := one(`{"type":"object","properties":{"p":{"type":"string","description":"Where.","default":"*/","format":"uri","deprecated":true,
		"examples":["a"]}}}`, `{"type":"object","properties":{"n":{"type":"number","description":"How many."}}}`)
	spaces[0].Tools[0].Description = "Reads */ a\r\nthing.\x00"
	text, _ := Declare(spaces, Options{})
	parses(t, text)
	for _, want := range []string{
		"  /**\n   * Reads *\\/ a\n   * thing.\n   */\n  function t(",
		"     * Where.\n     * @default \"*\\/\"\n     * @format uri\n     * @deprecated\n     * @example \"a\"\n     */\n    p?: string;",
		"    /** How many. */\n    n?: number;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in\n%s", want, text)
		}
	}
}

func TestWhatCannotBeUsedIsUnknownAndNamed(t *testing.T) {
	for _, c := range []struct{ schema, want, warning string }{
		{`{"properties":{"v":{"$ref":"#/$defs/none"}}}`, `v?: unknown`, `s/t, input at /properties/v/$ref: the reference "#/$defs/none" leads nowhere`},
		{`{"properties":{"v":{"$ref":"https://example.com/x"}}}`, `v?: unknown`, "is not fetched"},
		{`{"$ref":"#"}`, `args?: unknown`, "leads to itself"},
		{`{"$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"}]},"B":{"allOf":[{"$ref":"#/$defs/A"}]}},"properties":{"v":{"$ref":"#/$defs/A"}}}`,
			`args?: { v?: unknown }`, "input at /$defs/B: the schema is made of nothing but itself"},
		{`{"properties":null}`, `Record<string, unknown>`, "input at /properties: the properties are null"},
		{`{"properties":{"a/b":{"type":"strng"}}}`, `"a/b"?: unknown`, `input at /properties/a~1b/type: there is no type "strng"`},
		{`{"properties":{"v":5}}`, `v?: unknown`, "input at /properties/v: what stands here is no schema"},
		{`"text"`, `args?: unknown`, "input: what stands here is no schema"},
		{`{`, `args?: unknown`, "cannot be read"},
	} {
		got, warnings := declared(t, c.schema)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.schema, got, c.want)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.schema, warnings, c.warning)
		}
	}
}

// hostile are schemas that would take for ever, or all memory, if they were
// followed as they are written.
func hostile() map[string]string {
	chain, tree, wide, unions := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	for i := range 300 {
		fmt.Fprintf(tree, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
		fmt.Fprintf(unions, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"},{"allOf":[{"$ref":"#/$defs/d%d"}]}]},`, i, i+1, i+2, i+1)
	}
	for i := range 10_000 {
		fmt.Fprintf(wide, `"p%d":{"type":"object","properties":{"q":{"enum":["a","b"],"description":"%s"}}},`, i, strings.Repeat("x", 50))
	}
	return map[string]string{
		"chain":  `{"properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{` + chain.String() + `"d10000":{"type":"string"}}}`,
		"tree":   `{"properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{` + tree.String() + `"d300":{"type":"string"}}}`,
		"unions": `{"properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{` + unions.String() + `"d300":{"type":"string"},"d301":{"type":"null"}}}`,
		"wide":   `{"properties":{` + wide.String() + `"z":{}}}`,
		"deep":   strings.Repeat(`{"properties":{"v":`, 3_000) + `{}` + strings.Repeat(`}}`, 3_000),
		"arrays": strings.Repeat(`{"items":`, 120) + `{}` + strings.Repeat(`}`, 120),
		"enum":   `{"properties":{"v":{"enum":[` + strings.Repeat(`"value",`, 50_000) + `"last"]}}}`,
		"large":  `{"description":"` + strings.Repeat("x", 2<<20) + `"}`,
		"long":   `{"properties":{"` + strings.Repeat("k", 200_000) + `":{"const":"` + strings.Repeat("v", 200_000) + `"}}}`,
	}
}

func TestHostileSchemasEndSoonAndParse(t *testing.T) {
	for name, schema := range hostile() {
		t.Run(name, func(t *testing.T) {
			if !json.Valid([]byte(schema)) {
				t.Fatal("the schema of this test is no JSON")
			}
			began := time.Now()
			text, warnings := Declare(one(schema, schema), Options{})
			s := Short([]byte(schema), []byte(schema))
			if d := time.Since(began); d > time.Minute { // well under a second on a machine that does nothing else; what is not bounded takes for ever
				t.Errorf("took %s", d)
			}
			if len(text) > 2*maxTool+4096 || len(s.Param) > shortArgs+100 || len(s.Result) > shortResult+100 || len(warnings) > maxWarnings+1 {
				t.Errorf("text %d, signature %d and %d bytes, %d warnings", len(text), len(s.Param), len(s.Result), len(warnings))
			}
			parses(t, text)
			parses(t, "type P = ("+strings.ReplaceAll(s.Param, "…", "never")+") => "+strings.ReplaceAll(s.Result, "…", "never"))
		})
	}
}

func TestAChainOfReferencesLeadsToItsEnd(t *testing.T) {
	if got, warnings := declared(t, hostile()["chain"]); got != "args?: { v?: string }" || len(warnings) != 0 {
		t.Errorf("got %s, %q", got, warnings)
	}
}

func TestManyLargeToolsAreBounded(t *testing.T) {
	var properties strings.Builder
	for i := range 500 {
		fmt.Fprintf(&properties, `"p%d":{"type":"string","description":"%s"},`, i, strings.Repeat("x", 60))
	}
	schema := []byte(`{"properties":{` + properties.String() + `"z":{}}}`)
	tools := make([]Tool, 100)
	for i := range tools {
		name := fmt.Sprintf("t%d", i)
		tools[i] = Tool{Name: name, Ident: name, Input: schema, Description: strings.Repeat("words ", 2000)}
	}
	text, warnings := Declare([]Namespace{{Server: "s", Name: "s", Bare: true, Listed: true, Tools: tools}}, Options{})
	if len(text) > maxText+maxTool || len(text) < maxText/2 || len(warnings) == 0 || !strings.Contains(warnings[0], "left without types") {
		t.Errorf("%d bytes, %d warnings", len(text), len(warnings))
	}
	if strings.Count(text, "  function ") != len(tools) {
		t.Error("tools are missing")
	}
}

// oddTools are the fixtures that package catalog shows the TypeScript compiler.
func oddTools(t testing.TB) (out []Tool) {
	t.Helper()
	data, err := os.ReadFile("../catalog/testdata/odd.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name, Title, Description  string
		InputSchema, OutputSchema json.RawMessage
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		out = append(out, Tool{Name: one.Name, Title: one.Title, Description: one.Description, Input: one.InputSchema, Output: one.OutputSchema})
	}
	return out
}

// FuzzDeclare holds that no schema makes text that does not parse.
func FuzzDeclare(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"string","description":"*/","default":"\u2028"}}}`,
		`{"$defs":{"A":{"anyOf":[{"$ref":"#/$defs/B"},{"type":"null"}]},"B":{"properties":{"a":{"$ref":"#/$defs/A"}}}},"$ref":"#/$defs/A"}`,
		`{"prefixItems":[{"enum":["\"",1,null,{"x":[]}]}],"items":{"type":["string","array"]},"minItems":1}`,
		`{"patternProperties":{"^x":{"type":"number"}},"additionalProperties":{"$ref":"#"}}`,
		`{"allOf":[{"type":"object"},{"required":["q"]}],"oneOf":[true,false,{"const":-1e9}]}`,
		`{"$id":"a","$anchor":"b","$ref":"a#b","properties":{"":{"$dynamicRef":"#b"}}}`,
	} {
		f.Add(s, "Reads */ it.", "delete")
	}
	for _, odd := range oddTools(f) {
		f.Add(string(odd.Input), odd.Description, odd.Name)
		f.Add(string(odd.Output), odd.Title, odd.Name)
	}
	f.Fuzz(func(t *testing.T, schema, description, name string) {
		spaces := one(schema, schema)
		tool := &spaces[0].Tools[0]
		tool.Description, tool.Name, spaces[0].Server = description, name, description
		for _, bare := range []bool{true, false} {
			for _, checker := range []bool{true, false} {
				spaces[0].Bare = bare
				text, _ := Declare(spaces, Options{Checker: checker})
				parses(t, text)
			}
		}
		Short([]byte(schema), nil)
	})
}
