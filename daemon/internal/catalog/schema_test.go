package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func compiled(t testing.TB, text string) *checker {
	t.Helper()
	c, err := compile([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func TestViolationsNameThePlace(t *testing.T) {
	tree := `{"type":"object","properties":{"v":{"type":"number"},"kids":{"type":"array","items":{"$ref":"#"}}},"required":["v"]}`
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":["object","null"]}`, `1`, ": got 1, want object or null"},
		{`{"required":["a","b"]}`, `{}`, `: missing properties: ["a" "b"]`},
		{`{"properties":{"a":{"properties":{"b/c":{"type":"string"}}}}}`, `{"a":{"b/c":1}}`, "/a/b~1c: got 1, want string"},
		{`{"properties":{"a: validating /x":{"type":"string"}}}`, `{"a: validating /x":5}`, "/a: validating ~1x: got 5, want string"},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":[": validating /properties/b: required: c"]}`, "/a: got array, want string"},
		{`{"properties":{"b":{"type":"string"},"a":{"minimum":1.5},"c":{"type":"null"}}}`, `{"a":1,"b":1,"c":1}`, "/a: minimum: got 1, want 1.5"},
		{`{"items":{"$ref":"#/$defs/x"},"$defs":{"x":{"maxLength":2}}}`, `["ab","abc"]`, "/1: maxLength: got \"abc\", want 2"},
		{`{"prefixItems":[true,{"type":"boolean"}],"items":{"type":"null"}}`, `[1,2]`, "/1: got 2, want boolean"},
		{`{"prefixItems":[true],"items":{"type":"null"}}`, `[1,null,2]`, "/2: got 2, want null"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","items":[true,{"type":"boolean"}]}`, `[1,2]`, "/1: got 2, want boolean"},
		{`{"additionalProperties":{"type":"integer"}}`, `{"x":1.0,"y":1.5}`, "/y: got 1.5, want integer"},
		{`{"additionalProperties":false,"properties":{"a":true}}`, `{"z":1,"b":1}`, `: additional properties ["b" "z"] not allowed`},
		{`{"properties":{"a":false}}`, `{"a":1}`, "/a: is not allowed"},
		{`{"patternProperties":{"^n/":{"exclusiveMinimum":0}}}`, `{"n/1":0}`, "/n~11: exclusiveMinimum: got 0, want 0"},
		{`{"properties":{"v":{"anyOf":[{"$ref":"#/$defs/m"},{"type":"null"}]}},"$defs":{"m":{"type":"object","properties":{"k":{"const":1}}}}}`, `{"v":{"k":2}}`, "/v/k: const: got 2, want 1"},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `5`, ": matches no alternative: got 5, want string; got 5, want array"},
		{`{"oneOf":[{"type":"integer"},{"minimum":0}]}`, `5`, ": oneOf: matches more than one alternative"},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, ": not: matches what it must not match"},
		{`{"if":{"required":["a"]},"then":{"properties":{"a":{"pattern":"^x"}}}}`, `{"a":"y"}`, `/a: pattern: got "y", want "^x"`},
		{`{"allOf":[{"properties":{"a":{"allOf":[{"$ref":"#/$defs/s"}]}}}],"$defs":{"s":{"type":"string"}}}`, `{"a":1}`, "/a: got 1, want string"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `: dependentRequired["a"]: missing properties ["b"]`},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, ": a part of it does not match propertyNames"},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`, `{"a":1,"b":2}`, ": a part of it does not match unevaluatedProperties"},
		{`{"enum":["red",null,[1]]}`, `[2]`, `: got array, value must be one of ["red",null,[1]]`},
		{`{"uniqueItems":true}`, `[{"a":1,"b":2},{"b":2.0,"a":1}]`, ": uniqueItems: array items 1 and 0 are equal"},
		{`{"properties":{"a~ b%25":{"type":"string"},"c":{"$ref":"#/properties/a~0%20b%2525"}}}`, `{"c":1}`, "/c: got 1, want string"},
		{tree, `{"v":1,"kids":[{"v":1},{"v":2,"kids":[{"v":3},{}]}]}`, `/kids/1/kids/1: missing properties: ["v"]`},
		{`{"type":"integer"}`, `{`, ": is not valid JSON"},
	} {
		for range 5 { // the validator goes through properties in another order each time
			bad, err := compiled(t, c.schema).check([]byte(c.value))
			if err != nil || len(bad) == 0 || bad[0].Pointer+": "+bad[0].Message != c.want {
				t.Errorf("%s of %s: %+v, %v; want %q", c.value, c.schema, bad, err, c.want)
				break
			}
		}
	}
}

func TestAMessageIsShort(t *testing.T) {
	long := strings.Repeat("x\\n", 5000)
	for _, schema := range []string{`{"maxLength":1}`, `{"pattern":"^y"}`, `{"enum":["a","` + long + `z"]}`, `{"type":"object"}`,
		`{"anyOf":[{"type":"object"},{"type":"null"}]}`, `{"const":"` + long + `y"}`, `{"not":{}}`} {
		bad, err := compiled(t, schema).check([]byte(`"` + long + `"`))
		if err != nil || len(bad) != 1 || len(bad[0].Message) > 210 || strings.Contains(bad[0].Message, "\n") {
			t.Errorf("%.40s: %.300v, %v", schema, bad, err)
		}
	}
}

func TestValuesThatAreFine(t *testing.T) {
	for _, c := range []struct{ schema, value string }{
		{`{"type":"integer"}`, `12345678901234567890123`},
		{`{"type":"integer","const":9007199254740993}`, `9007199254740993`},
		{`{"multipleOf":0.01}`, `4.35`},
		{`{"const":1e2}`, `100`},
		{`{"format":"email","contentEncoding":"base64"}`, `"?"`},
		{`{"properties":null,"required":null,"items":null}`, `{"a":1}`},
		{`{"items" : null}`, `[1]`},
		{`{"$id":"T0","properties":{"children":{"items":{"$ref":"#"}}}}`, `{"children":[{"children":[]}]}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","$ref":"#/definitions/a","type":"string","definitions":{"a":true}}`, `1`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","type":"object"}`, `{}`},
	} {
		if bad, err := compiled(t, c.schema).check([]byte(c.value)); bad != nil || err != nil {
			t.Errorf("%s of %s: %+v, %v", c.value, c.schema, bad, err)
		}
	}
}

func TestSchemasThatCannotBeUsedSayWhy(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                                  "unexpected end",
		`"text"`:                             "cannot unmarshal",
		`{"type":"strng"}`:                   `"strng" is not a type in #`,
		`{"properties":{"a":{"type":1}}}`:    "type",
		`{"anyOf":[]}`:                       "alternatives is empty",
		`{"patternProperties":{"(?!x)":{}}}`: "patternProperties",
		`{"$ref":"#/$defs/none"}`:            `"#/$defs/none" is not followed`,
		`{"$ref":"file:///etc/passwd"}`:      "is not followed",
		`{"$ref":"https://example.invalid/#","$id":"https://example.invalid/"}`: "is not followed",
		`{"$dynamicRef":"#a"}`:                             "dynamic reference",
		`{"$recursiveRef":"#"}`:                            "dynamic reference",
		`{"$defs":{"a":{"$id":"x"}}}`:                      "$id of its own",
		`{"$schema":"https://example.invalid/s"}`:          "dialect",
		`{"$ref":"#"}`:                                     "back to themselves",
		`{"oneOf":[{"$ref":"#"}]}`:                         "back to themselves",
		`{"not":{"$ref":"#"}}`:                             "back to themselves",
		`{"if":{"$ref":"#"}}`:                              "back to themselves",
		`{"then":{"$ref":"#"}}`:                            "back to themselves",
		`{"else":{"$ref":"#"}}`:                            "back to themselves",
		`{"dependentSchemas":{"a":{"$ref":"#"}}}`:          "back to themselves",
		`{"dependencies":{"a":{"$ref":"#"}}}`:              "back to themselves",
		`{"properties":{"a":{"$ref":"#/properties/%61"}}}`: "back to themselves",
		`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`: "back to themselves",
		strings.Repeat(`{"items":`, 600) + `true` + strings.Repeat(`}`, 600):  "too large",
		`{"title":"` + strings.Repeat("x", maxSchema) + `"}`:                  "too large",
	} {
		if _, err := compile([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s: %v; want %q", schema, err, want)
		}
	}
}

// TestEveryCheckEnds: one without a bound would take the process with it.
func TestEveryCheckEnds(t *testing.T) {
	var doubling, chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	for i := range 997 {
		fmt.Fprintf(&chain, `"d%d":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/d%d"}]},`, i, i+1)
	}
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	wide := `[` + strings.Repeat(`"x",`, 200_000) + `"x"]`
	for name, c := range map[string]struct{ schema, value string }{
		"doubling":           {`{"$ref":"#/$defs/d0","$defs":{` + doubling.String() + `"d60":true}}`, `1`},
		"too deep":           {`{"items":{"$ref":"#"}}`, deep(5000)},
		"deep":               {`{"items":{"$ref":"#"},"type":"array"}`, deep(60)},
		"two ways":           {`{"items":{"anyOf":[{"$ref":"#"},{"not":{"$ref":"#"}}]}}`, deep(900)},
		"two ways of few":    {`{"items":{"anyOf":[{"$ref":"#"},{"not":{"$ref":"#"}}]}}`, deep(5)},
		"chain":              {`{"$ref":"#/$defs/d0","$defs":{` + chain.String() + `"d997":{"type":"null"}}}`, wide},
		"chain at each step": {`{"$ref":"#/$defs/d0","$defs":{` + chain.String() + `"d997":{"items":{"$ref":"#"}}}}`, deep(100)},
		"each wrong":         {`{"items":{"enum":[` + strings.Repeat(`1,`, 400) + `"x"]}}`, wide},
		"all told":           {`{"anyOf":[` + strings.Repeat(`{"items":{"type":"null"}},`, 300) + `false]}`, wide},
	} {
		start := time.Now()
		bad, err := compiled(t, c.schema).check([]byte(c.value))
		t.Logf("%s: %.100v, %v, %s", name, bad, err, time.Since(start))
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
	tree := compiled(t, `{"$defs":{"T":{"properties":{"kids":{"items":{"$ref":"#/$defs/T"}},"v":{"type":"string"}}}},"$ref":"#/$defs/T"}`)
	for n, want := range map[int]bool{40: true, 100_000: false} {
		value := strings.Repeat(`{"kids":[`, n) + `{"v":1}` + strings.Repeat(`]}`, n)
		bad, err := tree.check([]byte(value))
		if (bad != nil) != want || (err == nil) != want || want && bad[0].Pointer != strings.Repeat("/kids/0", n)+"/v" {
			t.Errorf("%d deep: %.100v, %v; want it checked %v", n, bad, err, want)
		}
	}
}

// TestOfficialSuite holds the check against the JSON Schema Test Suite, as the
// validator's module carries it. Schemas may go unused; no value that is fine
// may be refused, and of the others few may pass.
func TestOfficialSuite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dialect, uri := range map[string]string{
		"draft7":       "http://json-schema.org/draft-07/schema#",
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
	} {
		files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", dialect, "*.json"))
		checked, unusable, passed := 0, 0, 0
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var groups []struct {
				Description string
				Schema      json.RawMessage
				Tests       []struct {
					Data  json.RawMessage
					Valid bool
				}
			}
			if err := json.Unmarshal(raw, &groups); err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				c, err := compile(named(g.Schema, uri))
				for _, value := range g.Tests {
					var bad []Violation
					if err == nil {
						bad, err = c.check(value.Data)
					}
					switch {
					case err != nil:
						unusable++
					case bad != nil && value.Valid:
						t.Errorf("%s: %s: %s: refused: %+v", filepath.Base(file), g.Description, value.Data, bad)
					case bad == nil && !value.Valid:
						passed++
						t.Logf("%s: %s: %s: passed", filepath.Base(file), g.Description, value.Data)
					default:
						checked++
					}
				}
			}
		}
		t.Logf("%s: %d right, %d passed, %d not checked", dialect, checked, passed, unusable)
		if checked < 700 || unusable > checked/5 || passed > 10 {
			t.Errorf("%s: %d right, %d passed, %d not checked; want nearly all right", dialect, checked, passed, unusable)
		}
	}
}

// named gives a schema its dialect, if it does not name one.
func named(raw []byte, dialect string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["$schema"] != nil {
		return raw
	}
	fields["$schema"], _ = json.Marshal(dialect)
	out, _ := json.Marshal(fields)
	return out
}

// FuzzCheck: whatever the schema and the value, there is an answer, and the
// words of a refusal lead to a part of the value.
func FuzzCheck(f *testing.F) {
	f.Add(`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"b":1}}`)
	f.Add(`{"items":[{"type":"string"}],"unevaluatedItems":{"multipleOf":3}}`, `["x",4]`)
	f.Add(`{"oneOf":[{"pattern":"a+"},{"const":1e3}],"$anchor":"x"}`, `1000`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		c, err := compile([]byte(schema))
		if err != nil {
			return
		}
		found, _ := c.check([]byte(value))
		if len(found) > maxMistakes {
			t.Errorf("%d mistakes told", len(found))
		}
		for _, bad := range found {
			leads(t, bad, value)
		}
	})
}

// leads follows a pointer through the value.
func leads(t *testing.T, bad Violation, value string) {
	if bad.Message == "" {
		t.Error("a refusal without words")
	}
	var v any
	_ = json.Unmarshal([]byte(value), &v)
	for _, token := range strings.Split(bad.Pointer, "/")[1:] {
		switch at := v.(type) {
		case map[string]any:
			v = at[pointerUnescape.Replace(token)]
		case []any:
			var i int
			if _, err := fmt.Sscan(token, &i); err != nil || i >= len(at) {
				t.Fatalf("%q leads nowhere in %s", bad.Pointer, value)
			}
			v = at[i]
		default:
			t.Fatalf("%q leads nowhere in %s", bad.Pointer, value)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	c := compiled(b, `{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":0}},"required":["text"],"additionalProperties":false}`)
	for b.Loop() {
		if bad, err := c.check([]byte(`{"text":"x","n":3}`)); bad != nil || err != nil {
			b.Fatal(bad, err)
		}
	}
}
